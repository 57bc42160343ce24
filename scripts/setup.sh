#!/bin/sh
# setup.sh [LIST]: installs the Debian packages that farfault builds, runs and tests with
# (scripts/packages.txt), or those of another list; those that are missing only. As root or through
# passwordless sudo; otherwise prints the command and stops.
set -eu
cd "$(dirname "$0")/.."

missing=
for package in $(cat "${1:-scripts/packages.txt}"); do
    status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$status" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then
    as_root=
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    as_root=sudo
else
    echo "farfault needs packages that are not installed. Run:" >&2
    echo "    sudo apt-get update && sudo apt-get install -y --no-install-recommends$missing" >&2
    exit 1
fi
echo "installing:$missing"
$as_root apt-get update -qq
DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends $missing \
    >/dev/null
