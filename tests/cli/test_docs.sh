#!/bin/sh
# What the documents and the help show: commands whose options exist, links that lead somewhere, and a first summary like today's.
atax=$8
. "$(dirname "$0")/common.sh"

# ---- commands: with --help behind the options, each is parsed and not run

parse() { # COMMAND LINE, without its first word
    eval "set -- $1"
    [ "$1" != help ] || return 0
    ahead=true
    for word in "$@"; do
        shift
        case $ahead$word in
        true./*) # of run and record: from here on the words are the program's
            set -- "$@" --help
            ahead=false
            ;;
        esac
        set -- "$@" "$word"
    done
    [ $ahead = false ] || set -- "$@" --help
    "$farfault" "$@" >out 2>err </dev/null || fail "farfault $*: $(cat err)"
}

{
    # in code of the documents: "    $ farfault ..." and lines between ``` and ```
    for document in "$source/README.md" "$source"/docs/*.md; do
        sed -n -e 's/^    \$ farfault \(.*\)/\1/p' -e '/^```/,/^```/s/^\(\$ \)\{0,1\}farfault \(.*\)/\2/p' "$document"
    done
    "$farfault" --help | sed -n 's/^  farfault \(.*\)/\1/p'
    for command in run compare sim list record replay import export top probe repro train predict; do
        "$farfault" "$command" --help | sed -n 's/^  farfault \(.*\)/\1/p'
    done
} | sed -e 's/  *#.*//' -e 's/ [&|<>].*//' >commands
[ "$(wc -l <commands)" -gt 60 ] || fail "few commands found: $(cat commands)"
while IFS= read -r line; do
    parse "$line"
done <commands

# ---- links between documents

for document in "$source/README.md" "$source"/docs/*.md "$source"/docs/results/*.md; do
    folder=$(dirname "$document")
    for file in $(sed -n 's/](\([^)#:]*\)[^)]*)/\n\1\n/gp' "$document" | grep -E '^[A-Za-z./_-]+$' | grep '[./]'); do
        [ -e "$folder/$file" ] || fail "$document: nothing at $file"
    done
done

# ---- the sample that docs/running.md begins with

ln -s "$atax" atax
sed -n '/^    \$ farfault run --memory 66% .\/atax/,/^$/s/^    //p' "$source/docs/running.md" >sample
"$farfault" run --memory 66% ./atax --size 24M >out 2>printed || fail "atax: $(cat printed)"
for file in sample printed; do
    sed -n -e 's/^\(farfault: [a-z-]* on\) .*/\1/p' -e 's/^  \([a-z][a-z]*\) .*/\1/p' "$file" >"$file.labels"
done
[ "$(wc -l <sample.labels)" -eq 11 ] || fail "sample: $(cat sample.labels)"
cmp -s sample.labels printed.labels || fail "not like the sample of docs/running.md: $(cat printed)"

finish
