#!/bin/sh
# libfarfault.so exports every function that a public header declares with FF_API, and nothing else.
# Usage: test_exports.sh LIBRARY HEADER...
set -eu
library=$1
shift
declared=$(sed -n 's/^FF_API.*[ *]\(ff_[a-z_]*\)(.*/\1/p' "$@" | sort)
exported=$(nm --dynamic --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort)
[ "$(echo "$declared" | wc -l)" -eq "$(grep -h '^FF_API' "$@" | wc -l)" ]
[ "$declared" = "$exported" ] || { echo "declared: $declared"; echo "exported: $exported"; exit 1; }
