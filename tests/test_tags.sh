#!/bin/sh
# test_tags.sh ROOT: a tag of a struct, union or enum means one thing in src and include, so that a
# debugger, ctags and readers need not ask which. Policies outside src have names of their own.
set -eu
cd "$1"
defined='\<(struct|union|enum) +[A-Za-z_][A-Za-z_0-9]* *\{'
tags=$(grep -rhoE --include='*.[ch]' "$defined" src include |
    awk '{ sub(/\{$/, "", $2); print $2 }' | sort)
[ "$(echo "$tags" | wc -l)" -ge 700 ] || { echo 'too few tags were found' >&2; exit 1; }
repeated=$(echo "$tags" | uniq -d)
[ -z "$repeated" ] || {
    for tag in $repeated; do
        grep -rnE --include='*.[ch]' "\<(struct|union|enum) +$tag *\{" src include >&2
    done
    echo 'give each of these tags a name of its own' >&2
    exit 1
}
