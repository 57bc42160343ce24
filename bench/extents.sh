#!/bin/sh
# extents.sh [BUILD [ROUNDS]]: what is predicted of the launches of the bundled programs (farfault
# run --extents); the tables of docs/results/extents.md and extents-opencl.md. Counts, no times.
#
# First what they touch, in pages: each launch finds an empty device, so that it faults on all that
# it touches. Then their faults on a device that is too small, without bringing and with it, in
# turns; the median of ROUNDS, the least and the most; and what was brought.
set -eu
build=$(cd "${1:-build}" && pwd)
rounds=${2:-5}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export LD_LIBRARY_PATH="$build/cuda${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"

opencl='2dconv addvectors atax backprop bfs bicg bicgstab cg gmres hotspot integral jacobi lm
matrices mixed mvt nw pagerank particles pathfinder phases ra srad streamtriad wave'
cuda='bfs-cuda cg-cuda lm-cuda nw-cuda pagerank-cuda pathfinder-cuda srad-cuda streams-cuda'

sum() {
    jq -r ".runs[0] as \$run | \$run.extents | def sum(f): map(f) | add // 0; $2 | @tsv" "$1"
}

# A thread of PoCL tells that a launch has ended before it takes up the next command.
touched() {
    POCL_MAX_PTHREAD_COUNT=1 FARFAULT_EXTENTS=on timeout 300 "$build/farfault" record --touches \
        --system demand --quiet --output "$folder/trace" --json="$folder/json" \
        "$build/programs/$1" --size 4M >"$folder/text" 2>&1 || { echo "$1: failed"; return; }
    sum "$folder/json" "[\"$1\", \$run.launches, \$run.launches_known, sum(.alone),
        sum(.predicted_bytes / 4096), sum(.faults), sum(.faults_outside)]"
}

# faults NAME SYSTEM MEMORY PROGRAM ARGUMENT..
faults() {
    name=$1 system=$2 memory=$3
    shift 3
    rm -f "$folder"/off "$folder"/on
    i=0
    while [ $i -lt "$rounds" ]; do
        for extents in off on; do
            FARFAULT_EXTENTS=$extents timeout 300 "$build/farfault" run --system "$system" \
                --memory "$memory" --quiet --json="$folder/json" "$@" >"$folder/text" 2>&1 ||
                { echo "$name: failed"; return; }
            # shellcheck disable=SC2016 # jq's
            sum "$folder/json" '[$run.faults, sum(.brought_for), sum(.orders),
                sum(.orders_dropped), sum(.brought_bytes / 4096), sum(.faults_outside),
                (map(select(.trusted | not)) | length)]' >>"$folder/$extents"
        done
        i=$((i + 1))
    done
    printf '%s\t%s\t%s\t%s\t%s\n' "$name" "$system" "$(spread off)" "$(spread on)" \
        "$(for f in 2 3 4 5 6 7; do median on $f; done | paste -s)"
}

median() {
    cut -f "$2" "$folder/$1" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

spread() {
    echo "$(median "$1" 1) ($(cut -f 1 "$folder/$1" | sort -n | sed -n '1p;$p' | paste -s -d-))"
}

echo "load $(cut -d' ' -f1 /proc/loadavg), $(nproc) processors, $rounds rounds"
printf 'program\tlaunches\tknown\talone\tpredicted\ttouched\toutside\n'
for program in $opencl $cuda; do
    touched "$program"
done

printf 'program\tsystem\tfaults\twith\tbrought for\torders\tdropped\tpages\toutside\tnot trusted\n'
for program in $opencl; do
    case $program in
    bfs) faults bfs nvidia-1 22M "$build/programs/bfs" --size 24M --iterations 1 ;;
    integral | particles | wave)
        faults "$program" nvidia-1 6M "$build/programs/$program" --size 8M
        ;;
    *) faults "$program" nvidia 16M "$build/programs/$program" --size 24M ;;
    esac
done
for program in pathfinder-cuda nw-cuda cg-cuda lm-cuda; do
    faults "$program" nvidia 24M "$build/programs/$program" --size 36M
done
"$build/farfault" cuda compile "$(dirname "$0")/../tests/cuda/slices.cu" -o "$folder/slices"
for system in nvidia auto demand; do
    TEST_SLICES=1 faults slices "$system" 4M "$build/tests/preload/preload_extents"
    faults slices-cuda "$system" 32M "$folder/slices"
done
