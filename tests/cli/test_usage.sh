#!/bin/sh
# Help, lists, and every mistake that shows before a device is opened.
. "$(dirname "$0")/common.sh"

# ---- help and version

for command in '' run compare list sim replay repro record probe import export report top \
    train predict ptx cuda doctor study; do
    status 0 $command --help
    has out 'Usage: farfault'
    has out 'Examples:'
    sed '1,/^Examples:/d; /^$/,$d' out >examples # one a line, to be copied
    ! grep -v '^  farfault ' examples || fail \
        "an example of '$command' does not fit a line: $(cat examples)"
    [ ! -s err ] || fail "help of '$command' wrote to standard error"
    ! grep '.\{80\}' out || fail "help of '$command' has lines longer than 79"
done
for command in run compare list sim replay repro record probe import export report top \
    train predict ptx cuda doctor study; do
    status 0 $command --help
    mv out long
    for words in "$command -h" "$command -?" "help $command"; do
        status 0 $words
        cmp -s out long || fail "$words is not $command --help"
    done
done
status 0 --help
mv out long
for words in -h help; do
    status 0 $words
    cmp -s out long || fail "$words is not --help"
done
mistake 2 "farfault: there is no command 'rnu'; the nearest is run; see farfault help" help rnu
mistake 2 'farfault: help describes one command, such as: help run' help run sim
status 0 --version
case $(cat out) in
"farfault "[0-9]*) ;;
*) fail "version: $(cat out)" ;;
esac

# ---- commands and options

mistake 2 'farfault: no command; to begin: farfault run ./program; all of them: farfault help'
mistake 2 "farfault: there is no command 'rnu'; the nearest is run; see farfault help" rnu
mistake 2 "farfault: there is no command 'comapre'; the nearest is compare; see farfault help" \
    comapre
mistake 2 "farfault: there is no command 'simulate'; the nearest is sim; see farfault help" simulate
mistake 2 "farfault: there is no command 'qwertyuiop'; see farfault help" qwertyuiop
mistake 2 "farfault: unrecognized option '--foo'; see farfault --help" --foo
mistake 2 "farfault run: unrecognized option '--sytem'; the nearest is --system" run --sytem \
    nvidia -- true
mistake 2 "farfault run: unrecognized option '--handlr=x'; the nearest is --handler" run \
    --handlr=x -- true
mistake 2 "farfault run: option '--memory' requires an argument; see *" run --memory
mistake 2 "farfault run: option '--quiet' doesn't allow an argument; see *" run --quiet=1 -- true
mistake 2 "farfault run: invalid option -- 'x'; see *" run -x
mistake 2 'farfault run: no program to run; *: farfault run PROGRAM ARGUMENTS' run
mistake 2 'farfault run: no program to run; *' run --memory 4M --

# ---- values

size='a size, such as 256M, or a share of the footprint, such as 66%'
for value in 12Q '' x% 0% -5% 66%% 1e9%; do
    mistake 2 "farfault run: --memory $value: must be $size" run --memory "$value" -- true
    mistake 2 "farfault compare: --memory $value: must be $size" compare --memory "$value" atax
done
mistake 2 'farfault run: --memory 0: *at least 4M, *' run --memory 0 -- true
mistake 2 'farfault run: --memory 1M: *at least 4M, *' run --memory 1M -- true
mistake 1 'farfault run: --memory 4096T: *this machine has*' run --memory 4096T -- true
mistake 2 'farfault run: --devices 0: must be a whole number, 1 to 8' run --devices 0 -- true
mistake 2 'farfault run: --devices 9: must be a whole number, 1 to 8' run --devices 9 -- true
mistake 2 'farfault run: --devices two: must be a whole number, 1 to 8' run --devices two -- true
mistake 2 'farfault run: --mechanism x: must be auto, move or copy' run --mechanism x -- true
mistake 2 'farfault run: --granule 8K: must be 4K, 64K or 2M' run --granule 8K -- true
mistake 2 'farfault run: --handler x: must be adaptive, sleep, sigbus or kernels' run \
    --handler x -- true
mistake 2 'farfault run: --link x: must be a rate and a latency, *' run --link x -- true
mistake 2 'farfault run: --spin x: must be a time up to 1s, such as 50us' run --spin x -- true
mistake 2 'farfault run: --seed x: must be a whole number, 0 to 9223372036854775807' run --seed x \
    -- true
mistake 2 'farfault run: --csv missing/x: No such file or directory' run --csv=missing/x -- true
mistake 2 'farfault run: --memory 12Q: must be *' run -m 12Q -- true
mistake 2 "farfault run: there is no system 'x'; see farfault list systems" run -s x -- true
mistake 2 "farfault sim: there is no system 'x'; see farfault list systems" sim -s x bfs
mistake 2 'farfault compare: --runs 0: *' compare -n 0 atax
mistake 2 'farfault run: --json missing/x: No such file or directory' run --json=missing/x -- true

# Whatever option of a command takes a number refuses these, in one line, before anything is run.
# They come to all options that the help has; the commands share readers, so that one value is
# enough where the option was met before.
nonsense() { # COMMAND NAME ARGUMENT...
    command=$1 name=$2
    shift 2
    values='-1 12x nan 0x10 18446744073709551615'
    case $met in
    *" $name "*) values= ;;
    esac
    met="$met $name "
    for value in $values ' 5'; do
        mistake 2 "farfault $command: --$name*: *" "$command" "--$name=$value" "$@"
    done
}
met=
numeric() { # COMMAND ARGUMENT...
    command=$1
    shift
    "$farfault" "$command" --help | sed -n \
        's/^ *\(-., *\)\{0,1\}--\([a-z-]*\)=\([^ ]*\).*/\2 \3/p' >options
    while read -r name kind; do
        case $kind in
        N | TIME | *SIZE* | *SHARE%* | *RATE* | *64K*) nonsense "$command" "$name" "$@" ;;
        esac
    done <options
}
numeric run -- false
numeric record --output t -- false
numeric sim bfs
numeric compare atax
numeric replay missing.trace
numeric probe --output p.json
numeric train bfs
numeric predict missing.model bfs
numeric repro batches
for name in devices memory size timeout link spin jobs distance steps oversubscribe granule; do
    case $met in
    *" $name "*) ;;
    *) fail "the help did not show that --$name takes a number" ;;
    esac
done
# beyond what can be
for value in 1 1e-300GB/s 999KB/s 1e300B/s 12GB/s,2s; do
    mistake 2 "farfault run: --link $value: must be a rate and a latency, *" run --link "$value" \
        -- false
    mistake 2 "farfault run: --peer-link $value: must be a rate and a latency, *" run --peer-link \
        "$value" -- false
done
mistake 2 'farfault run: --spin 2s: must be a time up to 1s, *' run --spin 2s -- false
mistake 2 'farfault run: --memory 0.0000001: must be a size, *' run --memory 0.0000001 -- false
for value in 0 9 010x; do
    mistake 2 "farfault probe: --devices $value: must be a whole number, 1 to 8" probe --devices \
        $value --output p.json
done
mistake 2 'farfault sim: --memory 1M: 1M: must be 2097152 to * bytes for v100-16g' sim --memory 1M \
    bfs
mistake 2 'farfault sim: --memory 50%,17T: 17T: must be *' sim --memory 50%,17T bfs
mistake 2 'farfault sim: --memory 4095: 4095: must be 4096 to *' sim --gpu gtx1080ti --memory 4095 \
    bfs
mistake 2 'farfault sim: v100-16g:clock_hz=*: clock_hz: must be *' sim --gpu v100-16g:clock_hz=nan \
    bfs

# ---- systems and policies

mistake 2 "farfault run: there is no system 'x'; see farfault list systems" run --system x -- true
mistake 2 "farfault sim: lms swaps the tensors of networks *" sim stream --systems nvidia,lms
mistake 2 "farfault run: unknown parameter 'x' of system nvidia; it has: threshold *" run --system \
    nvidia:x=1 -- true
mistake 2 'farfault run: threshold=101: must be 0 to 100' run --system nvidia:threshold=101 -- true
mistake 2 \
    "farfault run: there is no system 'nvida'; the nearest is nvidia; see farfault list systems" \
    run -s nvida true
mistake 2 \
    "farfault run: there is no evict policy 'lru'; the nearest are lrm, lru-2m and lru-4k; see \
farfault list policies" \
    run --system nvidia:evict=lru true
mistake 2 "farfault run: policy file: $scratch/missing.so: *" run --policy missing.so -- true
mistake 2 "farfault run: policy file $scratch/libfarfault-opencl.so exports no 'ff_policy_module'" \
    run --policy libfarfault-opencl.so -- true

# ---- the environment

export FARFAULT_MEMORY=12Q
mistake 2 "farfault run: FARFAULT_MEMORY=12Q: must be $size" run -- true
mistake 2 'farfault run: --memory 1M: *' run --memory 1M -- true
unset FARFAULT_MEMORY
for pair in FARFAULT_CHECK:'must be on or off' FARFAULT_QUIET:'must be on or off' \
    FARFAULT_DEVICES:'must be a whole number, 1 to 8'; do
    export "${pair%%:*}=x"
    mistake 2 "farfault run: ${pair%%:*}=x: ${pair#*:}" run -- true
    unset "${pair%%:*}"
done
FARFAULT_SYSTEM=x
export FARFAULT_SYSTEM
mistake 2 "farfault run: there is no system 'x'; see farfault list systems" run -- true
unset FARFAULT_SYSTEM
for pair in MEMROY:MEMORY SYTEM:SYSTEM PEERLINK:PEER_LINK MECANISM:MECHANISM; do
    export "FARFAULT_${pair%%:*}=x"
    mistake 2 \
        "farfault: the environment has FARFAULT_${pair%%:*}, which is not a setting; the nearest \
is FARFAULT_${pair#*:}" \
        list
    unset "FARFAULT_${pair%%:*}"
done
export FARFAULT_QWERTYUIOP=x
mistake 2 'farfault: the environment has FARFAULT_QWERTYUIOP, which is not a setting' run -- true
unset FARFAULT_QWERTYUIOP
variables=$(grep -rhoE '"FARFAULT_[A-Z_]+"' "$source/src" "$source/tests" --include=*.c \
    --include=*.h | tr -d '"' | sort -u)
in_scripts=$(grep -rhoE '[$][{]?FARFAULT_[A-Z_]+' "$source/scripts" "$source/tests" --include=*.sh \
    | tr -d '${' | sort -u)
settings=$(sed -n 's/^FF_SETTING([a-z_]*, \([A-Z_]*\),.*/FARFAULT_\1/p' \
    "$source/src/runtime/options.def")
[ "$(echo $settings | wc -w)" -gt 20 ] || fail "the settings: $settings"
for name in $variables $in_scripts $settings; do
    [ "$name" = FARFAULT_ ] || (export "$name=x" && "$farfault" list gpus >out 2>err) ||
        fail "$name: $(cat err)"
done
for name in SIZE STEPS RUNS SPLIT; do # of compare and train
    (export "FARFAULT_$name=x" && "$farfault" sim --untimed stream:size=1M >out 2>err) ||
        fail "sim reads FARFAULT_$name: $(cat err)"
done
FARFAULT_WORKERS=x
export FARFAULT_WORKERS
mistake 2 'farfault run: FARFAULT_WORKERS=x: must be a whole number, 0 to 4096' run -- true
unset FARFAULT_WORKERS
for name in $(tr -d '\n' <"$source/src/runtime/options.def" | sed 's/FF_/\n&/g' |
    sed -n 's/^FF_SETTING([a-z_]*, \([A-Z_]*\),.* \(SIZES\?\|TIME\|COUNT\|LINK\)(.*/\1/p'); do
    for value in -1 ' 5'; do
        export "FARFAULT_$name=$value"
        mistake 2 "farfault run: *: must be *" run -- false
        unset "FARFAULT_$name"
    done
    met_variables="${met_variables:-} $name"
done
[ "$(echo $met_variables | wc -w)" -eq 11 ] || fail "the settings that are numbers: $met_variables"

# ---- compare

mistake 2 'farfault compare: --runs 0: must be a whole number, 1 to 99' compare --runs 0 atax
mistake 2 'farfault compare: --runs 100: *' compare --runs 100 atax
mistake 2 'farfault compare: --size x: must be a size, such as 256M' compare --size x atax
mistake 2 'farfault compare: --timeout x: must be a time, such as 60s' compare --timeout x atax
mistake 2 \
    "farfault compare: there is no bundled program 'atxa'; the nearest is atax; see farfault list \
programs; *" \
    compare atxa
mistake 2 "farfault compare: there is no bundled program 'nothing'; see farfault list programs; *" \
    compare --programs atax,nothing
mistake 2 'farfault compare: --set x: must be choose, report or all' compare --set x
mistake 2 'farfault compare: --set is for when no programs are named' compare --set all atax
mistake 2 'farfault compare: --memory 50%,x: each must be a size, *' compare --memory 50%,x atax
mistake 2 'farfault compare: --memory 1M: *at least 4M, *' compare --memory 1M atax
mistake 2 "farfault compare: there is no system 'x'; see farfault list systems" compare --systems \
    nvidia,x atax
mistake 2 'farfault compare: --systems nvidia,: a name is missing at a comma' compare --systems \
    nvidia, atax
mistake 2 "farfault compare: --systems threshold=1: 'threshold=1' must follow *" compare --systems \
    threshold=1 atax
mistake 2 "farfault compare: --systems demand,demand: 'demand' is given twice" compare --systems \
    demand,demand atax
mistake 2 'farfault compare: threshold=101: must be 0 to 100' compare --systems \
    demand,nvidia:quirk=0,threshold=101 atax
mistake 2 'farfault compare: --json missing/x: *' compare --json=missing/x atax

# ---- lists

mistake 2 \
    "farfault list: there is no list 'cpus'; there are: systems, policies, programs, workloads, \
gpus" \
    list cpus
mistake 2 \
    "farfault list: there is no workload 'bsf'; the nearest is bfs; see farfault list workloads" \
    list workloads bsf
mistake 2 "farfault list: there is no device 'quite-another'; see farfault list gpus" list systems \
    keep gpus quite-another
status 0 list
for text in demand nvidia-1 addvectors lrm v100-16g; do
    has out "$text"
done
[ "$(wc -l <out)" -le 24 ] || fail "list fits no screen: $(cat out)"
! grep -q '.\{80\}' out || fail "list fits no screen: $(cat out)"
status 0 list policies tree,lrm workloads,bfs
for text in threshold 'consecutive migrations' 'lrm: ' 'bfs: ' seed; do
    has out "$text"
done
! grep -q random out || fail "not asked for: $(cat out)"
status 0 list programs
[ "$(wc -l <out)" -eq $(($(grep -c "^FF_PROGRAM" "$source/examples/programs.def") + 1)) ] \
    || fail "list programs: $(cat out)"
status 0 list --json
json out '{10}'
json out demand systems 0 name
json out none systems 0 policies prefetch
json out prefetch policies 0 kind
[ "$("$json_get" out policies 2 name)" = tree ] || fail 'policy 2 is not tree'
json out threshold policies 2 parameters 0 name
json out 51 policies 2 parameters 0 default
json out 100 policies 2 parameters 0 max
json out 2dconv programs 0 name
status 0 list --json policies
json out '{6}'
for need in faults launches accesses instructions 'a recorded run of the same work' samples; do
    has out "\"$need\""
done
status 0 list --json=list.json programs
[ ! -s out ] || fail "to a file and here: $(cat out)"
json list.json 2dconv programs 0 name

status 0 list gpus
has out v100-16g
status 0 list --json gpus
json out gtx1080ti gpus 1 name

# ---- modelled devices

each='each must be a size, such as 256M, a share of the footprint, such as 66%, or device'
mistake 2 'farfault sim: no workload; see farfault list workloads' sim
mistake 2 'farfault replay: no trace to replay; name one: farfault replay FILE' replay
mistake 2 \
    "farfault sim: there is no device 'v100'; the nearest are v100-16g, v100-32g and \
v100-32g-pcie; see farfault list gpus, or *" \
    sim --gpu v100 bfs
mistake 2 'farfault sim: v100-16g:granule=1M: granule: must be 4096, 65536 or 2097152' sim --gpu \
    v100-16g:granule=1M bfs
mistake 2 \
    'farfault sim: gtx1080ti:granule=64K: granule: must be 4096 where host is "synchronizes"' sim \
    --gpu gtx1080ti:granule=64K bfs
mistake 2 \
    "farfault sim: v100-16g:walk_ns=2,colour=1: colour: is no member of the device that can be \
changed" \
    sim --gpu v100-16g:walk_ns=2,colour=1 bfs
mistake 2 'farfault sim: missing.json: No such file or directory' sim --gpu missing.json bfs
echo '{"name": "x"}' >bad.json
mistake 2 'farfault sim: bad.json: summary: missing' sim --gpu bad.json bfs
mistake 2 "farfault sim: --gpu v100-16g,v100-16g: 'v100-16g' is given twice" sim --gpu \
    v100-16g,v100-16g bfs
mistake 2 "farfault sim: there is no system 'x'; see farfault list systems" sim --systems x bfs
for value in 0 0% x '66%,' nan%; do
    mistake 2 "farfault sim: --memory $value: $each" sim --memory "$value" bfs
done
for value in 0% 5M x; do
    mistake 2 \
        "farfault sim: --oversubscribe $value: each must be a share of the memory, such as 110%" \
        sim --oversubscribe "$value" bfs
done
mistake 2 'farfault sim: --devices 9: must be a whole number, 1 to 8' sim --devices 9 bfs
mistake 2 'farfault sim: --jobs 0: must be a whole number, 1 to 1024' sim --jobs 0 bfs
mistake 2 'farfault sim: --seed x: must be a whole number, 0 to 9223372036854775807' sim --seed x \
    bfs
mistake 2 'farfault sim: --trace t: a trace is of one run: *' sim --trace t --systems \
    demand,nvidia bfs
mistake 2 'farfault sim: --json missing/x: *' sim --json=missing/x bfs
mistake 2 'farfault sim: a name is missing at a comma' sim bfs,
mistake 2 "farfault sim: 'bfs' is given twice" sim bfs bfs
mistake 2 "farfault sim: there is no workload 'no-such-workload'; see farfault list workloads" sim \
    no-such-workload
mistake 2 \
    "farfault sim: there is no workload 'bert'; the nearest are bert-base, bert-inference and \
bert-large; *" \
    sim bert
mistake 2 \
    "farfault sim: --machine p4.8xlarge: there is no machine 'p4.8xlarge'; the nearest is \
p3.8xlarge; *" \
    sim --machine p4.8xlarge bfs
: >my.trace
mistake 2 \
    'farfault sim: my.trace is a file, not a workload; if it is a trace: farfault replay my.trace' \
    sim my.trace
mistake 1 'farfault replay: *missing.trace*' replay missing.trace
mistake 2 'farfault compare: --runs is for programs, not for modelled runs' compare --gpu v100-16g \
    --runs 3 bfs
mistake 2 'farfault compare: --peer-link is for programs, not for modelled runs' compare \
    --modelled --peer-link 1GB/s bfs
mistake 2 'farfault compare: --jobs is for modelled runs: give --gpu, too' compare --jobs 2 atax

# ---- what has --json is described

for command in $("$farfault" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\)  .*/\1/p'); do
    "$farfault" "$command" --help | grep -q -- '--json' || continue
    grep -q "\"if\": {\"properties\": {\"command\": {\"enum\": \[.*\"$command\"" \
        "$source/data/schema/results.json" ||
        fail "data/schema/results.json does not say what $command writes"
done

# ---- who asks for JSON gets an object, whatever is wrong

fails() { # COMMAND REASON ARGUMENT...
    command=$1 reason=$2
    shift 2
    "$farfault" "$command" --json "$@" >"failed-$command.json" 2>err &&
        fail "$command $* does not fail"
    json "failed-$command.json" "$command" command
    json "failed-$command.json" false good
    json "failed-$command.json" "$reason" reason
}
fails run 'no program to run; name one: farfault run PROGRAM ARGUMENTS'
fails record 'nowhere to write to; name a file: --output TRACE' true
fails compare '--runs 0: must be a whole number, 1 to 99' --runs 0
fails sim "there is no workload 'bsf'; the nearest is bfs; see farfault list workloads" bsf
fails replay 'no trace to replay; name one: farfault replay FILE'
fails repro "unrecognized option '--seeed'; the nearest is --seed" --seeed
fails train 'name the workloads, such as: farfault train hotspot,nw'
fails predict 'name a model and the workloads: farfault predict MODEL WORKLOAD'
fails list "there is no list 'cpus'; there are: systems, policies, programs, workloads, gpus" cpus
fails top 'which broker? name its socket: --socket PATH'
status 2 sim --json=to-a-file.json bsf
json to-a-file.json false good
FARFAULT_JSON=$scratch/by-variable.json "$farfault" sim bsf >out 2>err
json by-variable.json false good

# ---- papers and traces

mistake 2 \
    'farfault repro: name one paper; there are: uvmsmart, deepum, hlsh, huvm, forest, ariadne, '\
'batches, or a FILE.json' repro
mistake 2 \
    "farfault repro: there is no paper 'x'; there are: uvmsmart, deepum, hlsh, huvm, forest, \
ariadne, batches, or a FILE.json" \
    repro x
mistake 2 "farfault repro: --parts: 'x' names no part; there are: benchmarks,*composition" repro \
    forest --parts x
mistake 2 "farfault repro: --parts: 'x' names no part; there are: paper,sweeps,\
batches,tensorflow,ablation" repro deepum \
    --parts x
mistake 2 'farfault record: nowhere to write to; name a file: --output TRACE' record -- true
mistake 2 'farfault record: no program to run; *' record --output t
mistake 2 'farfault record: --system nvidia: touches are those of the program, *' \
    record --output t --touches --system nvidia -- true
mistake 2 "farfault probe: 'x' is one word too many" probe x
mistake 1 'farfault probe: cannot write *' probe --output missing/soft.json
mistake 2 'farfault import: give a format, or auto, and one file: *' import auto
mistake 2 'farfault import: nowhere to write to; name a file: --output FILE' import auto x
mistake 2 'farfault export: give one trace: *' export
mistake 2 'farfault export: nowhere to write to; name a file: --output FILE' export x
mistake 2 'farfault report: give one trace, JSON file or file of runs: *' report
mistake 2 'farfault report: nowhere to write to: give --output PAGE.html or --text' report x
mistake 2 'farfault export: --format x: must be perfetto, batches or oracleGeneral' export x \
    --format x --output y

# ---- what is there is described

described() { # LISTED...
    for name in "$@"; do
        grep -qF "\`$name\`" "$source/docs/systems.md" ||
            fail "docs/systems.md does not have '$name'"
    done
}
status 0 list systems
described $(awk 'NR > 1 { print $1 }' out)
status 0 list policies
policies=$(sed -n 's/^  \([a-z0-9-]*\):.*/\1/p' out)
described $policies
status 0 list policies $policies
described $(sed -n 's/^    \([a-z_]*\)  .*/\1/p' out | grep -vx parameter)

# ---- an incomplete farfault

rm libfarfault-opencl.so programs/atax data
mistake 1 'farfault compare: the bundled program atax is neither *' compare atax
mistake 1 'farfault sim: the data gpus is neither *' sim bfs
"$without_userfaultfd" "$farfault" run -- true >out 2>err
[ $? -eq 1 ] && [ "$(wc -l <err)" -eq 1 ] || fail "without userfaultfd: $(cat err)"
has err 'farfault run: no right to use userfaultfd; '

finish
