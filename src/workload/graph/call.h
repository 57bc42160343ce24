/* A program as a list of kernels in bulk, on buffers that it takes from a pool and gives back. */
#ifndef FF_WORKLOAD_GRAPH_CALL_H
#define FF_WORKLOAD_GRAPH_CALL_H

#include "workload/graph/pool.h"
#include "workload/model.h"

#define FF__CALL_KERNELS  4096u
#define FF__CALL_OPERANDS (4u * FF__CALL_KERNELS)

struct ff__call_kernel {
    const char *name;
    uint32_t first, count; /* operands */
    bool copies;           /* a copy engine does it */
    double traffic;        /* bytes of device memory */
};

struct ff__call {
    struct ff__pool pool;
    uint32_t kernel_count, operand_count;
    int status; /* of the first thing that failed: -ENOSPC: too many kernels, buffers or bytes */
    struct ff__call_kernel kernels[FF__CALL_KERNELS];
    struct ff__operand operands[FF__CALL_OPERANDS];
};

struct ff__pool_block ff__call_take(struct ff__call *call, uint64_t bytes);
void ff__call_give(struct ff__call *call, const struct ff__pool_block *buffer);

/* Begins a kernel, which has the operands that follow. */
void ff__call_begin(struct ff__call *call, const char *name);
void ff__call_use(struct ff__call *call, bool write, struct ff__operand operand);

/* A part of a buffer in order; a whole one. */
void ff__call_part(struct ff__call *call, const struct ff__pool_block *buffer, bool write,
                   uint64_t offset, uint64_t bytes);
void ff__call_stream(struct ff__call *call, const struct ff__pool_block *buffer, bool write);

/* A kernel that writes the first `bytes` of a buffer to another one; `by_engine`: a copy engine
 * does so. */
void ff__call_copy(struct ff__call *call, const char *name, const struct ff__pool_block *from,
                   const struct ff__pool_block *to, uint64_t bytes, bool by_engine);

/* Writes a whole buffer, to 256 parts of it in turn. */
void ff__call_scatter(struct ff__call *call, const struct ff__pool_block *buffer);

/* Sorts a buffer by numbers of 32 bits, with another one of its size: a pass for each byte, which
 * writes to 256 buckets. */
void ff__call_sort_radix(struct ff__call *call, const char *name,
                         const struct ff__pool_block *buffer);

/* Sorts `count` elements in several buffers by a comparison, with one more buffer of the size of
 * all: each pass merges pieces that are twice as long as before. */
void ff__call_sort_merge(struct ff__call *call, const char *name,
                         const struct ff__pool_block *const *buffers, uint32_t buffer_count,
                         uint64_t count);

#endif
