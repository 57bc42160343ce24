#!/bin/sh
# Every command and option has its place in a manual page, and man has nothing to complain about.
# Usage: test_man.sh FARFAULT FARFAULTD MAN_FOLDER OPTIONS.SH HEADER...
set -eu
farfault=$1 farfaultd=$2 man=$3 options=$4
shift 4
export LC_ALL=C.UTF-8 MANWIDTH=80 MANPAGER=cat

# page FILE: writes it as text; fails if man warns, a line is too long, or it names no other page.
page() {
    warnings=$(man --warnings --local-file "$1" 2>&1 >"$man/../page.raw") || true
    [ -z "$warnings" ] || { echo "$1: $warnings" >&2; exit 1; }
    col -bx <"$man/../page.raw" >"$man/../page.plain"
    grep -qE "^.{$((MANWIDTH + 1))}" "$man/../page.plain" && { echo "$1: too wide" >&2; exit 1; }
    grep -q '^SEE ALSO' "$man/../page.plain" || { echo "$1: no SEE ALSO" >&2; exit 1; }
    tr -s ' ' <"$man/../page.plain"
}

# has NAME TEXT FILE
has() {
    grep -qF -- "$2" "$3" || { echo "$1: has no '$2'" >&2; exit 1; }
}

count=0
text=$man/../page.text
"$options" "$farfault" >"$man/../options"
while IFS="$(printf '\t')" read -r kind command short long rest; do
    [ "$command" != help ] || continue
    if [ "$kind" = command ]; then
        page "$man/man1/farfault-$command.1" >"$text-$command"
        has "farfault-$command(1)" "farfault-$command - " "$text-$command"
        for section in SYNOPSIS DESCRIPTION OPTIONS EXAMPLES; do
            grep -q "^$section" "$text-$command" ||
                { echo "farfault-$command(1): no $section" >&2; exit 1; }
        done
        continue
    fi
    [ "$kind" = option ] || continue
    name="--$long"
    [ "$short" = - ] || name="-$short, --$long"
    grep -qE -- "^ +$(echo "$name" | sed 's/[?]/[?]/')(\[|=| |$)" "$text-$command" ||
        { echo "farfault-$command(1): no entry for $name" >&2; exit 1; }
    count=$((count + 1))
done <"$man/../options"
[ "$count" -gt 150 ] || { echo "only $count options" >&2; exit 1; }

page "$man/man1/farfault.1" >"$text"
for command in $(awk -F '\t' '$1 == "command" { print $2 }' "$man/../options"); do
    grep -qE "^ +$command( |$)" "$text" || { echo "farfault(1): no $command" >&2; exit 1; }
done
page "$man/man1/farfaultd.1" >"$text"
for option in $("$farfaultd" --help | grep -oE -- '--[a-z]+'); do
    has 'farfaultd(1)' "$option" "$text"
done
page "$man/man5/farfault-trace.5" >"$text"
has 'farfault-trace(5)' LEB128 "$text"

# every name that a header declares
for header in "$@"; do
    name=${header##*/}
    [ "$name" = farfault.h ] || name=farfault_$name
    page "$man/man3/$name.3" >"$text"
    for function in $(sed -nE 's/^(FF_API|static inline) .*[ *](ff_[a-z_]+\().*/\2/p' "$header"); do
        has "$name(3)" "$function" "$text"
    done
done
