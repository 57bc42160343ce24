#!/bin/sh
# test_run.sh RUN NEEDS: what tests/run.sh and needs.c make of a test's status, of skips and of what a machine lacks.
set -u
run=$1 needs=$2
bad=0

# EXPECTED FORBID COMMAND...
expect() {
    expected=$1 forbid=$2
    shift 2
    FARFAULT_FORBID_SKIPS=$forbid "$run" "$@" >/dev/null 2>&1
    got=$?
    [ $got = "$expected" ] || { echo "FORBID_SKIPS=$forbid run.sh $*: status $got, not $expected"; bad=1; }
}
for forbid in 0 1; do
    expect 0 $forbid true
    expect 3 $forbid sh -c 'exit 3'
    expect 127 $forbid ./missing
    expect 5 $forbid "$needs" -- /bin/sh -c 'exit 5'
    expect 2 $forbid "$needs" teleport -- /bin/true
    expect 2 $forbid "$needs" opencl --
done
expect 77 0 sh -c 'exit 77'
expect 1 1 sh -c 'exit 77'
OCL_ICD_VENDORS=/nonexistent
export OCL_ICD_VENDORS
expect 77 0 "$needs" opencl -- /bin/true
expect 1 1 "$needs" opencl -- /bin/true
exit $bad
