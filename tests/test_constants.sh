#!/bin/sh
# test_constants.sh ROOT: docs/results/constants-adaptive.tsv lists each constant and each parameter
# of our adaptive policies that is a number, with its value in the code, and says where it comes
# from. `way` of auto is no number, but a choice.
set -eu
cd "$1"
list=docs/results/constants-adaptive.tsv
code=$(awk '
    function show(name, value) {
        n = split(FILENAME, path, "/")
        printf "%s\t%s\t%s\n", path[n], name, value
    }
    /^#define +[A-Z_]+ +[(0-9]/ {
        name = $2
        sub(/^#define +[A-Z_]+ +/, "")
        sub(/ *\/\*.*/, "")
        gsub(/[()u]/, "")
        show(name, $0)
    }
    /"[a-z]+", FF_PARAM_INT,/ {
        split($0, word, "\"")
        sub(/.*FF_PARAM_INT, /, "")
        sub(/,.*/, "")
        if (word[2] != "way")
            show(word[2], $0)
    }' src/policy/adaptive/*.[ch] src/policy/common/bandit.h src/policy/common/reserve.c)
[ "$(echo "$code" | wc -l)" -ge 40 ] || { echo "too few constants were found: $code" >&2; exit 1; }
rows=$(grep -vE '^#|^file	' "$list")
differ=$({ echo "$code"; echo "$rows" | cut -f1-3; } | sort | uniq -u)
[ -z "$differ" ] || { printf 'in the code, or %s, alone:\n%s\n' "$list" "$differ" >&2; exit 1; }
unsaid=$(echo "$rows" | grep -vE '	(derived|format|measured|before|none)	.' || true)
[ -z "$unsaid" ] || { printf 'say where these come from:\n%s\n' "$unsaid" >&2; exit 1; }
