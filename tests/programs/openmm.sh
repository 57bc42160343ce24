#!/bin/sh
# OpenMM's own test of its installation computes the forces in a protein with OpenCL, and compares
# them with those from its reference and its CPU code; plainly and under farfault they agree. Usage:
# openmm.sh FARFAULT
set -eu
. "$(dirname "$0")/third_party.sh"
needs_python openmm python3-simtk

# The OpenCL platform is a plug-in, without which the test succeeds, too.
verdict() { grep -E \
    '^(3 OpenCL|- Successfully computed forces|All differences are within tolerance)' "$1"; }

plain /usr/bin/python3 -m openmm.testInstallation
managed '--system nvidia-1 --memory 4M' /usr/bin/python3 -m openmm.testInstallation
same verdict
exit $bad
