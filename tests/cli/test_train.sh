#!/bin/sh
# Training that is interrupted goes on where it was and ends with the same file; a file that is no
# model of this version gives one line.
. "$(dirname "$0")/common.sh"

nw='nw:n=256 --steps 400'

status 0 train $nw --output straight.model
has out top-1
has out majority
has out 'no page'
[ "$(wc -l <out)" -eq 2 ] || fail "not one row: $(cat out)"

"$farfault" train $nw --output broken.model >out 2>err </dev/null &
training=$!
wait_for broken.model
kill -INT $training
wait $training
got=$?
[ "$got" -eq 130 ] || fail "interrupted training: status $got"
has err 'interrupted; the same command goes on'
[ ! -s out ] || fail "interrupted training wrote to standard output"
cmp -s straight.model broken.model && fail "it was not interrupted"
status 0 train $nw --output broken.model
cmp -s straight.model broken.model || fail "another model than without the interruption"
status 0 predict straight.model nw:n=256 --bench
has out 'one prediction'

# A trace of a program is the same program.
status 0 train nw:n=256 --steps 9 --csv
mv out modelled
status 0 sim nw:n=256 --systems demand --memory 100% --gpu gtx1080ti --trace nw.trace
status 0 train nw.trace --steps 9 --csv
sed s/nw.trace/nw:n=256/ out | cmp -s - modelled || fail "other scores for a trace: $(cat out)"
mistake 2 'farfault train: ./none.trace: No such file or directory' train ./none.trace

status 0 predict straight.model nw:n=256 --json
json out predict command
json out nw:n=256 runs 0 subject
"$json_get" out runs 0 no_page >/dev/null || fail "no share of classes without a page: $(cat out)"
"$json_get" out runs 0 top1 >/dev/null || fail "no top1: $(cat out)"
mistake 2 'farfault predict: --bench shows times on standard output: *' predict straight.model \
    nw:n=256 --bench --csv
status 0 train nw:n=256,hotspot:n=128 --steps 20 --csv
[ "$(wc -l <out)" -eq 3 ] || fail "CSV: $(cat out)"
has out 'nw:n=256,'
has out ',hlsh,'

# Networks of three features do not see which arrays there are; the Transformer does.
for network in hlsh transformer; do
    status 0 train nw:n=256 --steps 20 --network $network --csv
    mv out of-the-kernel
    status 0 train nw:n=256 --steps 20 --network $network --inputs accessed --csv
    mv out "$network-accessed"
    cmp -s of-the-kernel "$network-accessed" && same=$network
    [ $network != transformer ] || [ "$same" = hlsh ] || fail "the arrays of tokens: $same"
done
mistake 2 '*--inputs accessed is for comparison: its models have no file' train nw:n=256 \
    --inputs accessed --output other.model

# Training ends when it is good enough, or after all batches.
status 0 train nw:n=256 --steps 60 --until 30 --json
json out 50 runs 0 batches
status 0 train nw:n=256 --steps 60 --until 100 --json
json out 60 runs 0 batches

mistake 1 '*none.model: No such file or directory' predict none.model nw:n=256
head -c 2000 straight.model >short.model
mistake 1 '*short.model: the file is truncated or damaged' predict short.model nw:n=256
echo something else >foreign.model
mistake 1 '*foreign.model: not a model of farfault' predict foreign.model nw:n=256
mistake 1 '*foreign.model: not a model of farfault' train $nw --output foreign.model
has foreign.model 'something else'
{ head -c 8 straight.model && printf '\0' && tail -c +10 straight.model; } >older.model
mistake 1 '*older.model: version 0, and this farfault reads 2; train it again' \
    predict older.model nw:n=256
mistake 1 '*Is a directory*' predict programs nw:n=256
mistake 2 '*one file holds one predictor*' train nw:n=256,hotspot:n=128 --output two.model
mistake 2 '*must be hlsh*' train $nw --network other

# several programs in one, each predicted with code of its own
status 0 train nw:n=256,hotspot:n=128 --steps 20 --together --output both.model
status 0 predict both.model hotspot:n=128,nw:n=256
status 0 train nw:n=256 --network fc --steps 20 --output fc.model
mistake 1 '*only hlsh of four bits has a fast path*' predict fc.model nw:n=256 --bench
finish
