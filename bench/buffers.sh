#!/bin/sh
# buffers.sh [BUILD [ROUNDS [COUNT MEMORY BYTES..]]]: an OpenCL program with many small buffers, or
# few large ones, with and without farfault: seconds, their ratio, peak resident memory in MiB. In
# turns; medians, and the median of the ratios of each turn.
set -eu
build=$(cd "${1:-build}" && pwd)
rounds=${2:-9}
[ $# -lt 2 ] || shift 2
[ $# -gt 2 ] || set -- 200 64M 4096 5000 64M 4096 100000 1G 4096
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

median() {
    sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

printf '%8s %8s %8s %9s %9s %6s %9s %9s\n' buffers bytes memory plain farfault ratio 'plain MiB' MiB
while [ $# -gt 2 ]; do
    rm -f "$folder"/*
    i=0
    while [ $i -lt "$rounds" ]; do
        "$build/bench/buffers" "$1" "$3" >>"$folder/plain"
        "$build/farfault" run --quiet --memory "$2" -- "$build/bench/buffers" "$1" "$3" \
            >>"$folder/farfault"
        i=$((i + 1))
    done
    paste -d' ' "$folder/plain" "$folder/farfault" >"$folder/both"
    printf '%8s %8s %8s %9s %9s %6s %9s %9s\n' "$1" "$3" "$2" \
        "$(cut -d' ' -f1 "$folder/both" | median)" "$(cut -d' ' -f3 "$folder/both" | median)" \
        "$(awk '{ printf "%.2f\n", $3 / $1 }' "$folder/both" | median)" \
        "$(cut -d' ' -f2 "$folder/both" | median)" "$(cut -d' ' -f4 "$folder/both" | median)"
    shift 3
done
