/* PyTorch's caching allocator (1.8.0, c10/cuda/CUDACachingAllocator.cpp), on one stream: a small
 * and a large pool of blocks, cut from segments that come from cudaMalloc. Addresses are made up
 * and never used twice. */
#ifndef FF_WORKLOAD_DNN_ALLOCATOR_H
#define FF_WORKLOAD_DNN_ALLOCATOR_H

#include <farfault/farfault.h>

#define FF__CACHING_ROUND_SMALL   UINT64_C(512)        /* kMinBlockSize */
#define FF__CACHING_SMALL_MAX     (UINT64_C(1) << 20)  /* kSmallSize: the most that is small */
#define FF__CACHING_SMALL_SEGMENT (UINT64_C(2) << 20)  /* kSmallBuffer */
#define FF__CACHING_LARGE_SEGMENT (UINT64_C(20) << 20) /* kLargeBuffer */
#define FF__CACHING_LARGE_MIN                                                                      \
    (UINT64_C(10) << 20)                      /* kMinLargeAlloc: from here on, a segment each */
#define FF__CACHING_ROUND (UINT64_C(2) << 20) /* kRoundLarge */

struct ff__caching_block {
    uint64_t address, size;
    uint32_t segment;
    uint32_t before, after; /* neighbours in the segment, or FF__CACHING_NONE */
    uint32_t left, right;   /* in the tree of free blocks */
    bool free;
};

#define FF__CACHING_NONE UINT32_MAX

struct ff__caching_segment {
    uint64_t address, size;
    bool small, live;
};

struct ff__caching {
    struct ff__caching_block *blocks;
    uint32_t block_count, spare; /* spare: list of unused blocks, by `after` */
    struct ff__caching_segment *segments;
    uint32_t segment_count;
    uint32_t free_root[2]; /* trees of free blocks by size, then address: large, small */
    uint64_t next_address;
    uint64_t limit; /* bytes of segments, at most: the device's memory; 0: none, as with UM */
    uint64_t reserved, reserved_peak, active, active_peak;
    /* What is told, in order; NULL: not wanted. */
    void (*on_segment)(void *self, uint32_t segment, bool live);
    void (*on_block)(void *self, uint32_t block, bool active);
    void *self;
};

void ff__caching_init(struct ff__caching *pool, uint64_t limit);
void ff__caching_fini(struct ff__caching *pool);

/* A block of at least `bytes` > 0. -ENOSPC: not even after giving back all cached segments;
 * -ENOMEM. */
int ff__caching_allocate(struct ff__caching *pool, uint64_t bytes, uint32_t *block);
/* As ff__caching_allocate(): out of cached segments only, and from a new segment only. */
int ff__caching_reuse(struct ff__caching *pool, uint64_t bytes, uint32_t *block);
int ff__caching_extend(struct ff__caching *pool, uint64_t bytes, uint32_t *block);
void ff__caching_release(struct ff__caching *pool, uint32_t block);

/* torch.cuda.empty_cache(): segments in which nothing is active go back. */
void ff__caching_empty_cache(struct ff__caching *pool);

/* A hash of the state: equal for equal states, whatever way led to them. */
uint64_t ff__caching_state(const struct ff__caching *pool);

uint64_t ff__caching_round(uint64_t bytes);          /* to a size of blocks */
uint64_t ff__caching_segment_size(uint64_t rounded); /* what cudaMalloc is asked for */

#endif
