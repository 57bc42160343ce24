# Sourced, after third_party.sh, by conformance suites: many short programs, most of which fit on
# any device. Each is run plainly and under farfault on the smallest devices; it is to end with the
# same status and to print the same.
cases=0 managed_cases=0 all_evictions=0
POCL_CACHE_DIR=$scratch/cache
export POCL_CACHE_DIR # the first run compiles the kernels for all, and says what the compiler says

# What a program prints, on both channels, without what differs from run to run (`varying`: a sed
# script of the suite's) and what `farfault run` and `timeout` say of a program that makes no
# buffers or dies; and its exit status at the end.
observe() {
    status=0
    timeout 120 "$@" >raw 2>&1 </dev/null || status=$?
    sed "/^farfault run: nothing was managed/d; /was killed by signal/d; /^Aborted$/d; $varying" raw
    echo "status $status"
}

# compare NAME COMMAND...: of a program that does not print the same twice without farfault, or that
# `unsteady` names (a line each), the status alone
compare() {
    name=$1
    shift
    cases=$((cases + 1))
    observe "$@" >first
    observe "$@" >expected
    what=cat
    if printf '%s\n' "$unsteady" | grep -qx "$name" || ! cmp -s first expected; then
        what='tail -n 1'
        echo "$name: what it prints varies without farfault: its status alone is compared"
    fi
    for memory in 4M 8M; do
        rm -f summary
        observe "$farfault" run --quiet --json=summary --check --memory "$memory" -- "$@" >got
        footprint=$([ ! -s summary ] || number footprint)
        [ "${footprint:-0}" = 0 ] || managed_cases=$((managed_cases + 1))
        evictions=$([ ! -s summary ] || number evictions)
        all_evictions=$((all_evictions + ${evictions:-0}))
        if [ "$($what expected)" = "$($what got)" ]; then agrees "$name" "$memory"; else differs \
            "$name" "$memory"; fi
    done
}

# Known differences are a line each in `known`: the name of the case, a tab, the reason.
reason_of() { printf '%s\n' "$known" | sed -n "s/^$1	//p"; }

differs() {
    echo "$1 with $2 of memory: $(reason_of "$1" | grep . || echo not the same as without farfault)"
    [ -n "$(reason_of "$1")" ] || { diff expected got | head -n 20 >&2; bad=1; }
}

# A reason is not to outlive its difference.
agrees() {
    [ -z "$(reason_of "$1")" ] || { echo \
        "$1 with $2 of memory: the same by now; it is no known difference" >&2; bad=1; }
}

# conclude CASES MANAGED: at least so many ran, and used memory that farfault managed
conclude() {
    echo \
        "$cases programs, $((2 * cases)) runs under farfault, $managed_cases with managed memory," \
        "$all_evictions evictions"
    [ "$cases" -ge "$1" ] && [ "$managed_cases" -ge "$2" ] ||
        { echo "less than $1 programs, or $2 such runs" >&2; bad=1; }
}
