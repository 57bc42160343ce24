/* PyTorch's caching allocator (1.8.0, c10/cuda/CUDACachingAllocator.cpp), on one stream: a small and a
 * large pool of blocks, cut from segments that come from cudaMalloc. Addresses are made up and never
 * used twice. */
#ifndef FF_WORKLOAD_DNN_ALLOCATOR_H
#define FF_WORKLOAD_DNN_ALLOCATOR_H

#include <farfault/farfault.h>

#define FF__POOL_BLOCK_MIN     UINT64_C(512)        /* kMinBlockSize */
#define FF__POOL_SMALL_MAX     (UINT64_C(1) << 20)  /* kSmallSize: the most that is small */
#define FF__POOL_SMALL_SEGMENT (UINT64_C(2) << 20)  /* kSmallBuffer */
#define FF__POOL_LARGE_SEGMENT (UINT64_C(20) << 20) /* kLargeBuffer */
#define FF__POOL_LARGE_MIN     (UINT64_C(10) << 20) /* kMinLargeAlloc: from here on, a segment each */
#define FF__POOL_ROUND         (UINT64_C(2) << 20)  /* kRoundLarge */

struct ff__pool_block {
    uint64_t address, size;
    uint32_t segment;
    uint32_t before, after; /* neighbours in the segment, or FF__POOL_NONE */
    uint32_t left, right;   /* in the tree of free blocks */
    bool free;
};

#define FF__POOL_NONE UINT32_MAX

struct ff__pool_segment {
    uint64_t address, size;
    bool small, live;
};

struct ff__pool {
    struct ff__pool_block *blocks;
    uint32_t block_count, block_capacity, spare; /* spare: list of unused blocks, by `after` */
    struct ff__pool_segment *segments;
    uint32_t segment_count, segment_capacity;
    uint32_t free_root[2]; /* trees of free blocks by size, then address: large, small */
    uint64_t next_address;
    uint64_t limit; /* bytes of segments, at most: the device's memory; 0: none, as with UM */
    uint64_t reserved, reserved_peak, active, active_peak;
    /* What is told, in order; NULL: nobody listens. */
    void (*on_segment)(void *self, uint32_t segment, bool live);
    void (*on_block)(void *self, uint32_t block, bool active);
    void *self;
};

void ff__pool_init(struct ff__pool *pool, uint64_t limit);
void ff__pool_fini(struct ff__pool *pool);

/* A block of at least `bytes` > 0. -ENOSPC: not even after giving back all cached segments; -ENOMEM. */
int ff__pool_allocate(struct ff__pool *pool, uint64_t bytes, uint32_t *block);
/* The same out of what is cached only, and from a new segment only. */
int ff__pool_reuse(struct ff__pool *pool, uint64_t bytes, uint32_t *block);
int ff__pool_extend(struct ff__pool *pool, uint64_t bytes, uint32_t *block);
void ff__pool_release(struct ff__pool *pool, uint32_t block);

/* torch.cuda.empty_cache(): segments in which nothing is active go back. */
void ff__pool_empty_cache(struct ff__pool *pool);

/* The same for the same state, whatever way led to it. */
uint64_t ff__pool_state(const struct ff__pool *pool);

uint64_t ff__pool_round(uint64_t bytes);         /* to a size of blocks */
uint64_t ff__pool_segment_size(uint64_t rounded); /* what cudaMalloc is asked for */

#endif
