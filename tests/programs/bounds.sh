#!/bin/sh
# bounds.sh FARFAULT JSON_GET ARGUMENT...: under `farfault compare --bound ARGUMENT...` every run
# moves at least as much as the lower bound of its program, which is not zero. Times are left alone:
# other tests run beside this one.
set -eu
farfault=$1 json_get=$2
shift 2
results=$(mktemp)
trap 'rm -f "$results"' EXIT
fail() { echo "$*" >&2; exit 1; }
field() { "$json_get" "$results" "$@"; }

"$farfault" compare --bound --runs 1 --memory 66.7% --systems demand,nvidia-1,auto \
    --json="$results" "$@"
bound=0 compared=0
while subject=$(field bounds $bound subject); do
    kind=$(field bounds $bound kind) in=$(field bounds $bound bytes_in) \
        out=$(field bounds $bound bytes_out)
    bound=$((bound + 1)) run=0
    [ "$kind" = 'lower bound' ] || continue
    [ "$in" -gt 0 ] || fail "$subject: nothing need be fetched"
    while name=$(field runs $run subject); do
        if [ "$name" = "$subject" ] && [ "$(field runs $run share)" != null ]; then
            system=$(field runs $run system) compared=$((compared + 1))
            [ "$(field runs $run bytes_in)" -ge "$in" ] ||
                fail "$subject: $system fetched less than $in bytes"
            [ "$(field runs $run bytes_out)" -ge "$out" ] ||
                fail "$subject: $system wrote back less than $out bytes"
        fi
        run=$((run + 1))
    done
done
[ $compared -gt 0 ] || fail 'there are no lower bounds'
