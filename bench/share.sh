#!/bin/sh
# share.sh [BUILD [ROUNDS [PART..]]]: programs that share devices through a broker; the tables of
# docs/results/huvm-live.md. Parts: one (a program with an idle neighbour), yielder, two
# (harvesters); all of them if none is named. Links are paced, or as fast as memory copies with
# PACED=no. Kinds of runs take turns, so that a busy machine slows all of them; medians of ROUNDS.
set -eu
build=$(cd "${1:-build}" && pwd)
rounds=${2:-5}
[ $# -lt 2 ] || shift 2
parts=${*:-one yielder two}
# the ratio of PCIe and NVLink in a p3.8xlarge, at what one core copies with ease
link=${FARFAULT_LINK:-host=600MB/s,16.7us} peer=${FARFAULT_PEER_LINK:-1.96GB/s,5.1us}
links="--link $link --peer-link $peer"
[ "${PACED:-yes}" = yes ] || links=
memory=64M size=96M fits=56M
unset FARFAULT_LINK FARFAULT_PEER_LINK
export POCL_MAX_PTHREAD_COUNT=1 # each program computes on one core

pin= # programs beside each other have a processor each, so that they share memory and nothing else

folder=$(mktemp -d)
socket=$folder/socket daemon=
trap 'kill $daemon 2>/dev/null || true; wait; rm -rf "$folder"' EXIT

start_broker() {
    devices=
    for name in $1; do
        devices="$devices --device $name:$memory"
    done
    # shellcheck disable=SC2086
    "$build/farfaultd" --socket "$socket" $devices &
    daemon=$!
    while [ ! -S "$socket" ]; do sleep 0.05; done
}

stop_broker() {
    kill $daemon
    wait $daemon || true
    daemon=
}

# run OUT SYSTEM DEVICE SIZE PROGRAM [OPTION...]: its verified run; the seconds go to OUT. DEVICE -:
# shares nothing.
run() {
    out=$1 system=$2 device=$3 bytes=$4 program=$5
    shift 5
    shared=
    [ "$device" = - ] || shared="--share $socket --share-device $device"
    # shellcheck disable=SC2086
    $pin "$build/farfault" run --quiet $shared --system "$system" --memory $memory $links -- \
        "$build/programs/$program" --size "$bytes" --check "$@" >"$out.text" 2>&1 || {
        cat "$out.text"
        exit 1
    }
    grep -q 'verified: yes' "$out.text"
    sed -n 's/^device_seconds: //p' "$out.text" >>"$out"
}

median() {
    sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

ratio() {
    awk "BEGIN { printf \"%.2f\", $1 / $2 }"
}

has_part() {
    case " $parts " in *" $1 "*) return 0 ;; *) return 1 ;; esac
}

echo \
    "links: ${links:-not paced}; $memory a device; $rounds rounds; $(nproc) processors," \
    "load $(cut -d' ' -f1 /proc/loadavg)"

# ---- a program at 150 %, with one idle neighbour
idle_neighbour() {
    start_broker 'a b'
    i=0
    while [ $i -lt "$rounds" ]; do
        for system in nvidia preevict-host memharvester deepum-far; do
            run "$folder/$1.$system.alone" $system - $size "$1" --iterations 12
        done
        for system in memharvester deepum-far-peers; do
            run "$folder/$1.$system.shared" $system a $size "$1" --iterations 12
        done
        i=$((i + 1))
    done
    stop_broker
    memharvester=$(median "$folder/$1.memharvester.shared") \
        both=$(median "$folder/$1.deepum-far-peers.shared")
    echo \
        "$1 at 150 % with an idle neighbour: $memharvester s with memharvester," \
        "$both s with deepum-far-peers"
    for system in nvidia preevict-host memharvester deepum-far; do
        alone=$(median "$folder/$1.$system.alone")
        echo \
            "  $system with the host alone: $alone s, $(ratio "$alone" "$memharvester") and" \
            "$(ratio "$alone" "$both") times as long"
    done
}

# ---- the neighbour's own program begins later, beside one that has borrowed its memory, and beside
# one that has not
yielding_program() {
    start_broker 'a b'
    i=0
    while [ $i -lt "$rounds" ]; do
        for beside in nothing preevict-host memharvester; do
            harvester=
            if [ $beside != nothing ]; then
                pin='taskset -c 0' run "$folder/harvester.$beside" $beside a $size pagerank \
                    --iterations 40 &
                harvester=$!
                sleep 2
            fi
            pin='taskset -c 1'
            run "$folder/yielder.$beside" nvidia b $fits pagerank --iterations 30
            pin=
            if [ -n "$harvester" ]; then
                wait $harvester
            fi
        done
        i=$((i + 1))
    done
    stop_broker
    nothing=$(median "$folder/yielder.nothing") not_lent=$(median "$folder/yielder.preevict-host") \
        lent=$(median "$folder/yielder.memharvester")
    echo \
        "a yielding program: $nothing s alone, $not_lent s beside one that borrows nothing," \
        "$lent s beside one that had borrowed its memory: $(ratio "$lent" "$not_lent") of that," \
        "$(ratio "$lent" "$nothing") of alone"
}

# ---- two harvesters, one idle neighbour
two_harvesters() {
    start_broker 'a b c'
    i=0
    while [ $i -lt "$rounds" ]; do
        run "$folder/two.a" memharvester a $size pagerank --iterations 40 &
        first=$!
        run "$folder/two.b" memharvester b $size pagerank --iterations 40 &
        second=$!
        sleep 4
        "$build/farfault" top --socket "$socket" --once >"$folder/top"
        wait $first $second
        i=$((i + 1))
    done
    stop_broker
    a=$(median "$folder/two.a") b=$(median "$folder/two.b")
    echo \
        "two harvesters and one idle neighbour: $a s and $b s, $(ratio "$a" "$b");" \
        "in the last round, after 4 s:"
    cat "$folder/top"
}

if has_part one; then
    idle_neighbour pagerank
    idle_neighbour jacobi
fi
if has_part yielder; then yielding_program; fi
if has_part two; then two_harvesters; fi
