/* The pool of device memory that RAPIDS programs allocate from: RMM 21.12's pool_memory_resource on
 * one stream (rmm/mr/device/detail/coalescing_free_list.hpp). An allocation gets the start of the
 * smallest free block that it fits in; what is given back joins its free neighbours. Nothing goes
 * back to the driver. */
#ifndef FF_WORKLOAD_GRAPH_POOL_H
#define FF_WORKLOAD_GRAPH_POOL_H

#include <stdbool.h>
#include <stdint.h>

#define FF__POOL_BLOCKS 64u  /* free ones at a time, at most */
#define FF__POOL_ALIGN  256u /* bytes: CUDA_ALLOCATION_ALIGNMENT */

/* Consecutive bytes of the pool. */
struct ff__pool_block {
    uint64_t offset, bytes;
};

struct ff__pool {
    struct ff__pool_block free[FF__POOL_BLOCKS]; /* by offset */
    uint32_t free_count;
    uint64_t peak; /* the first byte that no allocation has reached */
};

/* All of `bytes` is free. */
void ff__pool_init(struct ff__pool *pool, uint64_t bytes);

/* A block of at least `bytes`. -ENOSPC: no free block is large enough. */
int ff__pool_take(struct ff__pool *pool, uint64_t bytes, struct ff__pool_block *out);

/* -ENOSPC: more than FF__POOL_BLOCKS would be free. */
int ff__pool_give(struct ff__pool *pool, const struct ff__pool_block *block);

#endif
