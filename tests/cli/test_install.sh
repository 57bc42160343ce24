#!/bin/sh
# An installed farfault works from where it is. Usage: test_install.sh FOLDER CMAKE BUILD LIBRARY_FOLDER CC SOURCE
set -eu
prefix=$1/prefix library=$1/prefix/$4 cc=$5 source=$6
rm -rf "$1"
mkdir -p "$1"
"$2" --install "$3" --prefix "$prefix" >/dev/null
farfault=$prefix/bin/farfault

# the preload uses the library beside it
ldd "$library/libfarfault-opencl.so" | grep -qF "$library/libfarfault.so "

[ "$("$farfault" list programs | wc -l)" -eq "$(($(ls "$library/farfault/programs" | wc -l) + 1))" ]

# C programs find headers and libraries, the static one too
"$cc" -I "$prefix/include" -o "$1/shared" "$source" -L "$library" -lfarfault -Wl,-rpath,"$library"
"$cc" -I "$prefix/include" -o "$1/static" "$source" "$library/libfarfault.a" -lzstd -lpthread -ldl -lm

cd /
if ! "$farfault" run --quiet -- true 2>"$1/err" && grep userfaultfd "$1/err"; then
    exit 77
fi
"$1/shared" | grep 'verified: yes'
"$1/static" | grep 'verified: yes'
"$farfault" run --json="$1/summary" --memory 8M -- "$library/farfault/programs/streamtriad" --size 12M --check |
    grep 'verified: yes'
grep -q '"mode": "managed"' "$1/summary"
"$farfault" compare --systems nvidia --size 12M --runs 1 streamtriad
