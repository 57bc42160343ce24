#!/bin/sh
# test.sh [BUILD...]: runs the tests of these builds (default: release, asan and tsan), which must be there, as one run of
# ctest: the longest tests start first, no processor idles between builds, and the last lines tell about all of them.
set -eu
cd "$(dirname "$0")/.."
mkdir -p build/every
for name in ${*:-release asan tsan}; do
    folder=$PWD/build/$name
    [ "$name" != release ] || folder=$PWD/build
    printf 'subdirs("%s")\n' "$folder"
done >build/every/CTestTestfile.cmake
exec ctest --test-dir build/every --output-on-failure --no-label-summary --parallel "${JOBS:-$(($(nproc) + 1))}"
