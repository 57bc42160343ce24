/* What the translator finds out about a function before it writes C: blocks and their order,
 * which registers live where, and where threads wait.
 *
 * A *suspend point* is an instruction at which threads wait for others. A *region* is the code
 * from one suspend point to the next ones, and also begins at *cuts*: blocks at which a thread only
 * gives others a turn, or that would otherwise be in many regions. */
#ifndef FF_PTX_FLOW_H
#define FF_PTX_FLOW_H

#include "ptx/arena.h"
#include "ptx/ptx.h"

struct ff__ptx_block {
    uint32_t first, end; /* instructions */
    uint32_t *successors;
    uint32_t successor_count;
    bool cut;
    uint64_t *live;    /* registers that are live at its start */
    uint64_t *defines; /* before they are used in it, or not used */
    uint64_t *uses;    /* before they are defined in it */
};

struct ff__ptx_region_plan {
    uint32_t start;   /* block */
    uint32_t suspend; /* instruction that precedes it, or FF__PTX_NONE: the start and cuts */
    uint64_t *blocks; /* set */
};

struct ff__ptx_flow {
    struct ff__ptx_arena *arena;
    const struct ff__ptx_function *function;
    struct ff__ptx_block *blocks; /* [block_count], in the order of the text */
    uint32_t block_count;
    uint32_t *block_of;      /* by instruction; also of the count: block_count */
    uint32_t register_words; /* 64-bit words of a set of registers */
    uint32_t block_words;
    struct ff__ptx_region_plan *regions;
    uint32_t region_count;
    uint32_t *region_of_suspend; /* by instruction; 0: it is no suspend point */
    uint32_t *region_of_cut;     /* by block */
    bool warp_operations;        /* it has some: it advances by warps */
};

struct ff__ptx_flow_options {
    bool cut_loops; /* at every back edge, not only where a loop may wait for another thread */
};

/* 0, -ENOMEM or -ENOTSUP (the function can not be cut in regions; `reason`). All lies in `arena`.
 */
int ff__ptx_flow(const struct ff__ptx_function *function,
                 const struct ff__ptx_flow_options *options, struct ff__ptx_arena *arena,
                 struct ff__ptx_flow *out);

/* Whether threads wait there for others. */
bool ff__ptx_suspends(const struct ff__ptx_instruction *instruction);

/* Registers that an instruction reads or writes, up to FF__PTX_MOST_REGISTERS each. */
#define FF__PTX_MOST_REGISTERS 96u
struct ff__ptx_uses {
    uint32_t reads[FF__PTX_MOST_REGISTERS], writes[FF__PTX_MOST_REGISTERS];
    uint32_t read_count, write_count;
};
void ff__ptx_uses(const struct ff__ptx_function *function,
                  const struct ff__ptx_instruction *instruction, struct ff__ptx_uses *out);

static inline bool ff__ptx_in(const uint64_t *set, uint32_t member) {
    return set[member / 64] >> (member % 64) & 1;
}
static inline void ff__ptx_put(uint64_t *set, uint32_t member) {
    set[member / 64] |= UINT64_C(1) << (member % 64);
}
static inline void ff__ptx_drop(uint64_t *set, uint32_t member) {
    set[member / 64] &= ~(UINT64_C(1) << (member % 64));
}

#endif
