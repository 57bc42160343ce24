#!/bin/sh
# What is on the disk when farfault is killed, or a call of it fails, at any step. strace kills at,
# or fails, each call that can change a disk, one in each run. Between two such calls the disk stays
# as it is, so these are all the states that a crash can leave, but for what other threads do at the
# same time. Each file must then be as it was before or whole, while what earlier crashes have left
# lies around. TEST_REPEATS: kills at all calls, of whatever kind.
repeats=${TEST_REPEATS:-}
. "$(dirname "$0")/common.sh"
saxpy=$8

fails='write,pwrite64,writev,?rename,?renameat,renameat2,ftruncate,fsync,fdatasync'
steps="$fails,?link,linkat,?unlink,unlinkat,fchmod"
[ -z "$repeats" ] || steps=all
follow=-f # threads and child processes
renames=yes # what it makes gets its name when it is whole

# trace OPTION... COMMAND...: its status in $got, its calls in ../calls
trace() {
    strace $follow -y -q -o ../calls -e signal=none "$@" >../out 2>../err </dev/null
    got=$?
}

# The file is what the command makes of it: the same bytes each time, unless $reads is what reads
# it.
is_whole() {
    case $1 in # where the command fails, it says so in an object
    *.json) [ "$("$json_get" "$1" good 2>/dev/null)" != false ] || return 0 ;;
    esac
    cmp -s "$1" "../after/$1" || { [ -n "$reads" ] && $reads "$1" >../read 2>&1; }
}

expect_whole() {
    for file in $files; do
        is_whole "$file" || cmp -s "$file" "../earlier/$file" || { [ ! -e "../earlier/$file" ] &&
            [ ! -e "$file" ]; } ||
            fail "$1: $file is neither as it was nor whole: $(head -c 80 "$file")"
    done
}

# One line that says why, unless that is what could not be written. Of a run of a comparison, it is
# in the table.
expect_line() {
    grep -q '[( ]write(2' ../calls && return
    grep -qE ' (failed|no): .*No space left' ../out && return
    # SQLite does not tell why syncing failed
    [ -n "$renames" ] || ! grep -q 'Input/output error' ../err || return 0
    [ "$(wc -l <../err)" -eq 1 ] && grep -q 'No space left\|standard output' ../err ||
        fail "$1: not one line that says why: $(cat ../err)"
}

expect_nothing_else() {
    for file in *; do
        case " $files * " in
        *" $file "*) ;;
        *) fail "$1: left $file behind" ;;
        esac
    done
}

# What gets its name is on the disk, all of it.
expect_synced() {
    awk '{ name = match($0, /[^/"<]*\.part/) ? substr($0, RSTART, RLENGTH) : "" }
        name == "" { next }
        /(^| )write\(/ { synced[name] = 0 }
        /(^| )fsync\(/ { synced[name] = 1 }
        /(^| )rename/ { renamed++; if (!synced[name]) exit failed = 1 }
        END { exit failed || !renamed }' ../calls ||
        fail "$1: not synced before it is renamed: $(cat ../calls)"
}

reset() {
    rm -f $files
    for file in $files; do
        [ ! -e "../earlier/$file" ] || cp "../earlier/$file" .
    done
}

# counts CALLS COMMAND...: lines "CALL N", N as often as the thread that calls it most.
counts() {
    counted=$1
    shift
    trace -e "trace=$counted" "$@"
    sed -nE 's/^([0-9]+ +)?([a-z0-9_]+)\(.*/\1 \2/p' ../calls |
        awk '{ call = $NF; n = ++seen[$0]; if (n > most[call]) most[call] = n }
            END { for (call in most) print call, most[call] }'
}

# each CALLS EFFECT COMMAND...: in one run after the other; after_EFFECT checks what is left.
each() {
    calls=$1 effect=$2
    shift 2
    reset
    counts "$calls" "$@" >../counts
    [ -s ../counts ] || fail "$*: calls nothing"
    while read -r call count; do
        step=1
        while [ $step -le "$count" ]; do
            reset
            trace -e "trace=$call" -e "inject=$call:$effect:when=$step" "$@"
            "after_${effect%=*}" "$* with $effect at $call $step"
            step=$((step + 1))
        done
    done <../counts
}

# Threads may call less often than they did when they were counted.
after_signal() {
    case $got in
    0) ;;
    137) kills=$((kills + 1)) ;;
    *) fail "$1: status $got" ;;
    esac
    expect_whole "$1"
}

after_error() {
    case $got in
    0) ! grep -q 'write(1<.*/out>.*INJECTED' ../calls || [ "${1#"$farfault"}" = "$1" ] ||
        fail "$1: what was not printed is not told" ;;
    1) expect_line "$1" ;;
    *) fail "$1: status $got" ;;
    esac
    expect_whole "$1"
    expect_nothing_else "$1"
}

# crash READS 'FILE...' COMMAND...: which makes these files; those that are in the folder `earlier`
# are there before.
crash() {
    reads=$1 files=$2 kills=0
    shift 2
    rm -rf after work
    mkdir after work
    (cd after && "$@" >../out 2>../err) || fail "$*: $(cat err)"
    cd work || exit 1
    each "$fails" error=ENOSPC "$@"
    each "$steps" signal=KILL "$@"
    [ $kills -gt 3 ] || fail "$*: killed $kills times"
    reset
    trace -e trace=write,fsync,rename,renameat,renameat2 "$@"
    [ "$got" -eq 0 ] || fail "$*: status $got with what crashes left: $(cat ../err)"
    for file in $files; do
        is_whole "$file" || fail "$*: $file is not whole without a crash: $(head -c 80 "$file")"
    done
    [ -z "$renames" ] || expect_synced "$*"
    cd ..
}

mkdir earlier
for file in a.json t.trace; do
    echo 'of an earlier run' >earlier/$file
done

crash '' 'a.json a.csv' "$farfault" sim stream:size=1M --systems nvidia --gpu gtx1080ti --memory \
    50% --json=a.json --csv=a.csv

follow='' # the program is killed with farfault, but not counted
crash '' run.json "$farfault" run --quiet --json=run.json -- ../programs/atax

# A comparison is the same but for its times.
is_json() {
    "$json_get" "$1" farfault
}
crash is_json a.json "$farfault" compare --runs 1 --systems demand --memory 64M --json=a.json atax

follow=-f

"$farfault" train nw:n=256 --steps 5 --output earlier/m.model >out
crash '' m.model "$farfault" train nw:n=256 --steps 10 --output m.model

# What is kept of runs grows; it is whole when the same command goes on from it.
rm data
mkdir -p data/published
cp -r "$source/data/gpus" "$source/data/machines" data
cat >data/published/uvmsmart.json <<'END'
{"defaults": {"gpu": "gtx1080ti"}, "programs": {"hotspot": "hotspot"},
 "columns": [{"member": "faults", "id": "faults", "what": "faults", "metric": "faults"}],
 "tables": [{"id": "evictors", "what": "Evictors", "systems": {"LRU": "demand"}, "rows": [
    {"config": "LRU", "program": "hotspot", "memory": "1GB", "faults": 1}]}]}
END
goes_on() {
    case $1 in *-wal | *-shm) return ;; esac # parts of it that a crash leaves
    "$farfault" repro uvmsmart --jobs 1 --json --study "$1" >../json && cmp ../json ../whole.json
}
"$farfault" repro uvmsmart --jobs 1 --json --study none >whole.json
renames=
crash goes_on 'runs runs-wal runs-shm' "$farfault" repro uvmsmart --jobs 1 --study runs
renames=yes

crash "$farfault export --output ../exported" t.trace env FARFAULT_MEMORY=6M \
    FARFAULT_RECORD=t.trace "$saxpy"

# The file for the host's part of memory loses its name at once; if not, it does not keep the next
# program from starting.
cd work || exit 1
trace -e trace=unlink -e inject=unlink:signal=KILL:when=1 "$farfault" run --host tier -- true
[ "$got" -eq 137 ] || fail "not killed before the host's file lost its name: $(cat ../err)"
ls tier* >../out || fail 'there was no file'
status 0 run --host tier -- true
cd ..
finish
