#!/bin/sh
# install.sh CMAKE BUILD PREFIX: installs what is built there (below DESTDIR), and lists in
# BUILD/install_folders.txt what folders that has made, which uninstall.sh removes again. Folders
# that are deeper are farfault's own.
set -eu
list=$2/install_folders.txt
above=${DESTDIR:-}$3
before=$(mktemp)
trap 'rm -f "$before"' EXIT

folders() {
    [ ! -d "${DESTDIR:-}$1" ] || find "${DESTDIR:-}$1" -maxdepth 3 -type d | LC_ALL=C sort
}
folders "$3" >"$before"
while [ ! -d "$above" ]; do
    echo "$above" >>"$list"
    above=$(dirname "$above")
done
"$1" --install "$2" --prefix "$3"
folders "$3" | LC_ALL=C comm -13 "$before" - >>"$list"
