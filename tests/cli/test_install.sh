#!/bin/sh
# An installed farfault works from where it is, others' projects find it, and it goes without a
# trace. Usage: test_install.sh FOLDER CMAKE BUILD LIBRARY_FOLDER SOURCE
set -eu
folder=$1 cmake=$2 build=$3 source=$5
prefix=$1/prefix library=$1/prefix/$4
rm -rf "$folder"
mkdir -p "$folder"
mkdir -p "$prefix/share/man/man1" # was there before
"$source/scripts/install.sh" "$cmake" "$build" "$prefix" >/dev/null
farfault=$prefix/bin/farfault

# the preload has farfault in it: it needs no library of ours
! ldd "$library/farfault/libfarfault-opencl.so" | grep -q farfault

[ "$("$farfault" list programs | wc -l)" -eq "$(($(ls "$library/farfault/programs" | wc -l) + 1))" ]
[ -s "$prefix/share/man/man1/farfault-run.1" ]

# a network of one's own begins as a copy of one of these
sed 's/conv_pool 64/conv_pool 128/' "$prefix/share/farfault/networks/cifarnet.txt" >"$folder/my.txt"
"$farfault" sim "$folder/my.txt:batch=1" --systems nvidia >/dev/null
[ -s "$prefix/share/bash-completion/completions/farfault" ]
[ -s "$prefix/share/zsh/site-functions/_farfault" ]

# C and C++ projects find headers and libraries: with pkg-config, the static one too, and with CMake
export PKG_CONFIG_PATH="$library/pkgconfig"
[ "$(pkg-config --modversion farfault)" = \
    "$(sed -n 's/^project(farfault VERSION \([0-9.]*\) .*/\1/p' "$source/CMakeLists.txt")" ]
saxpy=$source/examples/embed/saxpy.c
consumer=$source/tests/packaging/consumer
cc -o "$folder/shared" "$saxpy" $(pkg-config --cflags --libs farfault) -Wl,-rpath,"$library"
cc -static -o "$folder/static" "$saxpy" $(pkg-config --static --cflags --libs farfault)
c++ -std=c++17 -o "$folder/count" "$consumer/count.cpp" $(pkg-config --cflags --libs farfault) \
    -Wl,-rpath,"$library"
"$cmake" -S "$consumer" -B "$folder/consumer" -DCMAKE_PREFIX_PATH="$prefix" -DSAXPY="$saxpy" \
    >/dev/null
"$cmake" --build "$folder/consumer" >/dev/null

cd /
if ! "$farfault" run --quiet -- true 2>"$folder/err" && grep userfaultfd "$folder/err"; then
    exit 77
fi
for program in shared static count consumer/saxpy consumer/count; do
    "$folder/$program" | grep 'verified: yes'
done
"$farfault" run --json="$folder/summary" --memory 8M -- "$library/farfault/programs/streamtriad" \
    --size 12M --check |
    grep 'verified: yes'
grep -q '"mode": "managed"' "$folder/summary"
export FARFAULT_PTX_CACHE="$folder/ptx"
"$farfault" compare --systems nvidia --size 12M --runs 1 streamtriad addvectors-cuda

# what was installed goes, and what was not stays
touch "$prefix/bin/other"
"$source/scripts/uninstall.sh" "$build/install_manifest.txt"
left=$(find "$prefix" ! -type d -o -type d -empty | sort | tr '\n' ' ')
[ "$left" = "$prefix/bin/other $prefix/share/man/man1 " ] || { echo "left: $left"; exit 1; }
