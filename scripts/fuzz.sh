#!/bin/sh
# Runs every fuzzer of build/fuzz for FUZZ_SECONDS (30) seconds. New inputs go to build/fuzz/corpus;
# what fails is left in build/fuzz/found.
set -eu
cd "$(dirname "$0")/.."
seconds="${FUZZ_SECONDS:-30}"
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
mkdir -p build/fuzz/found
for fuzzer in build/fuzz/tests/fuzz/fuzz_*; do
    [ -x "$fuzzer" ] && [ -f "$fuzzer" ] || continue
    name="${fuzzer##*/fuzz_}"
    mkdir -p "build/fuzz/corpus/$name"
    echo "fuzz_$name: $seconds s"
    "$fuzzer" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -max_len=65536 \
        -print_final_stats=1 \
        -artifact_prefix="build/fuzz/found/$name-" "build/fuzz/corpus/$name" \
            "tests/fuzz/corpus/$name" \
        >"build/fuzz/$name.log" 2>&1 || { tail -n 60 "build/fuzz/$name.log"; exit 1; }
    grep -E 'number_of_executed_units|^Done' "build/fuzz/$name.log" || true
done
