#!/bin/sh
# Gives every C file the style of .clang-format; with --check changes none, and fails if one does
# not have it, or if a source file of any kind has a line of more than 100 columns.
set -eu
cd "$(dirname "$0")/.."
command -v clang-format >/dev/null || { echo 'format.sh: no clang-format; make setup installs it' \
    >&2; exit 1; }
how=-i
[ "${1:-}" != --check ] || how='--dry-run -Werror'
find src include tests examples bench -name '*.[ch]' -print0 | xargs -0 clang-format $how
[ "$how" != -i ] || exit 0
find CMakeLists.txt Makefile scripts src include tests examples bench data cmake packaging \
    \( -name '*.[ch]' -o -name '*.c[lu]' -o -name '*.sh' -o -name '*.def' -o -name '*.awk' \
    -o -name '*.py' -o -name '*.cmake' -o -name CMakeLists.txt -o -name Makefile \) -print0 |
    LC_ALL=C.UTF-8 xargs -0 awk 'length() > 100 {
        print FILENAME ":" FNR ": more than 100 columns"
        wide = 1
    } END { exit wide }'
