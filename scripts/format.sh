#!/bin/sh
# Gives every C file the style of .clang-format; with --check changes none, and fails if one does
# not have it.
set -eu
cd "$(dirname "$0")/.."
command -v clang-format >/dev/null || { echo 'format.sh: no clang-format; make setup installs it' \
    >&2; exit 1; }
how=-i
[ "${1:-}" != --check ] || how='--dry-run -Werror'
find src include tests examples bench -name '*.[ch]' -print0 | xargs -0 clang-format $how
