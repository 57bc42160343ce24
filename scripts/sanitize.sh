#!/bin/sh
# Runs the tests of the ASan+UBSan and of the TSan build, but for those that load PoCL, whose just-in-time compiler knows
# nothing of either, and those of the command line, which start programs. For TSan long tests with a single thread are left
# out, too.
set -eu
cd "$(dirname "$0")/.."
export ASAN_OPTIONS=abort_on_error=0:detect_leaks=1
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1
export FARFAULT_STRESS_SECONDS="${FARFAULT_STRESS_SECONDS:-2}"
ctest --test-dir build/asan --output-on-failure --timeout 600 --parallel 2 --exclude-regex '^(preload|cli|programs)\.'
ctest --test-dir build/tsan --output-on-failure --timeout 600 --parallel 2 --exclude-regex '^(preload|cli|programs|fuzz|workload)\.|_twin$|gradients$'
