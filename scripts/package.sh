#!/bin/sh
# Builds the Debian packages of the work tree as it is, and leaves them in build/package; lintian
# must find no error.
set -eu
cd "$(dirname "$0")/.."
scripts/setup.sh scripts/packages-package.txt
rm -rf build/package
mkdir -p build/package/source
git ls-files -z --cached --others --exclude-standard | tar --null -T - -c |
    tar -x -C build/package/source
(cd build/package/source && dpkg-buildpackage --no-sign --build=binary)
rm -rf build/package/source
lintian --fail-on error --allow-root build/package/*.changes
