#!/bin/sh
# A browser draws every chart of the pages of farfault report, without an error, in a wide window
# and a narrow one.
# Usage: chromium.sh FARFAULT
set -eu
farfault=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
command -v chromium >/dev/null || { echo 'chromium.sh: no chromium; make stress installs it' >&2; \
    exit 1; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
bad=0

# draws PAGE WIDTH CHARTS: so many pictures, and no word on the browser's console
draws() {
    timeout 120 chromium --headless --no-sandbox --disable-gpu --user-data-dir="$scratch/profile" \
        --enable-logging=stderr --window-size="$2,900" --virtual-time-budget=5000 \
        --dump-dom "file://$scratch/$1" >dom 2>log
    charts=$(grep -o '<svg [^>]*role="img"' dom | wc -l)
    if [ "$charts" -ne "$3" ] || grep 'CONSOLE' log; then
        echo "FAILED: $1, $2 wide: $charts charts, not $3"
        bad=1
    else
        echo "ok: $1, $2 wide: $3 charts"
    fi
}

"$farfault" sim stream:size=8M --systems nvidia --memory 50% --trace run.trace >/dev/null
"$farfault" sim stream:size=4M,zipf:size=4M --systems demand,nvidia --json=results.json >/dev/null
for file in run.trace results.json; do
    "$farfault" report $file --output "${file%.*}.html"
done
for width in 1280 500; do
    draws run.html $width 6
    draws results.html $width 5
done
exit $bad
