#!/bin/sh
# Files of runs: an experiment that is killed or divided ends in the same bytes, and what
# `farfault study` shows of its file.
. "$(dirname "$0")/common.sh"

matrix='sim stream:size=1M,hotspot:size=1M,phase:size=2M --systems demand,nvidia,keep --memory
    50%,device --gpu gtx1080ti,v100-16g'
status 0 $matrix
cp out whole
status 0 $matrix --json=whole.json

# Killed at any moment, it goes on.
seed=$$
kills=0
while [ $kills -lt 20 ]; do
    kills=$((kills + 1))
    "$farfault" $matrix --jobs 1 --study killed.study >cut 2>&1 &
    process=$!
    seed=$(((seed * 1103515245 + 12345) % 2147483648))
    sleep 0.$(printf '%03d' $((seed / 65536 % 100)))
    kill -9 $process 2>/dev/null
    wait $process 2>/dev/null
    ! grep '^farfault' cut || fail "kill $kills of seed $$"
done
status 0 $matrix --study killed.study
cmp -s out whole || fail "after 20 kills of seed $$ it differs: $(cat out)"
status 0 $matrix --study killed.study --json=killed.json
cmp -s killed.json whole.json || fail "its JSON differs: $(diff killed.json whole.json)"

# In parts, on machines of their own.
for part in 1 2 3; do
    status 0 $matrix --part $part/3 --study part$part.study
    ! grep -q 'geometric means' out || fail "a part has shown a table: $(cat out)"
done
status 0 study merge all.study part1.study part2.study part3.study
cp all.study alone.study
status 0 report alone.study --text
cp out alone
status 0 study show all.study --json=all.json
cp all.study again.study
status 0 $matrix --study again.study
cmp -s out whole || fail "what was put together differs: $(cat out)"
status 0 report again.study --text
sed 's/alone\.study/again.study/' alone | cmp -s - out ||
    fail "alone its report differs: $(cat alone)"
status 0 study show again.study --json=again.json
[ "$("$json_get" again.json runs)" = "$("$json_get" all.json runs)" ] ||
    fail "the parts do not have all runs: $("$json_get" all.json runs)"

# Other workloads, seeds, options and networks are other runs.
status 0 study list all.study --json
runs=$("$json_get" out builds 0 runs)
status 0 sim stream:size=1M --systems demand --memory 50% --gpu gtx1080ti --study all.study --seed 7
status 0 study list all.study --json
json out $((runs + 2)) builds 0 runs
cp "$source/data/networks/cifarnet.txt" own.txt
status 0 sim ./own.txt --systems demand --study all.study
status 0 sim ./own.txt --systems demand --study all.study
status 0 study list all.study --json
json out $((runs + 4)) builds 0 runs
echo >>own.txt
status 0 sim ./own.txt --systems demand --study all.study
status 0 study list all.study --json
json out $((runs + 6)) builds 0 runs

# ---- what it shows ----

status 0 study list part1.study
has out '#1'
status 0 study show 'part1.study#1'
grep -q '^stream:size=1M  *nvidia-1  *gtx1080ti  *-  *0\.0' out || fail "no such run: $(cat out)"
status 0 study diff part1.study all.study
has out 'the same in all that was found; 0 runs only old'
status 0 study export all.study --csv=all.csv
grep -q '^1,hotspot:size=1M,demand,gtx1080ti,' all.csv || fail "no such run: $(head -3 all.csv)"

# Of what fails it has the reason, and the same command makes it again.
fails='sim ./own.txt --systems demand,belady --memory 50%'
status 1 $fails
cp out whole
for turn in 1 2; do
    status 1 $fails --study fails.study
    cmp -s out whole || fail "a failure differs: $(diff out whole)"
done
status 0 study show fails.study
grep -q '^./own.txt  *belady .* failed  *-  *-  *-$' out || fail "not failed: $(cat out)"
has out './own.txt, belady: failed: analytical kernels have no accesses'

# Miss-ratio curves, too, for the sizes of memory that were asked for.
curves='sim stream:size=1M,zipf:size=1M --curve --gpu v100-16g,gtx1080ti'
status 0 $curves --json=curves.json
for turn in 1 2; do
    status 0 $curves --json=again.json --study curves.study
    cmp -s curves.json again.json || fail "curves differ: $(diff curves.json again.json)"
done
status 0 $curves --memory 30% --study curves.study
status 0 study list curves.study --json
json out 8 builds 0 runs
for part in 1 2; do
    status 0 $curves --part $part/2 --study half$part.study
done
status 0 study merge halves.study half1.study half2.study
status 0 $curves --json=again.json --study halves.study
cmp -s curves.json again.json || fail "put together, curves differ: $(diff curves.json again.json)"

# What differs: devices of one name with other numbers.
status 0 sim zipf:size=1M --systems demand,nvidia --memory 50% --gpu gtx1080ti --study two.study
cp two.study old.study
sed 's/"sms": {"value": [0-9]*/"sms": {"value": 7/' "$source/data/gpus/gtx1080ti.json" \
    >gtx1080ti.json
status 0 sim zipf:size=1M --systems demand,nvidia --memory 50% --gpu ./gtx1080ti.json --study \
    new.study
status 0 study diff old.study new.study
has out '3 pairs, 0 the same'
grep -q '^zipf:size=1M  *nvidia  *gtx1080ti ' out || fail "nothing differs: $(cat out)"
status 0 study diff old.study new.study --json
json out false runs 0 same
mistake 1 'farfault study: there are not two builds to compare' study diff old.study

# ---- mistakes ----

mistake 2 'farfault study: say what: *' study
mistake 2 'farfault study: say what: *' study merge all.study
mistake 2 'farfault study: list needs a file: *' study list
mistake 2 'farfault study: export needs --json or --csv' study export all.study
mistake 1 'farfault study: none.study: No such file or directory' study show none.study
mistake 1 'farfault study: all.study#9: there is no such number; *' study show 'all.study#9'
echo text >text
mistake 1 'farfault study: text: is no file of runs' study list text
mistake 1 'farfault study: text: is no file of runs' study merge all.study text
mistake 2 'farfault sim: --part 4/3: must be K/N, *' $matrix --part 4/3 --study a.study
mistake 2 'farfault sim: --part 0/3: must be K/N, *' $matrix --part 0/3 --study a.study
mistake 2 'farfault sim: --part 1/3: *--study FILE' $matrix --part 1/3
mistake 2 'farfault sim: --part 1/3: *leave out --json*' $matrix --part 1/3 --study a.study --csv
mistake 1 'farfault sim: text: is no file of runs' $matrix --study text
[ ! -e a.study ] || fail 'a mistake has made a file'
finish
