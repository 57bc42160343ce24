#!/bin/sh
# Times every iteration of a bundled program under several systems, which take turns so that a
# machine that is slow for a while is slow for all alike; prints the median of each iteration, in
# ms, and of all from the second on. A run before them, plainly, has the kernels compiled.
#   scripts/iterations.sh RUNS MEMORY SYSTEM,SYSTEM,.. PROGRAM [ARGUMENT...]
#   scripts/iterations.sh 7 64M nvidia,nvidia-1,deepum-plus,deepum-far jacobi --size 96M
set -eu
runs=$1 memory=$2 systems=$(echo "$3" | tr ',' ' ') program=$4
shift 4
root=$(dirname "$0")/..
times=$(mktemp)
trap 'rm -f "$times"' EXIT
FARFAULT_MODE=passive FARFAULT_SUMMARY=none LD_PRELOAD=$root/build/libfarfault-opencl.so \
    "$root/build/programs/$program" "$@" >/dev/null
for run in $(seq "$runs"); do
    for system in $systems; do
        "$root/build/farfault" run --quiet --system "$system" --memory "$memory" -- \
            "$root/build/programs/$program" --times "$@" |
            awk -v name="$system" '/^(iteration|step) / { print name, $2 + 0, 1000 * $(NF - 1) }' \
                >>"$times"
    done
done
sort -k1,1 -k2,2n -k3,3n "$times" | awk -v systems="$systems" '
    function middle(list, count) {
        return (list[int((count + 1) / 2)] + list[int(count / 2) + 1]) / 2
    }
    { key = $1 " " $2; value[key, ++count[key]] = $3; if ($2 > last) last = $2 }
    END {
        number = split(systems, names, " ")
        printf "%-12s", "system"
        for (i = 1; i <= last; i++) printf "%8d", i
        print "   later"
        for (n = 1; n <= number; n++) {
            printf "%-12s", names[n]
            all = 0
            for (i = 1; i <= last; i++) {
                key = names[n] " " i
                for (k = 1; k <= count[key]; k++) {
                    list[k] = value[key, k]
                    if (i > 1) later[++all] = list[k]
                }
                printf "%8.1f", middle(list, count[key])
            }
            for (i = 2; i <= all; i++)
                for (k = i; k > 1 && later[k] < later[k - 1]; k--) {
                    swap = later[k]; later[k] = later[k - 1]; later[k - 1] = swap
                }
            printf "%8.1f\n", middle(later, all)
        }
    }'
