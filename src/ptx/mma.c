#include "ptx/mma.h"

void ff__ptx_mma(uint32_t shape, struct ff_ptx_lanes *lanes) {
    (void)shape;
    (void)lanes;
}

void ff__ptx_ldmatrix(uint32_t shape, struct ff_ptx_lanes *lanes) {
    (void)shape;
    (void)lanes;
}
