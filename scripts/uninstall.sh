#!/bin/sh
# uninstall.sh MANIFEST: removes what an installation has put there (below DESTDIR), and the folders
# of farfault that are empty then.
set -eu
[ -f "$1" ] || { echo "uninstall.sh: no $1; make install writes it" >&2; exit 1; }
while IFS= read -r file || [ -n "$file" ]; do
    rm -f "${DESTDIR:-}$file"
    folder=$(dirname "${DESTDIR:-}$file")
    while [ -n "${folder##*/}" ] && echo "$folder" | grep -q '/farfault\(/\|$\)'; do
        rmdir "$folder" 2>/dev/null || break
        folder=$(dirname "$folder")
    done
done <"$1"
