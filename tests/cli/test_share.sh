#!/bin/sh
# Programs share devices: farfaultd, farfault run --share and farfault top.
. "$(dirname "$0")/common.sh"
farfaultd=$8 program=$9
socket=$scratch/s

says 2 'farfaultd: *--socket PATH --device NAME:SIZE' "$farfaultd"
says 2 'farfaultd: gpu0: must be a name and a size*' "$farfaultd" --socket "$socket" --device gpu0
says 2 'farfaultd: gpu0:1M: *at least 6M' "$farfaultd" --socket "$socket" --device gpu0:1M
says 2 'farfaultd: a:8M: *already' "$farfaultd" --socket "$socket" --device a:8M --device a:8M
says 1 'farfaultd: cannot listen at *' "$farfaultd" --socket "$scratch/none/s" --device a:8M
mistake 1 'farfault top: --socket *: no broker: *' top --socket "$socket"
mistake 2 'farfault top: which broker? *' top
mistake 2 "farfault run: --share *: no broker to connect to: *" run --share "$socket" -- true

"$farfaultd" --socket "$socket" --device gpu0:16M --device gpu1:16M --metrics broker.prom \
    2>daemon &
daemon=$!
trap 'kill $daemon 2>/dev/null' EXIT
wait_for "$socket"
says 1 'farfaultd: *: a broker listens there already' "$farfaultd" --socket "$socket" --device a:8M
mistake 1 'farfault run: --share *: there is no such device' run --share "$socket" --share-device \
    gpu9 -- true

says 0 '*' "$farfault" run --share "$socket" --memory 16M --system memharvester --check \
    --json=run.json -- \
    "$program" --size 24M --check
has out 'verified: yes'

borrowed=$("$json_get" run.json runs 0 borrowed_peak)
[ "$borrowed" -gt 0 ] && [ "$borrowed" -le $((12 << 20)) ] || fail "borrowed: $borrowed"
[ "$("$json_get" run.json runs 0 bytes_lent)" -gt 0 ] || fail 'nothing was evicted to the neighbour'
json run.json 0 runs 0 lent_peak # nobody else has borrowed
says 0 '*lending    at most * borrowed, * evicted there, * back; at most 0 B lent*' \
    "$farfault" run --share "$socket" --memory 16M --system memharvester -- "$program" --size 24M

wait_for broker.prom
grep -q '^farfault_device_memory_bytes{device="gpu1"} 16777216$' broker.prom ||
    fail "the counters: $(cat broker.prom)"
[ "$(stat -c %a broker.prom)" = 644 ] || fail 'not everybody may read the counters'
status 0 top --socket "$socket" --json
mv out top.json
json top.json gpu1 devices 1 name
status 0 top --socket "$socket" --once
has out gpu0

# two programs of one device that fit it together: nobody waits
"$farfault" run --share "$socket" --share-device gpu0 --json=first.json -- "$program" --size 5M \
    --check >first.out 2>&1 &
first=$!
says 0 '*' "$farfault" run --share "$socket" --share-device gpu0 --share-priority 3 \
    --json=second.json -- "$program" --size 5M --check
wait $first || fail "the first of two failed: $(cat first.out)"
json first.json 0 runs 0 waited_seconds
json second.json 0 runs 0 waited_seconds
mistake 2 'farfault run: --share-priority 9: *' run --share-priority 9 -- true

kill $daemon
wait $daemon || fail 'the broker did not end well'
[ ! -e "$socket" ] || fail 'the socket is still there'
[ ! -e broker.prom ] || fail 'the counters of a broker that has ended are still there'
[ ! -s daemon ] || fail "the broker said: $(cat daemon)"
finish
