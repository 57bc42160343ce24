/* What a kernel touches of its arguments, as a function of them and of the grid.
 *
 * The analysis (ptx/extent.h) answers for one launch. Here it is asked for launches with small
 * arguments and grids that cover them, and a polynomial of degree two at most is put through the
 * answers; it is shown if it gives the answers for other launches, too. That is a check, and no
 * proof: it says what the kernel does where grids cover the arguments, not where they do not. */
#ifndef FF_REPORT_PTX_EXTENTS_H
#define FF_REPORT_PTX_EXTENTS_H

#include "ptx/extent.h"

#define FF__EXTENT_BLOCK_X 32u /* threads of a block in all these launches */
#define FF__EXTENT_BLOCK_Y 8u

/* One or more instructions that touch the same. */
struct ff__code_extent {
    uint32_t argument; /* which pointer, from 0; FF__PTX_NO_PARAMETER: unknown */
    bool write;
    enum ff__ptx_extent_kind kind;
    /* Bytes from the pointer: the first, and behind the last, such as "4*arg2 + 128*gridDim.x";
     * NULL: they are unknown, or no such polynomial */
    char *low, *high;
};

/* Of a kernel that has been inlined. The caller frees *out with ff__code_extents_free(). Returns
 * how many there are; 0 with *out NULL: nothing can be known. *complete: there are no others. */
uint32_t ff__code_extents(const struct ff__ptx_function *function, struct ff__code_extent **out,
                          bool *complete);
void ff__code_extents_free(struct ff__code_extent *extents, uint32_t count);

#endif
