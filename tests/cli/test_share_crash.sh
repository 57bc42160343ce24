#!/bin/sh
# Programs share devices through the broker, and strace kills one of them, or the broker, at one of
# its calls, each time at another one. The others finish with right results; the broker has nothing
# any more of a program that was killed; a broker starts where one was killed. In `make test` at a
# few calls, with TEST_REPEATS at each of the first so many.
repeats=${TEST_REPEATS:-}
. "$(dirname "$0")/common.sh"
farfaultd=$8 saxpy=$9
socket=$scratch/s
kills=0

# calls 'CALL N...' ...: lines "CALL N"; TEST_REPEATS: all numbers up to there.
calls() {
    for line in "$@"; do
        [ -z "$repeats" ] || line="${line%% *} $(seq -s ' ' "$repeats")"
        for step in ${line#* }; do
            echo "${line%% *} $step"
        done
    done
}

kill_at() {
    call=$1 step=$2
    shift 2
    exec strace -f -q -o calls.log -e signal=none -e "trace=$call" -e \
        "inject=$call:signal=KILL:when=$step" "$@"
}

# program DEVICE [COMMAND...]: as large as two devices, on one of its own and a part of an idle one,
# under this command.
program() {
    export FARFAULT_SHARE="$socket" FARFAULT_SHARE_DEVICE="$1" FARFAULT_MEMORY=8M \
        FARFAULT_SYSTEM=memharvester
    shift
    "$@" "$saxpy"
}

start_broker() {
    "$@" "$farfaultd" --socket "$socket" --device gpu0:8M --device gpu1:8M --device gpu2:16M \
        >daemon 2>&1 &
    daemon=$!
}

# How many descriptors the broker has once it has closed all connections; its only socket is then
# the one it listens at. Who asks it something has the answer before the connection is closed. After
# a while: whatever it has.
tries=0
descriptors() {
    while [ "$(ls -l "/proc/$daemon/fd" | grep -c socket:)" -gt 1 ] &&
        [ $((tries += 1)) -lt 500 ]; do
        sleep 0.02
    done
    ls "/proc/$daemon/fd" | wc -l
}

# It is a child of strace, if that runs it.
stop_broker() {
    child=$(cat "/proc/$daemon/task/$daemon/children" 2>/dev/null)
    kill ${child:-$daemon} 2>/dev/null
}

# Until it answers, or is no more.
wait_for_broker() {
    until "$farfault" top --socket "$socket" --json >out 2>&1 || ! kill -0 $daemon 2>/dev/null; do
        sleep 0.02
    done
}

# finished PID NAME WHEN: with right results.
finished() {
    wait "$1"
    got=$?
    { [ $got -eq 0 ] && grep -qx 'verified: yes' "$2"; } ||
        fail "$3: $2 ended with $got: $(cat "$2")"
}

count_killed() {
    wait "$1" 2>err
    got=$?
    [ $got -eq 137 ] && kills=$((kills + 1))
    [ $got -eq 137 ] || [ $got -eq 0 ] || fail "$2: status $got"
}

# ---- a program is killed

trap stop_broker EXIT
start_broker
wait_for_broker
held=$(descriptors)
for at in $(calls 'connect 1' 'sendmsg 1 2' 'recvmsg 2 5 9' 'ioctl 2 25 50' 'munmap 90' |
    tr ' ' :); do
    program gpu0 kill_at "${at%:*}" "${at#*:}" >victim 2>&1 &
    victim=$!
    program gpu1 >survivor 2>&1 &
    survivor=$!
    count_killed $victim "a program killed at $at"
    finished $survivor survivor "after a program was killed at $at"
    status 0 top --socket "$socket" --json
    json out '[0]' programs
    json out 0 devices 2 lent
    [ "$(descriptors)" -eq "$held" ] || fail \
        "a program killed at $at: the broker keeps its descriptors"
done
[ $kills -gt 5 ] || fail "only $kills programs were killed"
kill $daemon
wait $daemon || fail 'the broker did not end well'
[ ! -s daemon ] || fail "the broker said: $(cat daemon)"
[ ! -e "$socket" ] || fail 'the socket is still there'

# ---- the broker is killed

# A program that has not joined before says so.
ended() {
    wait "$1"
    got=$?
    { [ $got -eq 0 ] && grep -qx 'verified: yes' "$2"; } || { [ $got -eq 1 ] &&
        grep -q '^saxpy: share=' "$2"; } ||
        fail "$3: $2 ended with $got: $(cat "$2")"
}

kills=0
for at in $(calls 'bind 1' 'listen 1' 'epoll_ctl 1 3' 'accept4 1 3' 'recvmsg 1 5' \
    'sendmsg 2 10 14 18' 'memfd_create 1' | tr ' ' :); do
    start_broker kill_at "${at%:*}" "${at#*:}"
    wait_for_broker
    program gpu0 >first 2>&1 &
    first=$!
    program gpu1 >second 2>&1 &
    second=$!
    ended $first first "after the broker was killed at $at"
    ended $second second "after the broker was killed at $at"
    stop_broker
    count_killed $daemon "a broker killed at $at"
done
[ $kills -gt 6 ] || fail "only $kills brokers were killed"
start_broker
wait_for_broker
kill $daemon
wait $daemon || fail 'the last broker did not end well'
finish
