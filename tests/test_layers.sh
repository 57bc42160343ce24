#!/bin/sh
# test_layers.sh SRC: no folder includes one above it, the runtime knows a backend by its verbs
# alone, and the library does not train networks.
set -eu
cd "$1"
layers='base share space policy engine backend runtime daemon preload cli'
failed=0
above=" $layers "
for folder in $layers; do
    above=${above#* $folder}
    for higher in $above; do
        ! grep -rn "#include \"$higher/" "$folder" || failed=1
    done
done
! grep -rn '#include "backend/' runtime | grep -v '"backend/live.h"' || failed=1
! grep -rniE 'uffd|userfault' runtime || failed=1
# threads and clocks of policies are the engine's: struct ff_background
! grep -rnE '#include ("base/(thread|clock)\.h"|<(pthread|semaphore|threads|time)\.h>)' policy learn || failed=1
# the library is preloaded into users' programs: what only training needs stays with the command line
! grep -rnE '#include "learn/(train|blas)/' . | grep -vE '^\./(cli|learn/train|learn/blas)/' || failed=1
[ "$failed" = 0 ] || { echo 'the lines above know something that they should not' >&2; exit 1; }
