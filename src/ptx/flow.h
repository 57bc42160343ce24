/* The control flow of a function: blocks, live registers, where threads wait. */
#ifndef FF_PTX_FLOW_H
#define FF_PTX_FLOW_H

#include "ptx/arena.h"
#include "ptx/ptx.h"

struct ff__ptx_block {
    uint32_t first, end; /* instructions */
    uint32_t *successors;
    uint32_t successor_count;
    uint64_t *live; /* registers: at its start */
    uint64_t *writes;
    uint64_t *uses; /* before it writes them */
};

struct ff__ptx_flow {
    struct ff__ptx_arena *arena;
    const struct ff__ptx_function *function;
    struct ff__ptx_block *blocks; /* [block_count], in the order of the text */
    uint32_t block_count;
    uint32_t *block_of;      /* by instruction; also of the count: block_count */
    uint32_t register_words; /* 64-bit words of a set of registers */
    uint32_t block_words;    /* of a set of blocks, or of blocks and the end */
    bool warp_operations;    /* it has some: it advances by warps */
};

/* Blocks and live registers. 0, -ENOMEM or -ENOTSUP (its branches can not be followed). All lies in
 * `arena`. */
int ff__ptx_flow(const struct ff__ptx_function *function, struct ff__ptx_arena *arena,
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
