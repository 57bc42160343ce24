/* The truth about where every page is: ranges, blocks, residency, device memory, statistics.
 *
 * The managed address space is cut into windows of 2 MiB; the window's number is the block's id,
 * so that an address finds its block by a shift. A window belongs to one range only. All state
 * lies in flat arrays indexed by block id, as large as the address space and paid for as touched:
 * `blocks`, 8 bytes a window, written when a range is made, and all else of a block in one record
 * (struct ff_facts, struct ff__page_facts). Records of free windows are zero.
 *
 * Residency, per page of a block:
 *   a device bit         the page is in that device's memory; at most one device has it
 *   and a host bit       the host still holds a copy, which may be out of date: an eviction finds
 *                        out and copies what changed
 *   only the host bit    the page is on the host
 *   no bit               the page has no content yet and reads as zeros
 *
 * The caller serializes; nothing here blocks, and only removing a large range calls the system. */
#ifndef FF_SPACE_SPACE_H
#define FF_SPACE_SPACE_H

#include <farfault/farfault.h>
#include <farfault/policy.h>

#include "space/frames.h"

/* The end of a block's record, behind the tiers: only where accesses are seen, or several jobs of a
 * block may be under way. */
struct ff__page_facts {
    struct ff_mask dirty;   /* written to since they came; where accesses are seen */
    struct ff_mask unused;  /* prefetched, and not accessed since; where accesses are seen */
    struct ff_mask coming;  /* on their way to a device; where jobs of a block overlap */
    struct ff_mask leaving; /* on their way from one; likewise */
};

/* Bytes of a record without that end. */
static inline size_t ff__facts_size(uint32_t tier_count) {
    return sizeof(struct ff_facts) + tier_count * sizeof(struct ff_tier_pages);
}

struct ff__space {
    uint64_t base; /* address of block 0, 2 MiB aligned */
    uint32_t block_limit, tier_count;
    struct ff_block *blocks; /* [block]; page_count 0: no block here */
    struct ff_range *ranges; /* [range]; block_count 0: unused id */
    unsigned char *facts;    /* [block] of facts_size bytes: struct ff_facts */
    size_t facts_size;       /* as in struct ff_view */
    size_t page_facts_at;    /* where in a record its struct ff__page_facts is; 0: there is none */
    uint32_t whole_leaves;   /* blocks of so many leaves take a whole chunk */
    uint64_t most;           /* pages that a device was made with */
    uint64_t capacity[FF_TIERS_MAX];        /* of these, what may be allocated */
    uint64_t used[FF_TIERS_MAX];            /* pages of all ranges that the tier is a user of */
    struct ff__frames frames[FF_TIERS_MAX]; /* [tier] of devices of chunks; zero elsewhere */
    uint32_t range_limit;                   /* range ids below it were used at some time */
    uint32_t *free_ranges;                  /* stack of range ids to use again */
    uint32_t free_range_count;
    struct ff__hole *holes; /* free windows, by address; see space.c */
    uint32_t hole_count;
    struct ff_stats stats;
};

/* `memory`: pages of each device, of which `chunks` are whole chunks that blocks get. `spare`:
 * chunks beyond the memory. `detailed`: records have struct ff__page_facts. -EINVAL, -ENOMEM. */
int ff__space_init(struct ff__space *space, uint64_t base, uint64_t address_space, uint32_t devices,
                   uint64_t memory, uint64_t chunks, uint32_t spare, bool detailed);
void ff__space_fini(struct ff__space *space);

/* Leaves that a block takes as a run. */
static inline uint32_t ff__space_leaves(const struct ff__space *space, uint32_t block) {
    uint32_t leaves = ff__frames_leaves(space->blocks[block].page_count);
    return leaves < space->whole_leaves ? leaves : FF_CHUNK_LEAVES;
}

/* Finds windows for `page_count` pages whose first page is `lead` pages into its window (0 but
 * for tests), and makes their blocks. -EINVAL: no pages. -ENOMEM: no run of windows is free. */
int ff__range_add(struct ff__space *space, uint64_t page_count, uint32_t lead, uint32_t home_tier,
                  uint32_t *range);

/* Kernels will use the range on this tier, and on no other for now. */
void ff__range_set_home(struct ff__space *space, uint32_t range, uint32_t tier);

/* Pages of the range come to the tier. */
static inline void ff__range_use(struct ff__space *space, uint32_t range, uint32_t tier) {
    struct ff_range *r = &space->ranges[range];
    if (r->users >> tier & 1)
        return;
    r->users |= 1u << tier;
    space->used[tier] += r->page_count;
}

/* All its blocks must be idle and hold no frames. */
void ff__range_remove(struct ff__space *space, uint32_t range);

/* The block an address lies in, FF_NONE if there is none; *page is the page in the block. */
uint32_t ff__space_find(const struct ff__space *space, uint64_t address, uint32_t *page);

/* The block's record: to be read where the space is const, else also to be changed. */
#define ff__facts(space, block)                                                                    \
    _Generic((space), const struct ff__space *: ff__facts_read, default: ff__facts_change)(space,  \
                                                                                           block)
#define ff__page_facts(space, block)                                                               \
    _Generic((space),                                                                              \
        const struct ff__space *: ff__page_facts_read,                                             \
        default: ff__page_facts_change)(space, block)

static inline struct ff_facts *ff__facts_change(struct ff__space *space, uint32_t block) {
    return (void *)(space->facts + block * space->facts_size);
}

static inline const struct ff_facts *ff__facts_read(const struct ff__space *space, uint32_t block) {
    return (const void *)(space->facts + block * space->facts_size);
}

static inline struct ff__page_facts *ff__page_facts_change(struct ff__space *space,
                                                           uint32_t block) {
    return (void *)(space->facts + block * space->facts_size + space->page_facts_at);
}

static inline const struct ff__page_facts *ff__page_facts_read(const struct ff__space *space,
                                                               uint32_t block) {
    return (const void *)(space->facts + block * space->facts_size + space->page_facts_at);
}

/* facts->memory[tier] is 1 + the frame that the block holds there. FF_NONE: it holds none. */
static inline uint32_t ff__facts_frame(const struct ff_facts *facts, uint32_t tier) {
    return facts->memory[tier] - 1;
}

static inline uint32_t ff__frame(const struct ff__space *space, uint32_t tier, uint32_t block) {
    return ff__facts_frame(ff__facts(space, block), tier);
}

/* FF_NONE: the block holds no memory there. Split: its leaves are in the tier's frames. */
static inline void ff__set_frame(struct ff__space *space, uint32_t tier, uint32_t block,
                                 uint32_t frame) {
    ff__facts(space, block)->memory[tier] = frame + 1;
}

static inline uint64_t ff__block_address(const struct ff__space *space, uint32_t block) {
    return space->base + ((uint64_t)block << FF_BLOCK_SHIFT) +
           (uint64_t)space->blocks[block].lead * FF_PAGE_SIZE;
}

static inline struct ff_mask ff__block_pages(const struct ff__space *space, uint32_t block) {
    return ff_mask_of_run(0, space->blocks[block].page_count);
}

/* The pages of the block that are on any device: present, so that touching them is no fault. */
struct ff_mask ff__block_present(const struct ff__space *space, uint32_t block);

/* The chunk in which the block, which holds memory on the tier, lies; see
 * ff__frames_chunk(). */
static inline uint32_t ff__space_chunk(const struct ff__space *space, uint32_t tier,
                                       uint32_t block) {
    return ff__frames_chunk(&space->frames[tier], ff__frame(space, tier, block), block);
}

/* Verifies what must hold at any time; 0, or -EUCLEAN with what is wrong. O(live blocks). Counts
 * the pages that each tier has. */
int ff__space_check(const struct ff__space *space, uint64_t resident[FF_TIERS_MAX],
                    struct ff_error *error);

#endif
