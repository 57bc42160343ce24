#!/bin/sh
# The compiler of translated modules in builds with ASan and UBSan: undefined behaviour in what the
# translator writes ends the test. -fwrapv, which comes before, makes overflow defined.
exec "${CC:-clang}" "$@" -O1 -fno-tree-vectorize -fno-sanitize-recover=all \
    -fsanitize=address,undefined,float-cast-overflow
