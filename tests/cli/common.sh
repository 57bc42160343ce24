# What the tests of the command line share. A test is called with the folder for its files,
# farfault, the two stubs, json_get, without_userfaultfd and the program's stub linked statically.
# It copies farfault beside the stubs, where farfault takes them for the preload and the bundled
# programs.
set -u
scratch=$1 farfault=$2 preload_stub=$3 program_stub=$4 json_get=$5 without_userfaultfd=$6 \
    static_stub=$7
failures=0
source=$(cd "$(dirname "$0")/../.." && pwd)

rm -rf "$scratch"
mkdir -p "$scratch/programs"
cd "$scratch" || exit 1
cp "$farfault" farfault
cp "$preload_stub" libfarfault-opencl.so
for name in $(sed -n 's/^FF_PROGRAM("\([^"]*\)".*/\1/p' "$source/examples/programs.def"); do
    cp "$program_stub" "programs/$name"
done
ln -s "$source/data" data
farfault=$scratch/farfault
export XDG_CACHE_HOME="$scratch/cache" # where repro keeps runs
for variable in $(env | sed -n 's/^\(FARFAULT_[A-Z_]*\)=.*/\1/p'); do
    unset "$variable"
done

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# Every result that a test has left in a file *.json in its folder is what the schema says.
check_results() {
    set --
    for result in $(grep -ls '^  "farfault": ' ./*.json); do
        set -- "$@" --instance "$result"
    done
    [ $# -eq 0 ] && return
    /usr/bin/jsonschema "$@" "$source/data/schema/results.json" >invalid 2>&1 ||
        fail "not as in the schema: $(cat invalid)"
}

finish() {
    cd "$scratch" && check_results
    [ "$failures" -eq 0 ] || exit 1
    exit 0
}

# Keeps what the last command has printed for check_results, if it is a result.
keep_result() {
    ! sed -n 2p out | grep -q '^  "farfault": ' || cp out "$scratch/printed-$((kept += 1)).json"
}
kept=0

# status EXPECTED ARGUMENT...: runs farfault with its output in out and err.
status() {
    expected=$1
    shift
    "$farfault" "$@" >out 2>err </dev/null
    got=$?
    keep_result
    [ "$got" -eq "$expected" ] || fail "farfault $*: status $got, not $expected: $(cat err)"
}

# says STATUS TEXT COMMAND...: it ends so, and this text (a shell pattern) is on its standard error.
says() {
    expected=$1 text=$2
    shift 2
    "$@" >out 2>err </dev/null
    got=$?
    [ "$got" -eq "$expected" ] || fail "$*: status $got, not $expected"
    case $(cat err) in
    $text) ;;
    *) fail "$*: said '$(cat err)', not '$text'" ;;
    esac
}

# mistake STATUS LINE ARGUMENT...: farfault says just this line (a shell pattern) and nothing else.
mistake() {
    status=$1 line=$2
    shift 2
    says "$status" "$line" "$farfault" "$@"
    [ "$(wc -l <err)" -eq 1 ] || fail "farfault $*: not one line: $(cat err)"
    [ ! -s out ] || fail "farfault $*: wrote to standard output"
}

# has FILE TEXT: the file has the text.
has() {
    grep -qF -- "$2" "$1" || fail "no '$2' in $1: $(cat "$1")"
}

# json FILE VALUE NAME...: what is under the names is the value.
json() {
    file=$1 value=$2
    shift 2
    got=$("$json_get" "$file" "$@")
    [ "$got" = "$value" ] || fail "$file: $* is '$got', not '$value'"
}

# Where there is no userfaultfd, what needs it cannot be tested.
need_userfaultfd() {
    "$farfault" run -- true 2>err && return
    if grep -q userfaultfd err; then
        cat err
        exit 77
    fi
}

# wait_for FILE: until it has something in it, or is a socket.
wait_for() {
    tries=0
    while [ ! -s "$1" ] && [ ! -S "$1" ] && [ $tries -lt 300 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
}
