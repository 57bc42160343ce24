#!/bin/sh
# libfarfault.so exports every function that a public header declares with FF_API, and nothing else;
# the preload exports its hooks, and nothing else.
# Usage: test_exports.sh LIBRARY PRELOAD SOURCE HEADER...
set -eu
library=$1 preload=$2 source=$3/src/preload
shift 3

exported() {
    nm --dynamic --defined-only "$1" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort
}

same() {
    [ "$1" = "$2" ] || { echo "declared: $1"; echo "exported: $2"; exit 1; }
}

declared=$(sed -n 's/^FF_API.*[ *]\(ff_[a-z_]*\)(.*/\1/p' "$@" | sort)
[ "$(echo "$declared" | wc -l)" -eq "$(grep -h '^FF_API' "$@" | wc -l)" ]
same "$declared" "$(exported "$library")"

hooks=$({
    sed -nE -e 's/^FF_(HOOK|COMMAND)\((\w+).*/\2/p' \
        -e 's/^FF_UNMANAGED\([^,]*, (\w+).*/\1/p' "$source/opencl/hooks.def"
    sed -nE 's/^FF_HOOKED .*[ *](\w+)[(;].*/\1/p' "$source"/*.c "$source/opencl/limits.c"
    echo dlsym
} | sort)
same "$hooks" "$(exported "$preload")"
