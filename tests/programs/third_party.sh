# Sourced by the tests of third-party programs. They run a program plainly and under farfault with
# less device memory than it has buffers, in a folder of their own. Their first argument is
# farfault; their exit status is `bad`.
farfault=$(realpath "$1")
here=$(dirname "$(realpath "$0")")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
bad=0

# Without the program the test is skipped.
needs() { command -v "$1" >/dev/null || { echo "no $1"; exit 77; }; }

# needs_python MODULE PACKAGE: Debian's Python, for which its modules are
needs_python() { /usr/bin/python3 -c "import $1" 2>/dev/null || { echo "no $2"; exit 77; }; }

# wrong FILE TEXT...: what was wrong, after the output that shows it
wrong() {
    cat "$1" >&2
    shift
    echo "$*" >&2
    bad=1
}

# of the last managed run's summary
number() { sed -n '/"runs"/,$'"s/^ *\"$1\": \([0-9]*\).*/\1/p" summary | head -n 1; }

# plain COMMAND...: its output is in the file plain
plain() { "$@" >plain 2>errors || wrong errors "$1: status $? without farfault"; }

# managed "OPTION..." COMMAND...: the same under `farfault run OPTION...`, in the file managed;
# there must have been evictions
managed() {
    options=$1
    shift
    "$farfault" run --json=summary $options -- "$@" >managed 2>errors ||
        wrong errors "$1: status $? under farfault"
    echo \
        "$(basename "$1"): $(number footprint) bytes of buffers on $(number memory)," \
        "$(number evictions) evictions"
    [ "$(number footprint)" -gt "$(number memory)" ] || wrong summary "$1: all buffers fitted"
    [ "$(number evictions)" -gt 0 ] || wrong summary "$1: no evictions"
}

# same COMMAND...: what it prints for the file managed is what it prints for the file plain, and not
# nothing
same() {
    "$@" plain >expected
    "$@" managed >got
    [ -s expected ] && cmp expected got || wrong managed "not the same as without farfault"
}
