/* Which bytes of memory a launch of a kernel can touch, found before it runs: an abstract
 * interpretation of the kernel with the launch's parameters, grid and blocks.
 *
 * What it says of an access holds for every thread of every run; what it cannot bound it calls
 * unknown. Values that come from memory are unknown, and so is where they point to. */
#ifndef FF_PTX_EXTENT_H
#define FF_PTX_EXTENT_H

#include "ptx/ptx.h"

struct ff__ptx_extents; /* what is known of a kernel before its launches */

enum ff__ptx_extent_kind {
    FF__PTX_EXACT,  /* each page that the interval touches is accessed */
    FF__PTX_BOUND,  /* no byte outside the interval is */
    FF__PTX_UNKNOWN /* anything may be */
};

#define FF__PTX_NO_PARAMETER UINT32_MAX

/* An instruction that accesses global memory, or may. */
struct ff__ptx_extent {
    uint32_t instruction; /* of the function's */
    uint32_t parameter;   /* the pointer's offset in the block of parameters, from which the address
                             is computed, or FF__PTX_NO_PARAMETER: from none, or several */
    enum ff__ptx_extent_kind kind;
    bool write;         /* it may read as well */
    bool never;         /* no thread comes there: the interval is empty */
    uint64_t low, high; /* the first byte, and behind the last; unless UNKNOWN */
};

struct ff__ptx_extent_launch {
    uint32_t grid[3], block[3];
    uint32_t offset[3];     /* of OpenCL's global IDs: %envreg3 to 5 */
    bool any_block;         /* nobody knows the blocks, only the threads: %envreg6 is unknown */
    uint32_t shared;        /* bytes of dynamic shared memory */
    const void *parameters; /* the block of parameters */
    size_t parameter_size;
};

/* Prepares the analysis of a kernel, which must live as long. -ENOTSUP: its branches cannot be
 * followed; -ENOMEM. */
int ff__ptx_extents_make(const struct ff__ptx_function *function, struct ff__ptx_extents **out);
void ff__ptx_extents_free(struct ff__ptx_extents *extents);

/* How many accesses the kernel has. */
uint32_t ff__ptx_extents_count(const struct ff__ptx_extents *extents);

/* Whether the accesses are all: not where functions are called or textures and surfaces are used,
 * which access what no interval says. */
bool ff__ptx_extents_complete(const struct ff__ptx_extents *extents);

/* Fills `out`, one for each access, in the order of the text. One caller at a time. */
void ff__ptx_extents_find(struct ff__ptx_extents *extents,
                          const struct ff__ptx_extent_launch *launch, struct ff__ptx_extent *out);

#endif
