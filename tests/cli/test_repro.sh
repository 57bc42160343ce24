#!/bin/sh
# What `farfault repro` writes, of a published file with two of its configurations. The numbers are golden.repro's.
. "$(dirname "$0")/common.sh"

rm data
mkdir -p data/published
ln -s "$source/data/gpus" data/gpus
publish() {
    cat >data/published/uvmsmart.json <<END
{"tables": [{"id": "prefetchers", "what": "Prefetchers", "rows": [
    {"config": "OnDemand", "bench": "hotspot", "memory": "1GB", "time_us": 144226.4, "faults": 3072, "pages_in": 3072},
    {"config": "$1", "bench": "hotspot", "memory": "1GB", "faults": 6144, "pages_in": 3072}]}]}
END
}

publish TBN
status 0 repro uvmsmart
[ ! -s err ] || fail "repro wrote to standard error: $(cat err)"
has out "prefetchers.time: Prefetchers: time of kernels and faults, us"
[ "$(grep -c 'geometric mean' out)" -eq 4 ] || fail "not 4 tables: $(cat out)"
faults=$(sed -n '/^prefetchers.faults/,/^$/p' out)
echo "$faults" | grep -q 'OnDemand hotspot *3072 *3072 *+0.0 %$' || fail "no row of OnDemand: $faults"
echo "$faults" | grep -q 'geometric mean *4344\.5 *[0-9.]* *-[0-9.]* %$' || fail "no mean of 3072 and 6144: $faults"

status 0 repro uvmsmart --jobs 1 --json
cp out tables
json tables uvmsmart name
json tables prefetchers.faults tables 1 id
json tables 3072 tables 1 rows 0 ours
json tables 6144 tables 1 rows 1 paper

publish Nonesuch
mistake 1 "farfault repro: published/uvmsmart.json: prefetchers: unknown configuration 'Nonesuch' of 'hotspot'" repro uvmsmart
echo '{' >data/published/uvmsmart.json
mistake 1 "farfault repro: */data/published/uvmsmart.json: line *" repro uvmsmart
finish
