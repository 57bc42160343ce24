#!/bin/sh
# test.sh [--stress] [BUILD...]: runs the tests of these builds (default: release, asan and tsan),
# which must be there, as one run of ctest: the longest tests start first, no processor idles
# between builds, and the last lines tell about all of them. With --stress those that are left to
# `make stress`, after making what they need; otherwise all others.
set -eu
cd "$(dirname "$0")/.."
which=-LE
if [ "${1-}" = --stress ]; then
    which=-L
    shift
fi
mkdir -p build/every
TEST_HAS=
export TEST_HAS # so that not every test asks, which takes as long as a short one
for name in ${*:-release asan tsan}; do
    folder=$PWD/build/$name
    [ "$name" != release ] || folder=$PWD/build
    [ $which = -LE ] || cmake --build "$folder" --target stress >&2
    printf 'subdirs("%s")\n' "$folder"
done >build/every/CTestTestfile.cmake
for what in userfaultfd move io_uring opencl; do
    ! "$folder/tests/needs" $what -- true 2>/dev/null || TEST_HAS=$TEST_HAS,$what
done
exec ctest --test-dir build/every --output-on-failure --no-label-summary $which '^stress$' \
    --parallel "${JOBS:-$(($(nproc) + 1))}"
