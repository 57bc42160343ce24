/* farfault/policy.h - how to write a policy.
 *
 * A policy is a const table of hooks plus a block of state. It advises; the engine decides and
 * moves pages. A wrong policy can cost time, never data: advice that does not fit is dropped and
 * counted, and a page that is needed always comes. There are four kinds, each with its own
 * table:
 *
 *   prefetch   what to bring in, with a fault or ahead of it
 *   evict      which block leaves a full device
 *   place      to which tier it goes
 *   discard    which pages are dead and need no copy at all
 *
 * Rules for every hook:
 *   - it gets a read-only view of where every page is, and batches instead of single pages;
 *   - it does not allocate, lock, log, read a clock or keep a pointer from the view; the time is
 *     view->now_ns;
 *   - the engine calls at most one hook of an engine at a time, so state needs no locks;
 *   - a NULL hook means what its comment says.
 *
 * The hooks are a superset of what the NVIDIA driver offers its policies (prefetch before and
 * while walking the tree, chunk activated, chunk used, eviction prepared: gpu_ext, arXiv
 * 2512.12615), so a policy can move into a driver.
 *
 * examples/policy/ has a complete policy in one file; `farfault run --policy FILE.so` loads one. */
#ifndef FARFAULT_POLICY_H
#define FARFAULT_POLICY_H

#include <farfault/mask.h>
#include <stddef.h>

struct ff_error;

#define FF_POLICY_API 7u
#define FF_NONE       UINT32_MAX /* no block, range, launch or frame */

/* Memory of a device is handed out in roots of 2 MiB and leaves of 64 KiB. */
#define FF_ROOT_LEAVES (FF_BLOCK_PAGES / FF_LEAF_PAGES)

/* Execution IDs: launches of the same kernel with the same arguments have the same. The engine knows
 * FF_LAUNCH_SLOTS of them at a time; when there is one more, the one that was launched longest ago is
 * forgotten, and another ID gets its slot. A policy may keep an array by slot, and must then compare the ID:
 * what it keeps under another one is of a kernel that may never come again. */
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

/* What a policy must see, and what a backend can show. */
enum ff_visibility {
    FF_SEES_FAULTS = 1u << 0,
    FF_SEES_LAUNCHES = 1u << 1,
    FF_SEES_ACCESSES = 1u << 2,
    FF_SEES_INSTRUCTIONS = 1u << 3, /* PC, SM and warp of an access */
    FF_SEES_FUTURE = 1u << 4,       /* a recorded run of the same work */
};

/* ---- parameters ---- */

enum ff_param_type {
    FF_PARAM_INT,
    FF_PARAM_BOOL, /* 0, 1, on, off */
    FF_PARAM_SIZE, /* bytes, with units: 64K, 2M */
    FF_PARAM_NS,   /* a time in nanoseconds, with units: 500us, 1s */
    FF_PARAM_TEXT, /* empty by default; the value is its place in env->text. `max`: its length */
};

/* One declared parameter. A policy's table ends with a row whose name is NULL. */
struct ff_param {
    const char *name;
    enum ff_param_type type;
    int64_t standard, min, max; /* the value when nobody sets it, and the accepted range */
    const char *help;
};

#define FF_PARAMS_MAX 16

/* ---- the view ---- */

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

/* What the prefetch policy expects, for the policies of the other kinds: turns, which number the uses
 * of blocks on a device in the order in which they are expected. The number of the launch, counted
 * from the first on, is in the high 32 bits, the place within it in the low ones: a turn of launch
 * `turn >> 32`. Turns may be compared with each other and mean nothing else. */
#define FF_TURN_NEVER UINT64_MAX /* no use is expected */

struct ff_forecast {
    const void *state; /* the prefetch policy's */
    uint64_t (*next_turn)(const void *state, uint32_t tier, uint32_t block);
    uint64_t (*next_launch)(const void *state, uint32_t tier, uint32_t block);
    uint64_t (*this_turn)(const void *state, uint32_t tier);
    uint64_t (*taken_back)(const void *state, uint32_t tier);
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

/* What is known of a block's pages: one record a block, side by side in memory, so that a block that is
 * touched alone takes one page of memory, and one entry of the processor's TLB. All zero: nothing is
 * anywhere. What every miss looks at lies together, from `evicted` to `dirty`. */
struct ff_facts {
    /* Pages that the application does not use at present, and whose content it will not ask for again
     * (DeepUM, section 5.2: inactive blocks of an allocator). */
    struct ff_mask inactive;
    struct ff_mask evicted;        /* have not come back since */
    uint32_t memory[FF_TIERS_MAX]; /* by tier: 1 + the frame that the block holds there, or 0 */
    uint8_t busy;                  /* at work as a whole, not to be evicted now */
    uint8_t pinned;                /* not to leave now, if anything else can */
    struct ff_tier_pages tier[];   /* [tier_count] */
};

/* The end of the record, behind the tiers: only where memory is handed out by the page, or the backend shows
 * accesses. */
struct ff_page_facts {
    struct ff_mask dirty;   /* written to since they came; kept by who sees accesses */
    struct ff_mask unused;  /* prefetched, and not accessed since; kept by who sees accesses */
    struct ff_mask coming;  /* by page: on their way to a device, */
    struct ff_mask leaving; /* and away from one */
};

/* Bytes of a record without that end. */
static inline size_t ff_facts_size(uint32_t tier_count) {
    return sizeof(struct ff_facts) + tier_count * sizeof(struct ff_tier_pages);
}
_Static_assert(sizeof(struct ff_facts) + 2 * sizeof(struct ff_tier_pages) <= 512,
               "with one device, a live backend's records are at most 512 bytes");

/* FF_NONE while the block holds no memory there. */
static inline uint32_t ff_facts_frame(const struct ff_facts *facts, uint32_t tier) {
    return facts->memory[tier] - 1;
}

/* Read-only and valid during one hook call. All arrays are indexed by dense ids. */
struct ff_view {
    uint64_t now_ns;
    uint32_t tier_count;
    uint32_t block_limit; /* block ids are below it */
    const struct ff_block *blocks;
    const struct ff_range *ranges;
    const unsigned char *facts; /* see ff_view_facts() */
    size_t facts_size;
    size_t page_facts_at; /* where in a record its struct ff_page_facts is; 0: there is none */
    /* Memory is handed out by the page: an eviction may take a part of a block, and several moves of
     * one block may be under way. Otherwise by the block, and one at a time. */
    bool by_page;
    const uint32_t
        *free_roots[FF_TIERS_MAX]; /* by tier; by block: whole 2 MiB pieces nobody holds */
    const uint64_t *free_pages;    /* [tier]; by page: nobody's pages */
    /* By tier; by block: who holds the memory there. A root is 2 MiB of it; see ff_view_root_blocks() */
    const uint32_t *root_used[FF_TIERS_MAX]; /* [root] a bit for each leaf that is in use */
    const uint32_t
        *leaf_owner[FF_TIERS_MAX];   /* [root * FF_ROOT_LEAVES + leaf] the block that holds it */
    uint64_t capacity[FF_TIERS_MAX]; /* by tier, in pages; 0 for the host: no limit */
    /* In on_access only: so many accesses follow the last one in the same array. They have not
     * happened, and what they will find is not known; a policy may fetch what it will need for them. */
    uint32_t foreseen;
    uint64_t instructions; /* of warps, so far; 0 where the backend does not show instructions */
    struct ff_forecast forecast; /* no hooks: the prefetch policy foretells nothing */
};

static inline const struct ff_facts *ff_view_facts(const struct ff_view *view, uint32_t block) {
    return (const void *)(view->facts + block * view->facts_size);
}

/* By page: the block's pages that are on their way to a device. Otherwise none. */
static inline struct ff_mask ff_view_coming(const struct ff_view *view, uint32_t block) {
    const unsigned char *facts = view->facts + block * view->facts_size;
    return view->by_page
               ? ((const struct ff_page_facts *)(const void *)(facts + view->page_facts_at))->coming
               : (struct ff_mask){{0}};
}

/* The block's next expected use on the tier; FF_TURN_NEVER, too, where nothing is foretold. */
static inline uint64_t ff_view_next_turn(const struct ff_view *view, uint32_t tier,
                                         uint32_t block) {
    const struct ff_forecast *forecast = &view->forecast;
    return forecast->next_turn ? forecast->next_turn(forecast->state, tier, block) : FF_TURN_NEVER;
}

/* The launch of that turn, which is less work to find; FF_TURN_NEVER as above. */
static inline uint64_t ff_view_next_launch(const struct ff_view *view, uint32_t tier,
                                           uint32_t block) {
    const struct ff_forecast *forecast = &view->forecast;
    return forecast->next_launch ? forecast->next_launch(forecast->state, tier, block)
                                 : FF_TURN_NEVER;
}

/* Where the tier's work is now: what has an earlier turn is over. */
static inline uint64_t ff_view_this_turn(const struct ff_view *view, uint32_t tier) {
    const struct ff_forecast *forecast = &view->forecast;
    return forecast->this_turn ? forecast->this_turn(forecast->state, tier) : 0;
}

/* How often uses that had been foretold were taken back: as long as this is the same, a launch that was
 * named as a block's next one, and is later than the running one, will use the block. */
static inline uint64_t ff_view_taken_back(const struct ff_view *view, uint32_t tier) {
    const struct ff_forecast *forecast = &view->forecast;
    return forecast->taken_back ? forecast->taken_back(forecast->state, tier) : 0;
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

/* What nobody holds on the tier: pages by page, whole 2 MiB pieces by block. */
static inline uint64_t ff_view_free(const struct ff_view *view, uint32_t tier) {
    return view->by_page ? view->free_pages[tier] : *view->free_roots[tier];
}

/* By block: the blocks that hold leaves of the root, by address; a block's leaves are one run. Returns how
 * many there are. */
static inline uint32_t ff_view_root_blocks(const struct ff_view *view, uint32_t tier, uint32_t root,
                                           uint32_t blocks[FF_ROOT_LEAVES]) {
    const uint32_t *owner = view->leaf_owner[tier] + (size_t)root * FF_ROOT_LEAVES;
    uint32_t used = view->root_used[tier][root], count = 0;
    for (uint32_t leaf = 0; leaf < FF_ROOT_LEAVES; leaf++)
        if ((used >> leaf & 1) && (count == 0 || blocks[count - 1] != owner[leaf]))
            blocks[count++] = owner[leaf];
    return count;
}

/* By block: the blocks that leave when `block`, which holds memory on the tier, does: all that share its
 * root. Returns how many there are; a block of more than 31 leaves is alone. */
static inline uint32_t ff_view_root_mates(const struct ff_view *view, uint32_t tier, uint32_t block,
                                          uint32_t blocks[FF_ROOT_LEAVES]) {
    blocks[0] = block;
    if (view->blocks[block].page_count > (FF_ROOT_LEAVES - 1) * FF_LEAF_PAGES)
        return 1;
    uint32_t root = ff_facts_frame(ff_view_facts(view, block), tier) / FF_ROOT_LEAVES;
    return ff_view_root_blocks(view, tier, root, blocks);
}

/* Whether the block holds memory on the tier. */
static inline bool ff_view_holds(const struct ff_view *view, uint32_t tier, uint32_t block) {
    return ff_view_facts(view, block)->memory[tier] != 0;
}

/* Whether the engine would accept `block`, or by page what is resident of it, as a victim on `tier`
 * now. */
static inline bool ff_view_evictable(const struct ff_view *view, uint32_t tier, uint32_t block) {
    const struct ff_facts *facts = ff_view_facts(view, block);
    return facts->memory[tier] != 0 && !facts->busy &&
           (!view->by_page || !ff_mask_empty(&facts->tier[tier].resident));
}

/* Whether it would accept a page of it, or by block all of it. */
static inline bool ff_view_page_evictable(const struct ff_view *view, uint32_t tier,
                                          struct ff_page page) {
    const struct ff_facts *facts = ff_view_facts(view, page.block);
    return facts->memory[tier] != 0 && !facts->busy &&
           (!view->by_page || ff_mask_test(&facts->tier[tier].resident, page.page));
}

/* ---- what hooks are told ---- */

/* The faults of one batch that fall in one block, already without duplicates. */
struct ff_fault_group {
    uint32_t block;
    uint32_t tier;          /* where the pages are going */
    uint32_t launch;        /* execution ID of the kernel running there, FF_NONE if unknown */
    struct ff_mask faulted; /* never empty */
    struct ff_mask written; /* the faulted pages that were to be written */
    uint32_t thread;        /* who met the first of them: a thread, an SM; 0 if unknown */
};

enum ff_event_kind {
    FF_EVENT_FAULT,      /* block, page, tier, launch, thread: a far fault, as served */
    FF_EVENT_LAUNCH,     /* launch, tier: a kernel starts */
    FF_EVENT_LAUNCH_END, /* launch, tier: it has finished */
    FF_EVENT_EVICTED,    /* block, tier: it has left the device, or some of its pages have */
    FF_EVENT_NO_ROOM,    /* block, tier, launch: advice that found no room without harm */
};

struct ff_event {
    enum ff_event_kind kind;
    uint32_t tier, block, page;
    uint32_t launch;
    uint32_t thread; /* of a fault: as in struct ff_fault_group */
    uint64_t now_ns;
};

enum ff_access_flags {
    FF_ACCESS_WRITE = 1u << 0,
    FF_ACCESS_MISS = 1u << 1,   /* the page was not there: a far fault */
    FF_ACCESS_REMOTE = 1u << 2, /* used over a link from where it is */
};

/* One access of one warp to one page. Only where the backend shows accesses; pc, sm and warp only
 * where it shows instructions. */
struct ff_access {
    uint32_t block;
    uint16_t page;
    uint8_t tier;  /* the device that accesses */
    uint8_t flags; /* enum ff_access_flags, or-ed */
    uint32_t pc;
    uint16_t sm, warp; /* warp: its slot in the SM */
};

/* ---- what hooks answer ---- */

/* The answer to a fault. The engine clears it before the call. */
struct ff_fault_advice {
    /* Other pages of the block to bring along; faulted and foreign pages are ignored. */
    struct ff_mask prefetch;
    /* Faulted pages not to serve before throttle_until_ns. */
    struct ff_mask throttle;
    uint64_t throttle_until_ns;
    /* Faulted pages to leave where they are and to use from there, until advice brings them. A
     * backend that cannot map remotely migrates them like the others. */
    struct ff_mask remote;
    uint32_t remote_tier; /* where they are to be: a hint to backends that can move them there */
};

/* One piece of advice: bring these pages of the block to the tier, or evict them from it (no pages
 * named: the whole block). */
struct ff_advice {
    uint32_t block, tier;
    uint32_t launch; /* the execution ID it is expected to serve, or FF_NONE */
    /* When the policy has come to this: a decision that takes time is known, and carried out, no
     * sooner. 0, or what is past: now. Only where time is modelled. */
    uint64_t ready_ns;
    struct ff_mask pages;
};

/* Owned by the caller; bounded. */
struct ff_advice_list {
    struct ff_advice *items;
    uint32_t count, capacity;
};

/* False when the list is full: stop advising. */
static inline bool ff_advice_add(struct ff_advice_list *list, const struct ff_advice *advice) {
    if (list->count == list->capacity)
        return false;
    list->items[list->count++] = *advice;
    return true;
}

enum ff_evict_cause {
    FF_EVICT_FOR_FAULT,    /* a fault waits: name somebody */
    FF_EVICT_FOR_PREFETCH, /* a prefetch would like room: name nobody who is needed sooner */
    FF_EVICT_AHEAD,        /* pre-eviction: keep free memory in stock for faults */
};

struct ff_evict_request {
    enum ff_evict_cause cause;
    uint32_t tier;
    uint32_t for_block; /* who will get the memory; FF_NONE for FF_EVICT_AHEAD */
    uint64_t pages;     /* how many are wanted; where memory is handed out by the block, its size */
};

/* ---- the four tables ---- */

/* When every page will be used: a recorded run of the same work, as positions in its sequence of
 * page accesses. Page `p` of block `b` is used at position[i] for first[b * 512 + p] <= i <
 * first[b * 512 + p + 1], ascending. `order` is the sequence itself, as block * 512 + page. */
struct ff_future {
    uint64_t page_count, length;
    const uint64_t *first;    /* [page_count + 1] */
    const uint64_t *position; /* [length] */
    const uint64_t *order;    /* [length] */
};

/* What a policy instance is born with. `block_state` is block_state_size bytes for every block
 * id, zero at first. */
struct ff_policy_env {
    uint32_t tier_count;
    uint32_t tier; /* the instance's device (evict); FF_NONE where one instance serves all */
    uint32_t block_limit;
    void *block_state;
    void *arena; /* arena_size bytes, zero at first, and paid for as touched */
    size_t arena_size;
    uint64_t seed;
    const int64_t *params; /* values, in the order of the declared table */
    const char *text;      /* text parameters begin at text + params[i] */
    /* Time is modelled: what takes time has to say how much, and waiting takes none. */
    bool virtual_time;
    struct ff_error *error; /* farfault.h; `init` may leave one line here that says why it fails */
    const struct ff_future *future; /* NULL unless the backend shows FF_SEES_FUTURE */
};

/* The head of every table. */
struct ff_policy {
    const char *name;
    const char *summary; /* one line, for `farfault list` */
    uint32_t api;        /* FF_POLICY_API */
    uint32_t needs;      /* enum ff_visibility, or-ed */
    size_t state_size;   /* bytes the engine allocates, zeroed, for an instance */
    size_t block_state_size;
    /* Bytes of the arena that an instance with these parameters has for what no block owns. NULL:
     * none. */
    size_t (*arena_size)(const int64_t *params);
    const struct ff_param *params; /* NULL: none */
    /* 0 or negative errno. NULL: zeroed state will do. */
    int (*init)(void *state, const struct ff_policy_env *env);
    /* Only after `init` has succeeded. NULL: nothing to release. */
    void (*fini)(void *state);
    /* The block's range is gone. NULL: nothing is kept by block. */
    void (*block_freed)(void *state, uint32_t block);
};

/* One instance an engine. */
struct ff_prefetch_policy {
    struct ff_policy base;
    /* On the fault path, before the faulted pages move. NULL: only the faulted pages move. */
    void (*on_fault)(void *state, const struct ff_view *view, const struct ff_fault_group *group,
                     struct ff_fault_advice *advice);
    /* Pages of a block have arrived at `tier` by fault or prefetch (cause told by `faulted`).
     * NULL: ignored. */
    void (*on_arrival)(void *state, const struct ff_view *view, uint32_t block, uint32_t tier,
                       const struct ff_mask *pages, bool faulted);
    /* A kernel starts or ends; on the launch path. NULL: ignored. */
    void (*on_launch)(void *state, const struct ff_view *view, const struct ff_event *event);
    /* Accesses, in batches, hits and misses alike, oldest first; what it advises is carried out at
     * once. NULL: does not watch. */
    void (*on_access)(void *state, const struct ff_view *view, const struct ff_access *accesses,
                      uint32_t count, struct ff_advice_list *advice);
    /* The correlator thread's step: learn from events, oldest first. NULL: learns nothing, no
     * such thread. */
    void (*learn)(void *state, const struct ff_view *view, const struct ff_event *events,
                  uint32_t count);
    /* The prefetching thread's step, after new events: what to bring in next. NULL: nothing
     * ahead, no such thread. */
    void (*plan)(void *state, const struct ff_view *view, struct ff_advice_list *advice);
    /* The forecast that others see through the view (struct ff_forecast). Called from within their
     * hooks, often: no search, no change of state that shows. All or none. NULL: foretells
     * nothing. */
    uint64_t (*next_turn)(const void *state, uint32_t tier, uint32_t block);
    uint64_t (*next_launch)(const void *state, uint32_t tier, uint32_t block);
    uint64_t (*this_turn)(const void *state, uint32_t tier);
    uint64_t (*taken_back)(const void *state, uint32_t tier);
};

/* One instance a device. */
struct ff_evict_policy {
    struct ff_policy base;
    /* The block got memory on the device (NVIDIA: chunk activated). NULL: ignored. */
    void (*on_activate)(void *state, const struct ff_view *view, uint32_t block);
    /* The block was served there: a fault or a prefetch for it was completed (chunk used), and
     * these pages have arrived. NULL: ignored. */
    void (*on_used)(void *state, const struct ff_view *view, uint32_t block,
                    const struct ff_mask *pages);
    /* Accesses to the device, in batches, oldest first. NULL: does not watch. */
    void (*on_access)(void *state, const struct ff_view *view, const struct ff_access *accesses,
                      uint32_t count);
    /* All content of the block on the device is dead, but still there. A backend that takes dead
     * content away at once, as the software device does, reports on_release instead. NULL: ignored. */
    void (*on_discarded)(void *state, const struct ff_view *view, uint32_t block);
    /* These pages are leaving. NULL: ignored. */
    void (*on_leave)(void *state, const struct ff_view *view, uint32_t block,
                     const struct ff_mask *pages);
    /* The block's memory there was taken away. NULL: ignored. */
    void (*on_release)(void *state, const struct ff_view *view, uint32_t block);
    /* A kernel starts or ends. NULL: ignored. */
    void (*on_launch)(void *state, const struct ff_view *view, const struct ff_event *event);
    /* How many pages to keep free ahead of need. NULL: what the backend chose. */
    uint64_t (*stock)(void *state, const struct ff_view *view);
    /* How many free pages a prefetch of the block must leave to faults; not asked while everything that
     * the device uses fits. NULL: none. */
    uint64_t (*reserved)(void *state, const struct ff_view *view, uint32_t block);
    /* Names victims, best first. Required. Where memory is handed out by the block, the engine takes
     * the first block that can go, all of it, and the blocks that share its root; where by the page, it takes the named pages in
     * turn until there is enough room. It falls back on the lowest evictable block if a fault
     * waits and the list helps nobody. */
    void (*pick)(void *state, const struct ff_view *view, const struct ff_evict_request *request,
                 struct ff_advice_list *victims);
    /* on_used, on_leave and pick for one page, without masks: an engine that moves pages one at a time
     * asks these instead, of a policy that has them. All three, or none. */
    void (*on_page_used)(void *state, uint32_t block, uint32_t page);
    void (*on_page_leave)(void *state, uint32_t block, uint32_t page);
    /* What `pick` would name first for a fault. False: nothing. Who will probably be the next one goes to
     * *next, its block FF_NONE if that is not known: it is not taken, but has its records fetched. */
    bool (*pick_page)(void *state, const struct ff_view *view, struct ff_page *victim,
                      struct ff_page *next);
};

/* One instance an engine. */
struct ff_place_policy {
    struct ff_policy base;
    /* The tier an evicted block goes to. NULL, or a tier without room: the host. */
    uint32_t (*place)(void *state, const struct ff_view *view, uint32_t block, uint32_t from_tier);
};

/* One instance an engine. */
struct ff_discard_policy {
    struct ff_policy base;
    /* Sets the pages of the block whose content is dead, so that an eviction drops instead of
     * copying them. NULL: only what the application itself declared dead. */
    void (*dead)(void *state, const struct ff_view *view, uint32_t block, struct ff_mask *pages);
};

/* ---- loading a policy from a shared object ---- */

/* A shared object exports one of these as `ff_policy_module`. Tables that it does not have are
 * NULL; they must live as long as the object is loaded. */
struct ff_policy_module {
    uint32_t api; /* FF_POLICY_API; checked before anything else is read */
    const struct ff_prefetch_policy *prefetch;
    const struct ff_evict_policy *evict;
    const struct ff_place_policy *place;
    const struct ff_discard_policy *discard;
};

#endif
