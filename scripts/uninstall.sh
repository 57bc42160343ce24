#!/bin/sh
# uninstall.sh MANIFEST: removes what an installation has put there (below DESTDIR), and the folders
# that are empty then and are farfault's or were made by install.sh, which lists them.
set -eu
[ -f "$1" ] || { echo "uninstall.sh: no $1; make install writes it" >&2; exit 1; }
folders=$(dirname "$1")/install_folders.txt
while IFS= read -r file || [ -n "$file" ]; do
    rm -f "${DESTDIR:-}$file"
    folder=$(dirname "${DESTDIR:-}$file")
    while [ -n "${folder##*/}" ] && echo "$folder" | grep -q '/farfault\(/\|$\)'; do
        rmdir "$folder" 2>/dev/null || break
        folder=$(dirname "$folder")
    done
done <"$1"
[ -f "$folders" ] || exit 0
# a folder comes after what is in it
LC_ALL=C sort -ru "$folders" | while IFS= read -r folder; do
    rmdir "$folder" 2>/dev/null || :
done
rm "$folders"
