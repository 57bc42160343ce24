#!/bin/sh
# Programs share devices: farfaultd, farfault run --share and farfault top.
# Usage: test_share.sh FOLDER FARFAULT FARFAULTD PROGRAM JSON_GET
set -u
folder=$1 farfault=$2 farfaultd=$3 program=$4 json_get=$5
failures=0
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder" || exit 1
socket=$folder/s
for variable in $(env | sed -n 's/^\(FARFAULT_[A-Z_]*\)=.*/\1/p'); do
    unset "$variable"
done

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# says STATUS LINE COMMAND...: it ends so, with this one line (a shell pattern).
says() {
    expected=$1 line=$2
    shift 2
    "$@" >out 2>err </dev/null
    got=$?
    [ "$got" -eq "$expected" ] || fail "$*: status $got, not $expected"
    case $(cat err) in
    $line) ;;
    *) fail "$*: said '$(cat err)', not '$line'" ;;
    esac
}

says 2 'farfaultd: *--socket PATH --device NAME:SIZE' "$farfaultd"
says 2 'farfaultd: gpu0: must be a name and a size*' "$farfaultd" --socket "$socket" --device gpu0
says 2 'farfaultd: gpu0:1M: *at least 6M' "$farfaultd" --socket "$socket" --device gpu0:1M
says 2 'farfaultd: a:8M: *already' "$farfaultd" --socket "$socket" --device a:8M --device a:8M
says 1 'farfaultd: cannot listen at *' "$farfaultd" --socket "$folder/none/s" --device a:8M
says 1 'farfault top: --socket *: no broker: *' "$farfault" top --socket "$socket"
says 2 'farfault top: which broker? *' "$farfault" top
says 2 "farfault run: --share *: no broker to connect to: *" "$farfault" run --share "$socket" -- true

"$farfaultd" --socket "$socket" --device gpu0:16M --device gpu1:16M 2>daemon &
daemon=$!
trap 'kill $daemon 2>/dev/null' EXIT
tries=0
while [ ! -S "$socket" ] && [ $tries -lt 100 ]; do
    sleep 0.1
    tries=$((tries + 1))
done
says 1 'farfaultd: *: a broker listens there already' "$farfaultd" --socket "$socket" --device a:8M
says 1 'farfault run: --share *: there is no such device' "$farfault" run --share "$socket" --share-device gpu9 -- true

says 0 '*' "$farfault" run --share "$socket" --memory 16M --system memharvester --check --json=run.json -- \
    "$program" --size 24M --check
grep -q 'verified: yes' out || fail "not verified: $(cat out err)"

borrowed=$("$json_get" run.json runs 0 borrowed_peak)
[ "$borrowed" -gt 0 ] && [ "$borrowed" -le $((12 << 20)) ] || fail "borrowed: $borrowed"
[ "$("$json_get" run.json runs 0 bytes_lent)" -gt 0 ] || fail 'nothing was evicted to the neighbour'
[ "$("$json_get" run.json runs 0 lent_peak)" = 0 ] || fail 'somebody else has borrowed'
says 0 '*lending    at most * borrowed, * evicted there, * back; at most 0 B lent*' "$farfault" run --share "$socket" \
    --memory 16M --system memharvester -- "$program" --size 24M

"$farfault" top --socket "$socket" --json >top.json || fail 'top --json'
[ "$("$json_get" top.json devices 1 name)" = gpu1 ] || fail "top: $(cat top.json)"
"$farfault" top --socket "$socket" --once >out || fail 'top --once'
grep -q 'gpu0' out || fail "top: $(cat out)"

kill $daemon
wait $daemon || fail 'the broker did not end well'
[ ! -e "$socket" ] || fail 'the socket is still there'
[ ! -s daemon ] || fail "the broker said: $(cat daemon)"
[ $failures -eq 0 ]
