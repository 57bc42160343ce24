#!/bin/sh
# What the documents and the help show: commands whose options exist, links that lead somewhere,
# lines that are not too wide, and a first summary like today's.
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

joined() { # DOCUMENT: its lines, those that end with a backslash with the next one
    sed -e :join -e '/\\$/{' -e N -e 's/\\\n *//' -e tjoin -e '}' "$1"
}

P=jacobi # in pages of results: the programs of the page
{
    # in code of the documents: "    $ farfault ..." and lines between ``` and ```
    for document in "$source/README.md" "$source"/docs/*.md; do
        joined "$document" | sed -n -e 's/^    \$ farfault \(.*\)/\1/p' \
            -e '/^```/,/^```/s/^\(\$ \)\{0,1\}farfault \(.*\)/\2/p'
    done
    for document in "$source"/docs/results/*.md; do
        joined "$document" |
            sed -n -e 's/SYSTEM/keep/' -e 's, -- [^ ]*, ./program,' \
                -e 's/^    farfault \(.*\)/\1/p'
    done
    "$farfault" --help | sed -n 's/^  farfault \(.*\)/\1/p'
    for command in run compare sim list record replay import export top probe repro train \
        predict; do
        "$farfault" "$command" --help | sed -n 's/^  farfault \(.*\)/\1/p'
    done
} | sed -e 's/  *#.*//' -e 's/ [&|<>].*//' >commands
[ "$(wc -l <commands)" -gt 60 ] || fail "few commands found: $(cat commands)"
while IFS= read -r line; do
    parse "$line"
done <commands

# ---- links between documents, with the headings that they name

documents=$(cd "$source" && ls README.md docs/*.md docs/results/*.md)
for document in $documents; do # what a link can lead to: headings, as they are where it is shown
    sed -e '/^```/,/^```/d' -e 's/.*<a id="\([^"]*\)">.*/# \1/' -e '/^##* /!d' -e 's/^##* //' \
        "$source/$document" | tr A-Z a-z |
        sed -e 's/[^a-z0-9 _-]//g' -e 's/ /-/g' -e "s,^,$document#,"
done >headings
for document in $documents; do # "DOCUMENT TARGET", the target from the root of the repository
    name=${document##*/}
    sed -n 's/](\([^) ]*\))/\n\1\n/gp' "$source/$document" |
        grep -E '^[A-Za-z./_-]*(#[a-z0-9_-]+)?$' | grep '[./#]' |
        sed -e "s,^#,$name#," -e "s,^,${document%"$name"}," -e :up -e 's,[^/]*/\.\./,,' -e tup \
            -e "s,^,$document ,"
done >links
[ "$(wc -l <links)" -gt 100 ] || fail "few links found: $(cat links)"
sed 's/#.*//' links | sort -u | while read -r document target; do
    [ -e "$source/$target" ] || echo "$document: nothing at $target"
done >broken
awk 'NR == FNR { known[$0]; next }
     $2 ~ /\.md#/ && !($2 in known) { print $1 ": no heading of " $2 }' headings links >>broken
[ ! -s broken ] || fail "links that lead nowhere: $(cat broken)"

# ---- lines of 100 columns, but for tables and indented output; of results all, and 60 a page

wide() { # DOCUMENT: its lines of more than 100 columns
    LC_ALL=C.UTF-8 grep -nE '^.{101}' "$1"
}

for document in "$source/README.md" "$source/CHANGELOG.md" "$source"/docs/*.md; do
    sed '/^```/,/^```/d' "$document" >prose
    lines=$(wide prose | grep -vE '^[0-9]+:(\||    )')
    [ -z "$lines" ] || fail "$document has wide lines: $lines"
done
for document in "$source"/docs/results/*; do
    lines=$(wide "$document")
    [ -z "$lines" ] || fail "$document has wide lines: $lines"
    case $document in
    *.md) [ "$(wc -l <"$document")" -le 60 ] || fail "$document has more than 60 lines" ;;
    *.tsv) head -1 "$document" | grep -q '^# ' || fail "$document does not say what it has" ;;
    *) fail "$document is neither a page nor rows" ;;
    esac
done

# ---- the sample that docs/running.md begins with

ln -s "$atax" atax
sed -n '/^    \$ farfault run --memory 66% .\/atax/,/^$/s/^    //p' "$source/docs/running.md" \
    >sample
"$farfault" run --memory 66% ./atax --size 24M >out 2>printed || fail "atax: $(cat printed)"
for file in sample printed; do
    sed -n -e 's/^\(farfault: [a-z-]* on\) .*/\1/p' -e 's/^  \([a-z][a-z]*\) .*/\1/p' "$file" \
        >"$file.labels"
done
[ "$(wc -l <sample.labels)" -eq 11 ] || fail "sample: $(cat sample.labels)"
cmp -s sample.labels printed.labels || fail "not like the sample of docs/running.md: $(cat printed)"

finish
