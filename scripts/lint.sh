#!/bin/sh
# clang-tidy with the checks of .clang-tidy, on every C file that is no test. Needs the compile
# commands of build/.
set -eu
cd "$(dirname "$0")/.."
command -v clang-tidy >/dev/null || { echo 'lint.sh: no clang-tidy; make setup installs it' >&2; \
    exit 1; }
find src examples bench -name '*.c' -print0 |
    xargs -0 -n 10 -P "${JOBS:-$(nproc)}" clang-tidy --quiet -p build >build/lint.log 2>&1 || {
    grep -v 'warnings* generated' build/lint.log
    exit 1
}
