#!/bin/sh
# Makes the pictures of pages of farfault report in docs/pictures: of a recorded program in OpenCL,
# of a simulation, and of `make run`, which must have run; on a wide screen and on a narrow one, on
# white and on black. Needs chromium and imagemagick.
set -eu
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# picture PAGE NAME WIDTH HEIGHT SCHEME: 0 is dark, 1 is light. A window is at least 500 wide, so
# that the page is in a frame.
picture() {
    echo "<body style='margin:0'><iframe src='$1' style='width:$3px;height:$4px;border:0'>" \
        >"$scratch/frame.html"
    timeout 60 chromium --headless --no-sandbox --disable-gpu --hide-scrollbars \
        --user-data-dir="$scratch/profile" --blink-settings="preferredColorScheme=$5" \
        --virtual-time-budget=5000 --window-size="$(($3 > 500 ? $3 : 500)),$4" \
        --screenshot="$scratch/wide.png" "file://$scratch/frame.html" >/dev/null 2>&1
    convert "$scratch/wide.png" -crop "$3x$4+0+0" +repage +dither -colors 64 \
        "png8:docs/pictures/$2.png"
}

# pictures PAGE NAME
pictures() {
    picture "$1" "$2" 1280 900 1
    picture "$1" "$2-dark" 1280 900 0
    picture "$1" "$2-narrow" 400 900 1
    picture "$1" "$2-narrow-dark" 400 900 0
}

build/farfault record --system nvidia --memory 66% --output "$scratch/live.trace" \
    build/programs/hotspot --size=64M
build/farfault sim bert-base:iterations=3 --systems nvidia --memory 66% \
    --trace "$scratch/bert.trace" >/dev/null
for name in live bert; do
    build/farfault report "$scratch/$name.trace" --output "$scratch/$name.html"
    pictures "$scratch/$name.html" "report-$name"
done
pictures "$PWD/build/run.html" report-run
