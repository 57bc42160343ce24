#!/bin/sh
# man.sh FOLDER VERSION FARFAULT FARFAULTD TRACE_FORMAT.md HEADER...: writes every manual page below FOLDER: of commands from what
# their --help says, of headers from their comments, of the format of traces from its document.
set -eu
folder=$1 version=$2 farfault=$3 farfaultd=$4 format=$5
shift 5
here=$(dirname "$0")
rm -rf "$folder"
mkdir -p "$folder/man1" "$folder/man3" "$folder/man5"

# page NAME SUMMARY COMMAND...
page() {
    name=$1 summary=$2
    shift 2
    { echo '[SEE ALSO]'; see_also "$name"; } >"$folder/also"
    help2man --no-info --version-string="farfault $version" --name="$summary" --include="$folder/also" \
        "$here/help.sh $*" |
        sed -e "s/^\\.TH [^\"]*\"/.TH $(echo "$name" | tr a-z A-Z) \"/" \
            -e "/^\\.SH NAME/,/^\\.SH SYNOPSIS/s/^.* \\\\- /$(echo "$name" | sed 's/-/\\\\-/') \\\\- /" >"$folder/man1/$name.1"
}

see_also() {
    [ "$1" = farfault ] || echo '.BR farfault (1),'
    if [ "$1" = farfault ]; then
        "$here/options.sh" "$farfault" | sed -n 's/^command\t\([a-z]*\)\t.*/.BR farfault-\1 (1),/p' | grep -v 'farfault-help '
    fi
    echo '.BR farfaultd (1),'
    echo '.BR farfault.h (3),'
    echo '.BR farfault-trace (5)'
}

page farfault 'manages GPU unified virtual memory in user space' "$farfault"
page farfaultd 'lends idle memory of devices to programs under farfault' "$farfaultd"
"$here/options.sh" "$farfault" >"$folder/options"
while IFS="$(printf '\t')" read -r kind name summary; do
    [ "$kind" != command ] || [ "$name" = help ] || page "farfault-$name" "$summary" "$farfault" "$name"
done <"$folder/options"

for header in "$@"; do
    file=${header##*/}
    name=$file
    [ "$file" = farfault.h ] || name=farfault_$file
    awk -v header="$file" -v page="$name" -v version="$version" -f "$here/header.awk" "$header" >"$folder/man3/$name.3"
done

lowdown -s -Tman -M title=FARFAULT-TRACE -M section=5 -M source="farfault $version" -M volume='File Formats Manual' "$format" |
    awk 'NR == 1 { print "\047\\\" t" } # there are tables
         /^\.SH/ && !named { print ".SH NAME\nfarfault\\-trace \\- the format of recordings that farfault reads and writes\n.SH DESCRIPTION"; named = NR; next }
         NR == named + 1 { next } # the title, which is now the name
         /^\.TH/ { $0 = $0 "\n.ad l" } # narrow cells cannot be adjusted
         /^\.TS/, /^\.TE/ { gsub(/_/, "_\\:"); gsub(/\\e/, "\\:\\e") } # where a long word may be broken
         /^l l l l\.$/ { $0 = "lw(14n) lw(13n) lw(16n) lw(14n)." } # 80 columns in all
         { sub(/^\.SS/, ".SH"); sub(/^tab\(\|\) expand/, "tab(|)"); print }' >"$folder/man5/farfault-trace.5"
rm "$folder/also" "$folder/options"
: >"$folder/made"
