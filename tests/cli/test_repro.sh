#!/bin/sh
# What `farfault repro` writes, of a published file with a few of its configurations, and how one
# that was killed goes on. The numbers are golden.repro's.
. "$(dirname "$0")/common.sh"
unset HOME

rm data
mkdir -p data/published
cp -r "$source/data/gpus" "$source/data/machines" data
publish() {
    cat >data/published/uvmsmart.json <<END
{"defaults": {"gpu": "gtx1080ti"}, "programs": {"hotspot": "hotspot:n=1024,pyramid=2,steps=8"},
 "columns": $(sed -n '/"columns"/,/^  \]/p' "$source/data/published/uvmsmart.json" |
     sed '1s/.*/[/; $s/,//'),
 "tables": [{"id": "prefetchers", "what": "Prefetchers",
    "systems": {"OnDemand": "demand:prefetch=none,evict=lru-2m",
                "TBN": "demand:prefetch=tree-half,evict=lru-2m"}, "rows": [
    {"config": "OnDemand", "program": "hotspot", "memory": "1GB", "time_us": 144226.4,
     "faults": 3072, "pages_in": 3072},
    {"config": "$1", "program": "hotspot", "memory": "1GB", "faults": 6144, "pages_in": 3072}]}]}
END
}

publish TBN
status 0 repro uvmsmart
[ ! -s err ] || fail "repro wrote to standard error: $(cat err)"
has out \
    "1/2  hotspot:n=1024,pyramid=2,steps=8, 1 GiB of gtx1080ti: demand:prefetch=none,evict=lru-2m: \
0.145382 s"
has out "prefetchers.time: Prefetchers: time of kernels and faults, us"
[ "$(grep -c 'geometric mean' out)" -eq 4 ] || fail "not 4 tables: $(cat out)"
faults=$(sed -n '/^prefetchers.faults/,/^$/p' out)
echo "$faults" | grep -q 'OnDemand hotspot *3072 *3072 *+0.0 %$' ||
    fail "no row of OnDemand: $faults"
echo "$faults" | grep -q 'geometric mean *4344\.5 *[0-9.]* *-[0-9.]* %$' ||
    fail "no mean of 3072 and 6144: $faults"

status 0 repro uvmsmart --jobs 1 --json
cp out tables
json tables uvmsmart name
json tables prefetchers.faults tables 1 id
json tables 3072 tables 1 rows 0 ours
json tables 6144 tables 1 rows 1 paper
json tables prefetchers.time runs 0 table
status 0 repro uvmsmart --jobs 1 --csv
grep -q '^prefetchers.faults,OnDemand hotspot,3072\(\.0*\)*,3072' out ||
    fail "no row of OnDemand: $(cat out)"

# What is drawn is what the published file says, of the tables that there are.
sed 's/"tables"/"figures": [{"id": "a", "what": "Faults", "axis": "faults", "series": [{"table": \
"prefetchers.faults", "name": "ours"}, {"table": "prefetchers.faults", "name": "paper", "value": \
"paper"}]}, {"id": "b", "what": "", "axis": "", "series": [{"table": "none", "name": ""}]}], \
"tables"/' data/published/uvmsmart.json | tr -d '\\\n' >with-figures
mv with-figures data/published/uvmsmart.json
status 0 repro uvmsmart --jobs 1 --plot figures
has out "figures/a.svg: Faults"
[ "$(ls figures)" = a.svg ] || fail "not only a.svg: $(ls figures)"
grep -q '<title>3072</title>' figures/a.svg || fail "no bar of 3072: $(cat figures/a.svg)"
mistake 1 "farfault repro: cannot make no/such: No such file or directory" \
    repro uvmsmart --jobs 1 --plot no/such

publish Nonesuch
mistake 1 \
    "farfault repro: uvmsmart: prefetchers: unknown configuration 'Nonesuch' of \
'hotspot'" \
    repro uvmsmart
echo '{' >data/published/uvmsmart.json
mistake 1 "farfault repro: */data/published/uvmsmart.json: line *" repro uvmsmart

# ---- batches of faults

cp "$source/data/published/batches.json" data/published
status 0 repro batches --json
json out batches name
json out '[5]' tables
json out 130 tables 0 rows 0 paper
for row in 0 1 2 3; do # within a factor of two of what was measured
    awk -v ours="$("$json_get" out tables 0 rows $row ours)" -v \
        paper="$("$json_get" out tables 0 rows $row paper)" \
        'BEGIN { exit !(ours > paper / 2 && ours < paper * 2) }' || fail "batch $row: $(cat out)"
done
sed 's/"system": "demand"/"system": "none-such"/' "$source/data/published/batches.json" \
    >data/published/batches.json
mistake 1 'farfault repro: batches: *none-such*' repro batches

# ---- a file of the user's ----

# paper MEMBERS: a table of one program, with these besides.
paper() {
    cat >mine.json <<END
{"name": "mine",
 "defaults": {"set": "all", "gpu": "v100-16g", "percent": 150, "baseline": "demand"},
 "sets": {"all": [{"program": "HS", "workload": "hotspot:size=4M"}], "none": []},
 "tables": [{"id": "gain", "what": "Gain", "paper": 2, "papers": {"HS": 1.5}, $1}]}
END
}
paper '"system": "nvidia-1"'
status 0 repro ./mine.json
has out "gain: Gain"
grep -q '^  HS  *1\.500  *[0-9.]* ' out || fail "no published value of the program: $(cat out)"
grep -q '^  all programs  *2  *[0-9.]* ' out || fail "no published value of all: $(cat out)"
! grep -q '(>' out || fail "a tolerance that nobody gave: $(cat out)"
rules='{"rows": "H?", "percent": 0.01}, {"tables": "x*", "percent": 9}'
sed "s/^ \"defaults\"/ \"tolerances\": [$rules],&/" mine.json >strict.json
status 0 repro strict.json
grep -q '^  HS  *1\.500 .*(> 0\.01) [-+]' out || fail "not out of its tolerance: $(cat out)"
[ "$(grep -c '(>' out)" -eq 1 ] || fail "out of a tolerance of another row: $(cat out)"
status 0 repro strict.json --json
json out false tables 0 rows 0 within
status 0 repro mine.json --json
json out mine name
faster=$("$json_get" out tables 0 rows 1 ours)
paper '"system": "nvidia-1", "metric": "slower"'
status 0 repro mine.json --json
awk -v faster="$faster" -v slower="$("$json_get" out tables 0 rows 1 ours)" \
    'BEGIN { exit !(faster * slower > 0.999 && faster * slower < 1.001) }' ||
    fail "not the inverse of $faster: $(cat out)"
paper '"system": "demand", "baseline_percent": 50, "metric": "slower"'
status 0 repro mine.json --json
awk -v slower="$("$json_get" out tables 0 rows 1 ours)" 'BEGIN { exit !(slower > 1.2) }' ||
    fail "as fast with less memory: $(cat out)"

# Rows of runs, of a user's, too.
publish TBN
cp data/published/uvmsmart.json rows.json
status 0 repro ./rows.json --json
json out 3072 tables 1 rows 0 ours
sed 's/"metric": "faults"/"metric": "none"/' rows.json >none.json
mistake 1 "farfault repro: none.json: columns: there is no metric 'none' of runs" repro none.json

refused() {
    paper "$1"
    mistake 1 "farfault repro: mine.json: table 'gain': $2" repro mine.json
}
refused '"system": "none-such"' "*none-such*"
refused '"note": ""' 'it needs a "system" and a "baseline"'
refused '"system": "keep", "gpu": ""' 'it needs a "gpu"'
refused '"system": "keep", "set": "none"' "there are no programs in the set 'none'"
refused '"system": "keep", "set": "few"' "there are no programs in the set 'few'"
refused '"system": "keep", "percent": 0' '"percent" must be 1 to 10000: the footprint, of memory'
refused '"system": "keep", "percent": "x"' '"percent" must be 1 to 10000: the footprint, of memory'
refused '"system": "keep", "percent": 10000' \
    "the device can not have so little memory for 'hotspot:size=4M'"
refused '"system": "keep", "metric": "better"' "there is no metric 'better'"
paper '"system": "keep"'
sed 's/hotspot:size=4M/no-such-program/' mine.json >other.json
mistake 1 "farfault repro: other.json: table 'gain': *no-such-program*" repro other.json
echo '{"tables": [{"what": "no id"}]}' >other.json
mistake 1 'farfault repro: other.json: a table without an "id"' repro other.json
echo '[]' >other.json
mistake 1 'farfault repro: other.json: there are no tables in it' repro other.json
mistake 1 'farfault repro: no-such.json: *' repro no-such.json
mistake 2 "farfault repro: --parts: 'costs' names no part; there are: *" \
    repro mine.json --parts costs

# ---- experiments of a file ----

# experiment MEMBERS TABLE: of two subjects, with a table that has these members.
experiment() {
    cat >mine.json <<END
{"devices": {"half": {"gpu": "v100-16g", "percent": 50}, "bad": {"gpu": "v100-16g", "memory": "x"}},
 "systems": {"UM": {"system": "nvidia"}}, "lists": {"two": ["UM", "keep"]},
 "sets": {"one": [{"program": "B", "workload": "hotspot:size=4M", "theirs": 6, "um": 3}],
          "more": [{"workload": "stream:size=4M"}]},
 "experiments": [{"part": "first", "set": ["one", "more"], "device": "half", $1
    "tables": [{"id": "gain", "what": "Gain", $2}]}]}
END
}
experiment '"prefix": "a.",' '"system": "keep", "baseline": "UM", "metric": "faster",
    "paper": "theirs", "over": "um"'
status 0 repro mine.json --json
json out a.gain tables 0 id
json out 2 tables 0 rows 0 paper
json out stream:size=4M tables 0 rows 1 name
one=$("$json_get" out tables 0 rows 0 ours) other=$("$json_get" out tables 0 rows 1 ours)
experiment '' '"systems": "two", "baseline": "UM", "metric": "faster", "papers": {"keep": 1.5}'
status 0 repro mine.json --json
json out 1 tables 0 rows 0 ours
json out 1.5 tables 0 rows 1 paper
awk -v one="$one" -v other="$other" -v mean="$("$json_get" out tables 0 rows 1 ours)" \
    'BEGIN { exit !(mean > 0.9999 * sqrt(one * other) && mean < 1.0001 * sqrt(one * other)) }' ||
    fail "not the mean of $one and $other: $(cat out)"
experiment '"runs": "two", "by_system": true,' '"system": "UM", "metric": "faults", "half": "odd"'
status 0 repro mine.json --fresh
[ "$(sed -n 's/^\([0-9/]*\)  \(.\).*: \([a-z]*\): .*/\1\2\3/p' out | tr '\n' ' ')" = \
    '1/4hnvidia 2/4snvidia 3/4hkeep 4/4skeep ' ] || fail "in another order: $(cat out)"
! grep -q '^  B ' out && grep -q '^  stream:size=4M ' out || fail "not the odd half: $(cat out)"
experiment '' '"metric": "faults"}, {"for": "two", "tables": [{"id": "each.$", "what": "of $",
    "system": "$", "metric": "seconds"}]'
sed -i 's/{"id": "gain", "what": "Gain", "metric": "faults"}, //' mine.json
status 0 repro mine.json
has out 'each.keep: of keep'
experiment_refused() {
    experiment "$1" "$2"
    mistake 1 "farfault repro: mine.json: $3" repro mine.json
}
experiment_refused '' '"system": "UM", "metric": "best"' \
    "experiment 'first': there is no metric 'best'"
experiment_refused '' '"system": "UM", "metric": "ipc"' \
    "experiment 'first': it needs a \"baseline\", or \"alone\", for 'ipc'"
experiment '' '"device": "none", "system": "UM", "metric": "faults"'
mistake 1 "farfault repro: there is no device 'none'; see farfault list gpus*" repro mine.json
experiment_refused '' '"device": "bad", "system": "UM", "metric": "faults"' \
    "device 'bad': 'x' is no size"
experiment '' '"system": "UM", "metric": "faults"'
sed 's/\["one", "more"\]/"none"/' mine.json >other.json
mistake 1 "farfault repro: other.json: experiment 'first': there are no subjects*" repro other.json
mistake 2 "farfault repro: --parts: 'costs' names no part; there are: *" \
    repro mine.json --parts costs
sed 's/"set"/"step": "none", &/' mine.json >other.json
mistake 1 "farfault repro: other.json: there is no step 'none'" repro other.json

# ---- runs that are kept ----

# Four short runs.
{
    sed '/^  "tables"/,$d' "$source/data/published/uvmsmart.json"
    echo '"tables": [{"id": "evictors", "what": "Evictors", "systems": {"LRU":
"demand:prefetch=none,evict=lru-4k", "Random": "demand:prefetch=none,evict=random-4k", "SL":
"demand:prefetch=none,evict=lru-64k", "TBN": "demand:prefetch=none,evict=tree-half"}, "rows": ['
    for config in LRU Random SL TBN; do
        echo \
            "{\"config\": \"$config\", \"program\": \"StreamTriad\", \"memory\": \"10MB\", \
\"faults\": 1}"
        [ $config = TBN ] || echo ,
    done
    echo ']}]}'
} >data/published/uvmsmart.json

# earlier OUTPUT: how many of the four runs it did not make.
earlier() {
    kept=$(sed -n 's/^\([0-9]*\) of 4 runs were made earlier.*/\1/p' "$1")
    echo "${kept:-0}"
}

# tables OUTPUT: without the lines of runs.
tables() {
    sed -n '/^evictors.time/,$p' "$1"
}

status 0 repro uvmsmart --jobs 1 --study runs --fresh
[ "$(earlier out)" -eq 0 ] || fail "a fresh repro went on: $(cat out)"
tables out >whole

# Killed at any moment, it goes on, and ends in the same bytes.
seed=$$
kills=0
rm -f runs cut
while [ $kills -lt 20 ]; do
    kills=$((kills + 1))
    "$farfault" repro uvmsmart --jobs 1 --study runs >cut 2>&1 &
    process=$!
    seed=$(((seed * 1103515245 + 12345) % 2147483648))
    sleep 0.$(printf '%03d' $((seed / 65536 % 150)))
    kill -9 $process 2>/dev/null
    wait $process 2>/dev/null
    [ ! -s cut ] || ! grep -q '^farfault' cut || fail "kill $kills of seed $$: $(cat cut)"
done
status 0 repro uvmsmart --study runs
tables out | cmp -s - whole || fail "after 20 kills of seed $$ it differs: $(cat out)"
rm -f runs cut
"$farfault" repro uvmsmart --jobs 1 --study runs >cut 2>&1 &
process=$!
wait_for cut
kill -9 $process
wait $process 2>/dev/null
status 0 repro uvmsmart --study runs
kept=$(earlier out)
[ "$kept" -ge 1 ] || fail "nothing was kept: $(cat cut out)"
tables out | cmp -s - whole || fail "what went on after $kept runs differs: $(cat out)"
status 0 repro uvmsmart --study runs
[ "$(earlier out)" -eq 4 ] || fail "not all runs were kept: $(cat out)"
tables out | cmp -s - whole || fail "what was kept differs: $(cat out)"

# A file that is damaged, or someone else's.
head -c 100 runs >damaged
head -c 20000 /dev/zero >>damaged
mistake 1 'farfault repro: damaged: is damaged: remove it, and runs are made again' repro uvmsmart \
    --study damaged
echo 'a text' >text
mistake 1 'farfault repro: text: is no file of runs' repro uvmsmart --study text
[ "$(cat text)" = 'a text' ] || fail "a text was changed: $(cat text)"

# Other options and other data decide; those of other devices do not.
status 0 repro uvmsmart --study runs --seed 2
[ "$(earlier out)" -eq 0 ] || fail "another seed's runs were taken: $(cat out)"
status 0 repro uvmsmart --study runs
[ "$(earlier out)" -eq 4 ] || fail "another seed's runs drove these out: $(cat out)"
sed 's/"sms": {"value": [0-9]*/"sms": {"value": 7/' "$source/data/gpus/v100-16g.json" \
    >data/gpus/v100-16g.json
status 0 repro uvmsmart --study runs
[ "$(earlier out)" -eq 4 ] || fail "runs went with another device: $(cat out)"
sed 's/"sms": {"value": [0-9]*/"sms": {"value": 7/' "$source/data/gpus/gtx1080ti.json" \
    >data/gpus/gtx1080ti.json
status 0 repro uvmsmart --study runs
[ "$(earlier out)" -eq 0 ] || fail "another device's runs were taken: $(cat out)"

status 0 repro uvmsmart
status 0 repro uvmsmart
[ "$(earlier out)" -eq 4 ] || fail "nothing was kept in the cache: $(ls -R cache)"
status 0 repro uvmsmart --fresh
[ "$(earlier out)" -eq 0 ] || fail "--fresh went on: $(cat out)"
mistake 1 "farfault repro: no/such/runs: No such file or directory" repro uvmsmart --study \
    no/such/runs
mkfifo pipe
mistake 1 'farfault repro: pipe: *' repro uvmsmart --study pipe --fresh
[ -p pipe ] || fail "a special file was replaced: $(ls -l pipe)"
unset XDG_CACHE_HOME
status 0 repro uvmsmart
has err "runs are not kept"
finish
