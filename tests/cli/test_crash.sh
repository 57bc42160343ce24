#!/bin/sh
# What is on the disk when farfault is killed, or a call of it fails, at any step. strace counts the calls that can change a disk,
# and kills at, or fails, the first of them, the second, and so on, until a run ends undisturbed. Between two such calls
# the disk stays as it is, so these are all the states that a crash can leave, but for what other threads do
# at the same time. Each file must then be as it was before or whole, while what earlier crashes have left lies around.
# FARFAULT_TEST_REPEATS: kills at all calls, of whatever kind.
. "$(dirname "$0")/common.sh"
saxpy=$7

steps='write,pwrite64,writev,?rename,?renameat,renameat2,?link,linkat,?unlink,unlinkat,ftruncate,fsync,fdatasync,fchmod'
fails='write,pwrite64,writev,?rename,?renameat,renameat2,ftruncate,fsync,fdatasync'
[ -z "${FARFAULT_TEST_REPEATS:-}" ] || steps=all

# inject WHAT CALLS COMMAND...: 0: it was done.
inject() {
    what=$1 calls=$2
    shift 2
    strace -f -q -o ../calls -e signal=none -e "trace=$calls" -e "inject=$calls:$what" "$@" >../out 2>../err </dev/null
    got=$?
    [ "$got" -eq 137 ] || grep -q INJECTED ../calls
}

# The file is what the command makes of it: the same bytes each time, unless $reads is what reads it.
is_whole() {
    cmp -s "$1" "../after/$1" || { [ -n "$reads" ] && $reads "$1" >../read 2>&1; }
}

expect_whole() {
    for file in $files; do
        is_whole "$file" || cmp -s "$file" "../$before/$file" || { [ "$before" = empty ] && [ ! -e "$file" ]; } ||
            fail "$1: $file was $before and is now neither that nor whole: $(head -c 80 "$file")"
    done
}

after_a_kill() {
    [ "$got" -eq 137 ] || fail "$1: status $got"
    expect_whole "$1"
}

# One line that says why, status 1, and nothing left behind; or the call did not matter.
after_an_error() {
    case $got in
    0) ;;
    1)
        [ "$(wc -l <../err)" -eq 1 ] && grep -q 'No space left\|standard output' ../err ||
            fail "$1: not one line that says why: $(cat ../err)"
        ;;
    *) fail "$1: status $got" ;;
    esac
    expect_whole "$1"
    for file in *; do
        case " $files * " in
        *" $file "*) ;;
        *) fail "$1: left $file behind" ;;
        esac
    done
}

# each CHECK WHAT CALLS COMMAND...: until it runs undisturbed.
each() {
    check=$1 effect=$2 counted=$3 step=1
    shift 3
    while inject "$effect:when=$step" "$counted" "$@"; do
        $check "$* with $effect at step $step"
        rm -f $files
        [ "$before" = empty ] || cp ../"$before"/* .
        step=$((step + 1))
    done
    [ "$got" -eq 0 ] || fail "$*: status $got at step $step: $(cat ../err)"
    [ $step -gt 3 ] || fail "$*: only $step steps"
    for file in $files; do
        is_whole "$file" || fail "$*: $file is not whole without a crash: $(head -c 80 "$file")"
    done
}

# What gets its name is on the disk, all of it.
expect_synced() {
    strace -f -y -q -o ../calls -e signal=none -e "trace=$steps" "$@" >../out 2>../err </dev/null
    awk '{ name = match($0, /[^/"<]*\.part/) ? substr($0, RSTART, RLENGTH) : "" }
        name == "" { next }
        / write\(/ { synced[name] = 0 }
        / fsync\(/ { synced[name] = 1 }
        / rename/ { renamed++; if (!synced[name]) exit failed = 1 }
        END { exit failed || !renamed }' ../calls || fail "$*: not synced before it is renamed: $(cat ../calls)"
}

# crash READS 'FILE...' COMMAND...: which makes these files.
crash() {
    reads=$1 files=$2
    shift 2
    rm -rf after old empty
    mkdir after old empty
    (cd after && "$@" >../out 2>../err) || fail "$*: $(cat err)"
    for file in $files; do
        echo 'of an earlier run' >"old/$file"
    done
    for before in empty old; do
        rm -rf work
        cp -r $before work
        cd work || exit 1
        each after_a_kill signal=KILL "$steps" "$@"
        rm -f ./*
        cp ../$before/* . 2>../err
        each after_an_error error=ENOSPC "$fails" "$@"
        expect_synced "$@"
        cd ..
    done
}

crash '' 'a.json a.csv' "$farfault" sim stream:size=1M --systems nvidia --gpu gtx1080ti --memory 50% --json=a.json --csv=a.csv
finish
