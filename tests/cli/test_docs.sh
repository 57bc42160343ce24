#!/bin/sh
# What the documents and the help show: commands whose options exist, links that lead somewhere,
# lines that are not too wide, and samples of output like today's. The programs and policies of the
# samples follow what common.sh is called with.
. "$(dirname "$0")/common.sh"

# ---- commands: with --help behind the options, each is parsed and not run

parse() { # COMMAND LINE, without its first word
    eval "set -- $1"
    [ "$1" != help ] || return 0
    command=$1 ahead=true
    for word in "$@"; do
        shift
        case $ahead$command$word in
        truerun./* | truerecord./*) # from here on the words are the program's
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
    for command in run compare sim list record replay import export report top probe \
        repro train predict doctor; do
        "$farfault" "$command" --help | sed -n 's/^  farfault \(.*\)/\1/p'
    done
} | sed -e 's/  *#.*//' -e 's/ [&|<>].*//' >commands
[ "$(wc -l <commands)" -gt 60 ] || fail "few commands found: $(cat commands)"
while IFS= read -r line; do
    parse "$line"
done <commands

# ---- links between documents, with the headings that they name

documents=$(cd "$source" && ls README.md CONTRIBUTING.md docs/*.md docs/results/*.md)
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

for document in "$source"/*.md "$source"/docs/*.md; do
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

# ---- samples: what "    $ COMMAND" of a document has below it is what the command prints

# Numbers and sizes are masked, and how wide columns are. After "..." the command prints more.
# Programs get less to do than the documents give them. Not run:
#   README.md   its table is that of `make run`, which takes minutes
#   results     each page has one command, which takes minutes or hours; rows keep what it printed

masked() { # FILE
    sed -e '${/^$/d}' -e 's/^avx[0-9]*:\|^portable:/CODE:/' -e 's/  */ /g' -e :again \
        -e 's/\(^\|[ (]\)[0-9][0-9.]*/\1N/' -e tagain -e 's/N [KMGT]i*B\b\|N B\b/SIZE/g' "$1"
}

labels() { # FILE: of a live run, whose numbers decide which buffers, places and hints it names
    sed -n -e '/^  faults at /d' -e 's/^\(farfault: [a-z-]* on\) .*/\1/p' \
        -e 's/^  \([a-z][a-z]*\) .*/\1/p' -e '/^ *\.\.\.$/p' "$1"
}

compare() { # HOW: the files "sample" and "printed"
    $1 sample >expected
    $1 printed >got
    if tail -1 expected | grep -q '^ *\.\.\.$'; then
        sed -i '$d' expected
        sed -i "$(($(wc -l <expected) + 1)),\$d" got
    fi
    cmp -s expected got
}

check_sample() { # DOCUMENT, with the files "command" and "sample"
    how=masked
    command=$(sed -e 's/  *#.*//' -e 's/ --size [0-9]*M/ --size 24M/' command)
    case $command in
    'farfault run '*) how=labels ;;
    esac
    case $command in
    'farfault record '*) ;; # whose trace the next sample replays
    *) [ -s sample ] || return ;;
    esac
    sh -c "$command" >printed 2>&1 </dev/null || fail "$1: $command: $(cat printed)"
    [ -s sample ] || return
    checked="$checked $1"
    compare $how || fail "$1: $command does not print its sample, but $(diff expected got)"
}

ln -s "$source/examples" examples
ln -s "$8" atax
ln -s "$9" jacobi
ln -s "${10}" stride.so
ln -s "${11}" clock.so
PATH=$scratch:$PATH
export POCL_CACHE_DIR="${POCL_CACHE_DIR:-${HOME:-$scratch}/.cache/pocl}" # compiled kernels
checked=
for document in README.md $(cd "$source" && ls docs/*.md); do
    rm -f sample.*
    joined "$source/$document" | awk '
        /^    \$ / {
            name = "sample." ++count
            blank = ""
            print substr($0, 7) >(name ".command")
            next
        }
        name && /^$/ { blank = blank "\n"; next }
        name && /^    / { print blank substr($0, 5) >name; blank = ""; next }
        { name = "" }'
    for number in $(seq "$(ls sample.*.command 2>/dev/null | wc -l)"); do
        cp "sample.$number.command" command
        cp "sample.$number" sample 2>/dev/null || : >sample
        check_sample "$document"
    done
done
[ "$(echo "$checked" | wc -w)" -ge 12 ] || fail "few samples found:$checked"

finish
