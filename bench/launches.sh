#!/bin/sh
# launches.sh [BUILD [ROUNDS [SYSTEM..]]]: what a launch costs under farfault, in us, beside the
# same program without it. In turns; medians, and the median of the differences to the plain run of
# the same turn.
set -eu
build=$(cd "${1:-build}" && pwd)
rounds=${2:-9}
[ $# -lt 2 ] || shift 2
systems=${*:-nvidia-1 keep auto}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

median() {
    sort -n | awk '{ v[NR] = $1 } END { printf "%8.2f", v[int((NR + 1) / 2)] }'
}

i=0
while [ $i -lt "$rounds" ]; do
    "$build/bench/launches" >>"$folder/plain"
    for system in $systems; do
        "$build/farfault" run --quiet --system "$system" --memory 64M -- "$build/bench/launches" \
            >>"$folder/$system"
    done
    i=$((i + 1))
done

printf '%-18s %8s %8s %8s %8s\n' 'us a launch' queued more alone more
for system in plain $systems; do
    printf '%-18s' "$system"
    for column in 1 2; do
        printf ' '
        cut -d' ' -f$column "$folder/$system" | median
        printf ' '
        paste -d' ' "$folder/$system" "$folder/plain" |
            awk -v c=$column '{ print $c - $(c + 2) }' | median
    done
    echo
done
