#!/bin/sh
# test_run.sh RUN NEEDS WITHOUT LIBRARY: what tests/run.sh and needs.c make of a test's status, of
# skips and of what a machine lacks, or is made to lack by without.c.
set -u
run=$1 needs=$2 without=$3 library=$4
bad=0

# EXPECTED FORBID COMMAND...
expect() {
    expected=$1 forbid=$2
    shift 2
    TEST_FORBID_SKIPS=$forbid "$run" "$@" >/dev/null 2>&1
    got=$?
    [ $got = "$expected" ] || { echo "FORBID_SKIPS=$forbid run.sh $*: status $got, not $expected"; \
        bad=1; }
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

# lacking STATUS WHAT COMMAND...: of the command on a machine without this
lacking() {
    expected=$1 TEST_WITHOUT=$2
    shift 2
    export TEST_WITHOUT
    "$without" "$library" "$@" >/dev/null 2>&1
    got=$?
    [ $got = "$expected" ] || { echo "without $TEST_WITHOUT: $*: status $got, not $expected"; \
        bad=1; }
}
lacking 4 '' /bin/sh -c 'exit 4'
lacking 2 wings /bin/true
for forbidden in move io_uring; do
    "$needs" $forbidden -- /bin/true 2>/dev/null || continue # or there is nothing to take away
    lacking 77 $forbidden "$needs" $forbidden -- /bin/true
    lacking 0 huge_pages "$needs" $forbidden -- /bin/true
    lacking 77 huge_pages,$forbidden "$needs" $forbidden -- /bin/true
done
lacking 0 move "$needs" userfaultfd -- /bin/true
lacking 0 huge_pages /bin/grep -q 'THP_enabled:.*0' /proc/self/status
lacking 1 move,io_uring /bin/grep -q 'THP_enabled:.*0' /proc/self/status

OCL_ICD_VENDORS=/nonexistent
export OCL_ICD_VENDORS
expect 77 0 "$needs" opencl -- /bin/true
expect 1 1 "$needs" opencl -- /bin/true
exit $bad
