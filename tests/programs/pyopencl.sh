#!/bin/sh
# arrays.py with more arrays than the device has memory for: under farfault all results are right,
# as they are plainly. Usage: pyopencl.sh FARFAULT
set -eu
. "$(dirname "$0")/third_party.sh"
needs_python pyopencl python3-pyopencl

plain /usr/bin/python3 "$here/arrays.py"
managed '--system nvidia-1 --memory 16M' /usr/bin/python3 "$here/arrays.py"
same cat
exit $bad
