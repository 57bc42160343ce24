#!/bin/sh
# Runs the tests of build/coverage and prints which share of the lines of each folder of src they
# execute. Lines of headers are left out. What gcov says of each file stays in
# build/coverage/files.txt.
set -eu
cd "$(dirname "$0")/.."
folder=build/coverage
find $folder -name '*.gcda' -delete
ctest --test-dir $folder --output-on-failure --no-label-summary --parallel "${JOBS:-$(nproc)}" \
    --exclude-regex '^(checks\.|programs\.cl|cli\.install)'
find $folder/src -name '*.gcda' -print0 | xargs -0 gcov --no-output --source-prefix "$PWD" \
    --relative-only 2>/dev/null |
    awk '/^File / { gsub(/^File .|.$/, ""); file = $0 }
        /^Lines executed:/ && file ~ /^src\/.*\.c$/ {
            sub(/^Lines executed:/, ""); sub(/% of/, ""); print file, $1, $2; file = ""
        }' |
    sort >$folder/files.txt
awk 'function add(name) { lines[name] += $3; run[name] += $2 * $3 / 100 }
    { name = $1; sub(/\/[^\/]*$/, "", name); add(name); add("~all") }
    END {
        for (name in lines)
            printf "%s %.1f %d\n", name, 100 * run[name] / lines[name], lines[name]
    }' $folder/files.txt |
    sort | awk '{ sub(/^~/, "") } { printf "%-24s %5.1f %% of %6d lines\n", $1, $2, $3 }'
