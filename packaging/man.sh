#!/bin/sh
# man.sh FOLDER VERSION FARFAULT FARFAULTD TRACE_FORMAT.md HEADER...: writes every manual page below
# FOLDER: of commands from what their --help says, of headers from their comments, of the format of
# traces from its document.
set -eu
folder=$1 version=$2 farfault=$3 farfaultd=$4 format=$5
shift 5
here=$(dirname "$0")
rm -rf "$folder"
mkdir -p "$folder/man1" "$folder/man3" "$folder/man5"

# page_of HEADER: the name of its page
page_of() {
    case $1 in */farfault.h) echo farfault.h ;; *) echo "farfault_${1##*/}" ;; esac
}

# page NAME SUMMARY COMMAND...
page() {
    name=$1 summary=$2
    shift 2
    "$here/help.sh" "$@" --help |
        also=$(see_also "$name") awk -v name="$name" -v summary="$summary" -v version="$version" \
            -f "$here/page.awk" -f "$here/command.awk" >"$folder/man1/$name.1"
}

# see_also NAME: other pages; those of all commands only in farfault(1), of all headers only in
# those of headers
see_also() {
    {
        echo 'farfault (1)'
        [ "$1" != farfault ] || sed -n 's/^command\t\([a-z]*\)\t.*/farfault-\1 (1)/p' \
            "$folder/options" | grep -v 'farfault-help '
        echo 'farfaultd (1)'
        case $1 in *.h) pages=$headers ;; *) pages=farfault.h ;; esac
        for header in $pages; do echo "$header (3)"; done
        echo 'farfault-trace (5)'
    } | grep -v "^$1 " | sed -e 's/-/\\-/g' -e 's/^/.BR /' -e '$!s/$/,/'
}

# a heading begins a paragraph
without_empty() {
    awk '/^\.[LP]P$/ && last ~ /^\.(S[HS]|PP)/ { next } { print; last = $0 }'
}

headers=
for header in "$@"; do headers="$headers $(page_of "$header")"; done
"$here/options.sh" "$farfault" >"$folder/options"
page farfault 'manages GPU unified virtual memory in user space' "$farfault"
page farfaultd 'lends idle memory of devices to programs under farfault' "$farfaultd"
while IFS="$(printf '\t')" read -r kind name summary; do
    [ "$kind" != command ] || [ "$name" = help ] ||
        page "farfault-$name" "$summary" "$farfault" "$name"
done <"$folder/options"

for header in "$@"; do
    name=$(page_of "$header")
    also=$(see_also "$name") awk -v header="${header##*/}" -v page="$name" -v version="$version" \
        -f "$here/page.awk" -f "$here/header.awk" "$header" | without_empty >"$folder/man3/$name.3"
done

sed -E 's/\[([^]]*)\]\([^)]*\)/\1/g' "$format" | # names of documents, not links
    lowdown -s -Tman -M title=FARFAULT-TRACE -M section=5 -M source="farfault $version" -M \
        volume='File Formats Manual' |
    awk 'NR == 1 { print "\047\\\" t" } # there are tables
         /^\.SH/ && !named {
             print ".SH NAME\nfarfault\\-trace \\- the format of recordings that farfault reads " \
                 "and writes\n.SH DESCRIPTION"
             named = NR
             next
         }
         NR == named + 1 { next } # the title, which is now the name
         /^\.TH/ { $0 = $0 "\n.nh\n.nr HY 0\n.ad l" } # narrow cells cannot be adjusted
         # where a long word may be broken
         /^\.TS/, /^\.TE/ { gsub(/_/, "_\\:"); gsub(/\\e/, "\\:\\e") }
         /^l l l l\.$/ { $0 = "lw(14n) lw(13n) lw(16n) lw(14n)." } # 80 columns in all
         { gsub(/\\fC/, "\\fB"); sub(/^\.SS/, ".SH"); sub(/^tab\(\|\) expand/, "tab(|)"); print }' |
    without_empty >"$folder/man5/farfault-trace.5"
printf '.SH SEE ALSO\n%s\n' "$(see_also farfault-trace)" >>"$folder/man5/farfault-trace.5"
rm "$folder/options"
: >"$folder/made"
