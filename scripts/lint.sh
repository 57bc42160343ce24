#!/bin/sh
# lint.sh [--changed]: clang-tidy with the checks of .clang-tidy, on every C file that is no test,
# or on those that have changed since ten commits of the branch (a merge counts as one): of a
# header, one file that includes it. All, too, where git does not know what has changed, or the
# checks have. Needs the compile commands of build/.
set -eu
cd "$(dirname "$0")/.."
command -v clang-tidy >/dev/null || { echo 'lint.sh: no clang-tidy; make setup installs it' >&2; \
    exit 1; }

all() {
    find src examples bench -name '*.c'
}

# of these paths, what differs from the commit, and still exists
changed() {
    git diff --name-only --diff-filter=d "$since" -- "$@"
    git ls-files --others --exclude-standard -- "$@"
}

some() {
    changed 'src/*.c' 'examples/*.c' 'bench/*.c'
    for header in $(changed 'src/*.h' 'include/*.h' 'examples/*.h' 'bench/*.h'); do
        all | xargs grep -l "#include [\"<]\(.*/\)\?${header##*/}[\">]" | head -n 1
    done
}

since=
[ "${1-}" != --changed ] || since=$(git rev-parse --quiet --verify HEAD~10 2>/dev/null) || since=
if [ -z "$since" ] || [ -n "$(changed .clang-tidy scripts/lint.sh)" ]; then
    files=$(all)
else
    files=$(some | sort -u)
fi
echo "$files" |
    xargs -r -n 10 -P "${JOBS:-$(nproc)}" clang-tidy --quiet -p build >build/lint.log 2>&1 || {
    grep -v 'warnings* generated' build/lint.log
    exit 1
}
