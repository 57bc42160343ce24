#!/bin/sh
# turns.sh [BUILD [ROUNDS]]: two programs on one device that take turns, and that take none; the
# table of docs/results/turns.md. Kinds of runs alternate; medians of ROUNDS. The throughput is that
# of both: the time until the later one has ended.
set -eu
build=$(cd "${1:-build}" && pwd)
rounds=${2:-5}
memory=64M link=host=600MB/s,16.7us
unset FARFAULT_LINK FARFAULT_PEER_LINK
export POCL_MAX_PTHREAD_COUNT=1 # each program computes on one core

folder=$(mktemp -d)
socket=$folder/socket daemon=
trap 'kill $daemon 2>/dev/null || true; wait; rm -rf "$folder"' EXIT

# run OUT SIZE PROGRAM ITERATIONS: its verified run beside another one.
run() {
    "$build/farfault" run --share "$socket" --system nvidia-1 --memory $memory --link $link \
        --json="$1" -- "$build/programs/$3" --size "$2" --iterations "$4" --check >"$1.text" 2>&1
    grep -q 'verified: yes' "$1.text"
}

# pair KIND OPTION SIZE PROGRAM ITERATIONS: one line of seconds, faults and bytes of both.
pair() {
    kind=$1 option=$2
    shift 2
    # shellcheck disable=SC2086
    "$build/farfaultd" --socket "$socket" --device "a:$memory" $option 2>/dev/null &
    daemon=$!
    while [ ! -S "$socket" ]; do sleep 0.05; done
    began=$(date +%s.%N)
    run "$folder/1" "$@" &
    first=$!
    run "$folder/2" "$@"
    wait $first
    ended=$(date +%s.%N)
    kill $daemon
    wait $daemon || true
    daemon=
    jq -s -r --arg began "$began" --arg ended "$ended" '[($ended | tonumber) - ($began | tonumber),
        ([.[].runs[0].faults] | add), ([.[].runs[0] | .bytes_in + .bytes_out] | add)] | @tsv' \
        "$folder/1" "$folder/2" >>"$folder/$kind"
}

median() {
    cut -f "$2" "$folder/$1" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

show() {
    echo "$1: $(median "$1" 1) s, $(median "$1" 2) faults, $(median "$1" 3) bytes moved"
}

echo \
    "$memory a device, $link; $rounds rounds; $(nproc) processors," \
    "load $(cut -d' ' -f1 /proc/loadavg)"
i=0
while [ $i -lt "$rounds" ]; do
    for turns in turns no-turns; do
        option=
        [ $turns = turns ] || option=--no-turns
        pair "thrash.$turns" "$option" 56M jacobi 200
        pair "fit.$turns" "$option" 28M jacobi 400
    done
    i=$((i + 1))
done
for kind in thrash.turns thrash.no-turns fit.turns fit.no-turns; do
    show $kind
done
