/* farfault/model.h - what only a modelled device has, besides what policy.h says.
 *
 * A policy that must see FF_SEES_ACCESSES, FF_SEES_INSTRUCTIONS or FF_SEES_FUTURE runs in the
 * simulator alone. The software device shows remote accesses (FF_SEES_REMOTE), as estimates: so
 * many for each time that a page is mapped to be used from the host. Time is modelled, too: hooks
 * take none by themselves. A decision that takes time says so in ff_advice.ready_ns: it is known,
 * and carried out, no sooner. */
#ifndef FARFAULT_MODEL_H
#define FARFAULT_MODEL_H

#include <farfault/policy.h>

/* When every page will be used: a recorded run of the same work, as positions in its sequence of
 * page accesses. Page p here is page p % 512 of block p / 512. */
struct ff_future {
    uint64_t page_count, length;
    const uint64_t *first;    /* [page_count + 1] where the uses of page p begin in `position` */
    const uint64_t *position; /* [length] page p's: [first[p], first[p + 1]), ascending */
    const uint64_t *order;    /* [length] the sequence itself: pages */
};

/* Of struct ff_policy_env. */
struct ff_model {
    const struct ff_future *future; /* NULL unless the backend shows FF_SEES_FUTURE */
};

enum ff_access_flags {
    FF_ACCESS_WRITE = 1u << 0,
    FF_ACCESS_MISS = 1u << 1,   /* the page was not there: a far fault */
    FF_ACCESS_REMOTE = 1u << 2, /* used over a link from where it is; no fault */
};

/* One access of one warp to one page; pc, sm and warp only where the backend shows instructions. */
struct ff_access {
    uint32_t block;
    uint16_t page;
    uint8_t tier;  /* the device that accesses */
    uint8_t flags; /* enum ff_access_flags, or-ed */
    uint32_t pc;
    uint16_t sm, warp; /* warp: its slot in the SM */
    uint32_t more;     /* so many more alike follow it, which are not shown */
};

/* Oldest first, hits and misses alike. */
struct ff_access_batch {
    const struct ff_access *items;
    uint32_t count;
    uint64_t instructions; /* of warps, so far; 0 where the backend does not show instructions */
};

struct ff_access_hooks {
    /* What it advises is carried out at once; evictors get no list (NULL). */
    void (*on_access)(void *state, const struct ff_view *view, const struct ff_access_batch *batch,
                      struct ff_advice_list *advice);
    bool remote_only; /* it is interested in remote accesses alone, and may be shown others */
};

/* Of a place policy. */
struct ff_host_hooks {
    /* Whether the host allocates memory for what is evicted to it in whole blocks, with one
     * allocation and one copy a block, instead of page by page as the NVIDIA driver does. */
    bool (*uses_large_pages)(const void *state);
};

#endif
