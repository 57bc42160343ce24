#!/bin/sh
# test.sh [BUILD...]: runs the tests of these builds (default: release, asan and tsan), which must
# be there, as one run of ctest: the longest tests start first, no processor idles between builds,
# and the last lines tell about all of them.
set -eu
cd "$(dirname "$0")/.."
mkdir -p build/every
TEST_HAS=
export TEST_HAS # so that not every test asks, which takes as long as a short one
for name in ${*:-release asan tsan}; do
    folder=$PWD/build/$name
    [ "$name" != release ] || folder=$PWD/build
    printf 'subdirs("%s")\n' "$folder"
done >build/every/CTestTestfile.cmake
for what in userfaultfd move io_uring opencl; do
    ! "$folder/tests/needs" $what -- true 2>/dev/null || TEST_HAS=$TEST_HAS,$what
done
exec ctest --test-dir build/every --output-on-failure --no-label-summary --parallel \
    "${JOBS:-$(($(nproc) + 1))}"
