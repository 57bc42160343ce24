#!/bin/sh
# farfault doctor: this machine as it is, and with one thing after another taken away.
. "$(dirname "$0")/common.sh"
without=$8 without_move=$9

# ---- as it is

need_userfaultfd
status 0 doctor
for name in kernel userfaultfd handlers MOVE samples 'huge pages' memory cgroup addresses files \
    mappings 'locked memory' OpenCL preload CUDA clang 'GPU driver' 'C compiler' device; do
    grep -q "^$name  *\(good\|limited\|missing\)  *[^ ]" out || fail "nothing of $name: $(cat out)"
done
[ "$(grep -c '^[^ ]' out)" -eq 19 ] || fail "other checks: $(cat out)"
grep -q '^userfaultfd *\(good\|limited\) .*vm.unprivileged_userfaultfd is' out || fail "$(cat out)"
grep -q '^device *good .*faults served by kernels' out || fail "$(cat out)"
status 0 doctor --json=good.json
has out kernel
json good.json true good
json good.json kernel checks 0 name
json good.json good checks 0 state
json good.json '[19]' checks

# ---- what is missing is said, with what to do, and does not matter for the exit status

# lacks NAME FINDING ADVICE COMMAND...: the command's output has them (shell patterns)
lacks() {
    name=$1 finding=$2 advice=$3
    shift 3
    "$@" >out 2>err </dev/null
    got=$?
    grep -A1 "^$name " out | cut -c25- >found # behind the name and the state
    case $(head -1 found) in
    $finding) ;;
    *) fail "$*: '$name' is not '$finding': $(cat out err)" ;;
    esac
    case $(tail -1 found) in
    'to do: '$advice) ;;
    *) fail "$*: '$name' has not '$advice': $(cat out err)" ;;
    esac
    return $got
}

lacks OpenCL 'there is no OpenCL runtime*' 'install the package pocl-opencl-icd' \
    env OCL_ICD_VENDORS=/nowhere "$farfault" doctor || fail "without PoCL: $(cat err)"
lacks 'C compiler' 'kernels need a C compiler, *no cc in PATH' 'install one *' \
    env PATH=/nowhere "$farfault" doctor || fail "without cc: $(cat err)"
lacks clang 'farfault cuda compile needs one' 'apt install clang' \
    env PATH=/nowhere "$farfault" doctor || fail "without clang: $(cat err)"
printf '#!/bin/sh\necho no headers >&2\nexit 1\n' >cc
chmod +x cc
lacks 'C compiler' '*/cc does not compile: *no headers*' '*FARFAULT_CC' \
    env FARFAULT_CC="$scratch/cc" "$farfault" doctor || fail "with a bad cc: $(cat err)"
lacks MOVE 'this kernel has no UFFDIO_MOVE*' 'Linux 6.8*' \
    env TEST_WITHOUT=move "$without" "$without_move" "$farfault" doctor ||
    fail "without MOVE: $(cat err)"
grep -q '^device *good *COPY, ' out || fail "without MOVE the device: $(cat out)"
lacks 'huge pages' 'switched off*' '*' \
    env TEST_WITHOUT=huge_pages "$without" "$without_move" "$farfault" doctor ||
    fail "without huge pages: $(cat err)"
[ ! -s err ] || fail "wrote to standard error: $(cat err)"
mv libfarfault-opencl.so away.so
lacks preload 'the library libfarfault-opencl.so is neither*' 'build or install all of farfault' \
    "$farfault" doctor || fail "without the preload: $(cat err)"
mv away.so libfarfault-opencl.so

# ---- without the device the exit status is 1, and the reason is on standard error

without_userfaultfd() {
    lacks userfaultfd 'cannot be opened; vm.unprivileged_userfaultfd is*' "$1" \
        "$without_userfaultfd" "$farfault" doctor
    [ $? -eq 1 ] || fail "without userfaultfd: $(cat out err)"
    lacks device 'no right to use userfaultfd' 'run as root, *' \
        "$without_userfaultfd" "$farfault" doctor
    has err 'farfault doctor: no right to use userfaultfd; '
    [ "$(wc -l <err)" -eq 1 ] || fail "not one line: $(cat err)"
}
without_userfaultfd '*docs/installing.md*'
"$without_userfaultfd" "$farfault" doctor --json >failed-doctor.json 2>err
json failed-doctor.json false good
json failed-doctor.json missing checks 1 state
case $("$json_get" failed-doctor.json reason) in
'no right to use userfaultfd; '*) ;;
*) fail "reason: $(cat failed-doctor.json)" ;;
esac
if [ -w /dev/userfaultfd ]; then # as container engines have it
    "$without_userfaultfd" --device "$farfault" doctor >out 2>err ||
        fail "by the device: $(cat err)"
    grep -q '^userfaultfd *good ' out || fail "by the device: $(cat out)"
fi
FARFAULT_HOST=/nowhere/file says 2 'farfault doctor: host file /nowhere/file: No such file*' \
    "$farfault" doctor
grep -q '^device *missing *host file ' out || fail "with a host file nowhere: $(cat out)"

# ---- mistakes

mistake 2 "farfault doctor: 'x' is one word too many" doctor x
mistake 2 'farfault doctor: --json missing/x: No such file or directory' doctor --json=missing/x
FARFAULT_GRANULE=8K "$farfault" doctor >out 2>err
[ $? -eq 2 ] || fail "a wrong setting: $(cat out err)"
has err 'FARFAULT_GRANULE=8K: must be 4K, 64K or 2M'

finish
