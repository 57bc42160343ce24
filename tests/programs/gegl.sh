#!/bin/sh
# GEGL, the image operations of GIMP, on the device: under farfault an image becomes the same as
# plainly, byte for byte. Usage: gegl.sh FARFAULT
set -eu
. "$(dirname "$0")/third_party.sh"
needs gegl
# otherwise GEGL takes no CPU device; shown as what it is under farfault, too
export GEGL_USE_OPENCL=cpu

# image OPERATION...: of an image with 8 MiB for each colour
image() {
    echo "$*:"
    plain gegl -o plain.ppm -- gegl:plasma width=2048 height=1024 seed=7 "$@"
    managed '--system nvidia-1 --memory 8M --device-type cpu' \
        gegl -o managed.ppm -- gegl:plasma width=2048 height=1024 seed=7 "$@"
    cmp plain.ppm managed.ppm || wrong errors "$*: not the same image"
    rm -f plain.ppm managed.ppm
}

image gegl:brightness-contrast contrast=1.5 gegl:box-blur radius=20 gegl:gaussian-blur std-dev-x=6 \
    std-dev-y=6
image gegl:noise-reduction iterations=2 gegl:hue-chroma hue=40 gegl:vignette
image gegl:motion-blur-linear length=30 angle=40 gegl:alien-map gegl:value-invert
exit $bad
