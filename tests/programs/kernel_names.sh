#!/bin/sh
# kernel_names.sh FARFAULT PROGRAM: the summary of the CUDA program atax-cuda has its kernels, which
# are templates, by their names in the source.
set -eu
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT
"$1" run --memory 16M "$2" --size 24M 2>"$errors"
sed -n '/by kernel/,/the worst/p' "$errors" | grep -q '^    row_products<' &&
    ! grep _Z "$errors" || { cat "$errors" >&2; exit 1; }
