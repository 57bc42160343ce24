/* farfault/view.h - what a policy sees: where every page is, and what is free.
 *
 * Ids of blocks, ranges and tiers are dense: arrays are indexed by them. */
#ifndef FARFAULT_VIEW_H
#define FARFAULT_VIEW_H

#include <farfault/mask.h>
#include <stddef.h>

#define FF_NONE UINT32_MAX /* no block, range, launch or tier */

/* Memory of a device is allocated in chunks of 2 MiB and leaves of 64 KiB. */
#define FF_CHUNK_LEAVES (FF_BLOCK_PAGES / FF_LEAF_PAGES)

/* Execution IDs: launches of the same kernel with the same arguments have the same. The engine
 * knows FF_LAUNCH_SLOTS of them; one more takes the slot of the one launched longest ago, which is
 * forgotten. A policy may keep an array by slot, and must then compare the ID. */
#define FF_LAUNCH_SLOTS (1u << 20)
static inline uint32_t ff_launch_slot(uint32_t launch) {
    return launch % FF_LAUNCH_SLOTS;
}

/* Tiers: where a page can live. The host is 0, device i is 1 + i (NVIDIA: CPU id 0, GPUs after
 * it). */
#define FF_TIER_HOST 0u
#define FF_TIERS_MAX 9u
static inline uint32_t ff_tier_of_device(uint32_t device) {
    return device + 1;
}

/* A block: the pages of one 2 MiB window of the managed address space that belong to one range. */
struct ff_block {
    uint32_t range;      /* FF_NONE: no range here */
    uint16_t page_count; /* 1..512 */
    uint16_t lead;       /* pages of the 2 MiB window before the block's first page */
};

/* A range: one allocation, `page_count` pages from the block `first_block` on. */
struct ff_range {
    uint32_t first_block, block_count;
    uint64_t page_count;
    uint32_t home_tier; /* the device that last used it: faults bring its pages there */
    uint32_t users; /* bit t: its home is tier t, or pages of it have come there since it is not */
};

/* A page of a block. */
struct ff_page {
    uint32_t block, page;
};

/* Which pages of a block a tier has. */
struct ff_tier_pages {
    struct ff_mask resident; /* a host bit beside a device bit: the host still has a copy */
    struct ff_mask remote;   /* absent pages that the tier uses from where they are */
};

#pragma GCC diagnostic push
/* C++ has no array of unknown length at a struct's end */
#pragma GCC diagnostic ignored "-Wpedantic"
/* What is known of a block's pages: one record a block, so that a block that is touched alone takes
 * one page of memory, and one entry of the processor's TLB. All zero: nothing is anywhere. What
 * every miss looks at lies together, from `evicted` on. */
struct ff_facts {
    /* Pages that the application does not use at present, and whose content it will not ask for
     * again (DeepUM, section 5.2: inactive blocks of an allocator). */
    struct ff_mask inactive;
    struct ff_mask evicted;        /* have not come back since */
    uint32_t memory[FF_TIERS_MAX]; /* by tier; not 0: the block holds memory there */
    uint8_t busy;                  /* at work as a whole, not to be evicted now */
    uint8_t pinned;                /* not to leave now, if anything else can */
    struct ff_tier_pages tier[];   /* [tier_count] */
};
#pragma GCC diagnostic pop

/* What moving costs in one direction between two tiers, measured or modelled. */
struct ff_link_cost {
    uint64_t latency_ns;       /* of a transfer, before its first byte */
    uint64_t bytes_per_second; /* of large transfers; never 0 between two tiers */
    uint64_t access_ps; /* for which a remote access occupies it; 0: there is no remote access */
};

/* What a device lends to evictions of other devices, in pages. All zero: nothing. */
struct ff_lending {
    uint64_t limit;        /* that may be lent */
    uint64_t lent;         /* that hold blocks of other devices */
    uint64_t removable;    /* of those lent: the host has the same content */
    uint64_t writing_back; /* of those lent: being copied to the host */
    bool guests_only;      /* the device is another program's: nothing else lies there */
};

/* When ranges and their pages were last used on a tier, as far as the backend tracks that
 * (FF_SEES_SAMPLES); both NULL where it does not. An arrival counts as a use. The numbers of the
 * pages of a range can be compared with each other, and mean nothing else. 0: no use is known. */
struct ff_last_uses {
    const uint64_t *range; /* [range] time in ns */
    const uint32_t *page;  /* [block * FF_BLOCK_PAGES + page]; may have FF_PAGE_UNUSED set */
};

/* The number is that of the page's arrival; it has not been used since. */
#define FF_PAGE_UNUSED 0x80000000u

/* What the engine looks up when a policy asks for it; see the functions of struct ff_view. */
struct ff_memory_hooks {
    uint64_t (*free_pages)(const void *state, uint32_t tier);
    uint32_t (*granule)(const void *state, uint32_t tier, uint32_t block);
    uint32_t (*mates)(const void *state, uint32_t tier, uint32_t block,
                      uint32_t mates[FF_CHUNK_LEAVES]);
};

struct ff_memory {
    const struct ff_memory_hooks *hooks;
    const void *state;
};

struct ff_forecast_hooks;

/* The policy that predicts next uses; no hooks: there is none. */
struct ff_forecast {
    const struct ff_forecast_hooks *hooks;
    const void *state;
};

/* Who met the latest far faults of a block, as the fault packets of a GPU say: the uTLB that
 * missed, which two neighbouring SMs share; on a software device the thread. A fault on the same
 * page by the same one is noted once. */
#define FF_LATEST_FAULTS 16u
struct ff_latest_faults {
    uint32_t count; /* of all so far: the latest is at (count - 1) % FF_LATEST_FAULTS */
    uint32_t thread[FF_LATEST_FAULTS];
    uint16_t page[FF_LATEST_FAULTS];
};

/* Read-only and valid during one hook call. All arrays are indexed by dense ids. */
struct ff_view {
    uint64_t now_ns;
    uint32_t tier_count;
    uint32_t block_limit; /* block ids are below it */
    const struct ff_block *blocks;
    const struct ff_range *ranges;
    const unsigned char *facts; /* see ff_view_facts() */
    size_t facts_size;
    size_t coming_at; /* where in a record the mask of ff_view_coming() is; 0: there is none */
    /* Pages that an eviction frees at least: 512 where a device gives its memory to blocks as a
     * whole, 16 where it gives them 64 KiB at a time, 1 where single pages leave. */
    uint32_t unit;
    struct ff_memory memory; /* see ff_view_free_pages(), ff_view_granule(), ff_view_mates() */
    uint64_t capacity[FF_TIERS_MAX]; /* by tier, in pages; 0 for the host: no limit */
    uint64_t allocated;              /* pages of all ranges, wherever they are */
    struct ff_forecast forecast;     /* of the prefetch policy; see extensions.h */
    uint64_t fault_ns; /* what a far fault costs alone, without its transfer; never 0 */
    /* The processors that run the program's kernels also copy what is migrated, as on a software
     * device whose link is not paced: what a transfer takes, the kernels lack, and nothing is
     * gained by overlapping the two. */
    bool copies_on_processors;
    /* Costs are those of whole blocks, each of which comes in one piece, as on any software device:
     * a part of a block costs several times its share. */
    bool parts_cost_more;
    const struct ff_link_cost *links;             /* [from * tier_count + to] */
    const struct ff_lending *lending;             /* [tier] */
    struct ff_last_uses last_uses[FF_TIERS_MAX];  /* by tier */
    const struct ff_latest_faults *latest_faults; /* [block]; NULL without FF_SEES_SHARERS */
};

/* What moving costs from one tier to another. */
static inline const struct ff_link_cost *ff_view_link(const struct ff_view *view, uint32_t from,
                                                      uint32_t to) {
    return &view->links[from * view->tier_count + to];
}

/* What so many faults on the device cost, each with a transfer from the host, that bring so many
 * pages in all; ns. */
static inline uint64_t ff_view_faults_ns(const struct ff_view *view, uint32_t tier, uint64_t faults,
                                         uint64_t pages) {
    const struct ff_link_cost *link = ff_view_link(view, FF_TIER_HOST, tier);
    return faults * (view->fault_ns + link->latency_ns) +
           pages * FF_PAGE_SIZE * 1000000000 / link->bytes_per_second;
}

static inline const struct ff_facts *ff_view_facts(const struct ff_view *view, uint32_t block) {
    return (const struct ff_facts *)(const void *)(view->facts + block * view->facts_size);
}

/* The block's pages that are on their way to a device while others leave or follow. None where the
 * moves of a block are one at a time. */
static inline struct ff_mask ff_view_coming(const struct ff_view *view, uint32_t block) {
    const unsigned char *facts = view->facts + block * view->facts_size;
    return view->coming_at ? *(const struct ff_mask *)(const void *)(facts + view->coming_at)
                           : __extension__(struct ff_mask){{0}};
}

static inline const struct ff_mask *ff_view_resident(const struct ff_view *view, uint32_t tier,
                                                     uint32_t block) {
    return &ff_view_facts(view, block)->tier[tier].resident;
}

/* Pages of the block that are on the tier or on their way there. */
static inline struct ff_mask ff_view_expected(const struct ff_view *view, uint32_t tier,
                                              uint32_t block) {
    struct ff_mask coming = ff_view_coming(view, block);
    return ff_mask_or(ff_view_resident(view, tier, block), &coming);
}

/* Free memory of the tier in pages, however it is allocated. */
static inline uint64_t ff_view_free_pages(const struct ff_view *view, uint32_t tier) {
    return view->memory.hooks->free_pages(view->memory.state, tier);
}

/* The granule of the block's memory on the tier: 1, FF_LEAF_PAGES or FF_BLOCK_PAGES; if it holds
 * none, what it would get without advice. */
static inline uint32_t ff_view_granule(const struct ff_view *view, uint32_t tier, uint32_t block) {
    return view->memory.hooks->granule(view->memory.state, tier, block);
}

/* The blocks that lose memory when `block`, which holds memory on the tier, leaves for
 * one that takes a whole chunk: all that have leaves in its chunk. Returns how many there are; a
 * block in 2 MiB of more than 31 leaves is alone. */
static inline uint32_t ff_view_mates(const struct ff_view *view, uint32_t tier, uint32_t block,
                                     uint32_t mates[FF_CHUNK_LEAVES]) {
    return view->memory.hooks->mates(view->memory.state, tier, block, mates);
}

/* Whether the block holds memory on the tier. */
static inline bool ff_view_holds(const struct ff_view *view, uint32_t tier, uint32_t block) {
    return ff_view_facts(view, block)->memory[tier] != 0;
}

/* Whether the engine would accept `block`, or what is resident of it, as a victim on `tier` now. */
static inline bool ff_view_evictable(const struct ff_view *view, uint32_t tier, uint32_t block) {
    const struct ff_facts *facts = ff_view_facts(view, block);
    return facts->memory[tier] != 0 && !facts->busy &&
           (view->unit > 1 || !ff_mask_empty(&facts->tier[tier].resident));
}

/* Whether the page has memory on the tier; in larger units, its block. */
static inline bool ff_view_holds_page(const struct ff_view *view, uint32_t tier,
                                      struct ff_page page) {
    return view->unit > 1 ? ff_view_holds(view, tier, page.block)
                          : ff_mask_test(ff_view_resident(view, tier, page.block), page.page);
}

/* How many different threads met the block's latest faults: its sharing degree (ARIADNE). 0 where
 * that cannot be seen. */
static inline uint32_t ff_view_sharers(const struct ff_view *view, uint32_t block) {
    const struct ff_latest_faults *latest = view->latest_faults ? &view->latest_faults[block] : 0;
    uint32_t sharers = 0, kept = 0;
    if (latest)
        kept = latest->count < FF_LATEST_FAULTS ? latest->count : FF_LATEST_FAULTS;
    for (uint32_t i = 0; i < kept; i++) {
        uint32_t before = 0;
        while (latest->thread[before] != latest->thread[i])
            before++;
        sharers += before == i;
    }
    return sharers;
}

/* All pages of the block. */
static inline struct ff_mask ff_view_pages(const struct ff_view *view, uint32_t block) {
    return ff_mask_of_run(0, view->blocks[block].page_count);
}

#endif
