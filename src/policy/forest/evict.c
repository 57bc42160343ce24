/* Forest's eviction (ISCA 2025): of the range that was used longest ago, the page that was used
 * longest ago, with its leaf. Where no single pages leave, the block that has this page.
 *
 * Ranges that a running kernel uses have their last uses nanoseconds apart. While its warps wait
 * for a page of one of them, all the others are older, and the one that is oldest then is often
 * small and used all the time. So ranges whose last uses are at most `slack` ago are taken to be
 * equally recent, and of these the one with most blocks loses a page (ours: the sources do not say
 * when the driver reads the order; slack=0 is their letter). `order` has other readings of a
 * range's last use; docs/results/forest.md compares them.
 *
 * A block remembers how old its oldest page was when its pages were last looked at. Pages only
 * become younger, and those that come are the youngest: the number is never too young, and most
 * blocks need no second look. */
#include "policy/common/evictor.h"
#include "policy/forest/profile.h"
#include "policy/registry.h"

struct forest_range {
    struct ff__profile_range profile;
    uint32_t blocks; /* that have something on the tier */
    uint32_t passed; /* number of the last pick that found nothing more in it */
    uint64_t noted;  /* its last use as `order` knows it, in ns; 0: none. Unused with ORDER_USE */
};

struct forest_block {
    bool held;       /* something of it has come to the tier */
    uint32_t oldest; /* no page of it was used before; 0: not known */
};

/* What a range's last use is. */
enum order { ORDER_USE, ORDER_FAULT, ORDER_ROUND, ORDER_LAUNCH, ORDERS };

struct forest_evict {
    struct ff__profile profile;
    struct forest_block *blocks;
    uint32_t tier, picks;
    uint64_t slack_ns;
    enum order order;
};

enum { SLACK = FF__PROFILE_PARAMS, ORDER, PARAMS };

static const struct ff_param params[PARAMS + 1] = {
    FF__PROFILE_ROWS,
    [SLACK] =
        {"slack", FF_PARAM_NS, 100000, 0, INT64_C(1000000000),
         "ranges used so long ago at most are equally recent: the one with most blocks leaves"},
    [ORDER] = {"order", FF_PARAM_INT, ORDER_USE, 0, ORDERS - 1,
               "last use of a range: 0: its last access; 1: its last fault; 2: as the driver knows "
               "it from rounds of samples and arrivals; 3: as it was when the launch began"},
};

static int init(void *state, const struct ff_policy_env *env) {
    struct forest_evict *forest = state;
    forest->blocks = env->block_state;
    forest->tier = env->tier;
    forest->slack_ns = (uint64_t)env->params[SLACK];
    forest->order = (enum order)env->params[ORDER];
    return ff__profile_start(&forest->profile, env, sizeof(struct forest_range));
}

/* ---- what is there ---- */

static struct forest_range *range_at(const struct forest_evict *forest, uint32_t range) {
    return (struct forest_range *)ff__profile_range(&forest->profile, range);
}

static void range_freed(void *state, uint32_t range) {
    *range_at(state, range) = (struct forest_range){0};
}

static void block_freed(void *state, uint32_t block) {
    ((struct forest_evict *)state)->blocks[block] = (struct forest_block){0};
}

/* A range of which no use has been known is used now in any order. */
static void note_arrival(const struct forest_evict *forest, struct forest_range *range,
                         uint64_t now_ns, bool faulted) {
    if (range->noted == 0 || forest->order == ORDER_ROUND ||
        (forest->order == ORDER_FAULT && faulted))
        range->noted = now_ns;
}

/* The driver reads the order of all ranges. */
static void note_uses(const struct forest_evict *forest, const struct ff_view *view) {
    const uint64_t *used = view->last_uses[forest->tier].range;
    for (uint32_t i = 0; i < forest->profile.range_end; i++)
        if (used[i] > range_at(forest, i)->noted)
            range_at(forest, i)->noted = used[i];
}

static void on_launch(void *state, const struct ff_view *view, const struct ff_launch_event *event,
                      struct ff_advice_list *advice) {
    const struct forest_evict *forest = state;
    if (forest->order == ORDER_LAUNCH && event->begins)
        note_uses(forest, view);
    ff__profile_on_launch(state, view, event, advice);
}

static void on_samples(void *state, const struct ff_view *view, const struct ff_sample_round *round,
                       struct ff_advice_list *advice) {
    const struct forest_evict *forest = state;
    struct ff__tree_shape before;
    if (forest->order == ORDER_ROUND)
        note_uses(forest, view);
    ff__profile_samples(state, view, round, advice, &before);
}

static const struct ff_sample_hooks sample_hooks = {.on_samples = on_samples};

static void on_arrival(void *state, const struct ff_view *view, const struct ff_arrival *arrival) {
    struct forest_evict *forest = state;
    struct forest_block *block = &forest->blocks[arrival->block];
    struct forest_range *range = range_at(forest, view->blocks[arrival->block].range);
    if (arrival->kind == FF_ARRIVAL_ALLOCATED)
        return;
    note_arrival(forest, range, view->now_ns, arrival->faulted);
    if (block->held)
        return;
    *block = (struct forest_block){.held = true};
    range->blocks++;
}

static void on_leave(void *state, const struct ff_view *view, const struct ff_leave *leave) {
    struct forest_evict *forest = state;
    struct forest_block *block = &forest->blocks[leave->block];
    if (leave->kind != FF_LEAVE_RELEASED || !block->held)
        return;
    block->held = false;
    range_at(forest, view->blocks[leave->block].range)->blocks--;
}

/* ---- the oldest page ---- */

/* An answer in the making. */
struct page_hunt {
    struct forest_evict *forest;
    struct ff__naming naming;
};

static struct ff_mask named_of(const struct page_hunt *hunt, uint32_t block) {
    const struct ff_victim_list *victims = hunt->naming.victims;
    struct ff_mask none = {{0}};
    for (uint32_t i = 0; i < victims->count; i++)
        if (victims->items[i].block == block)
            return victims->items[i].pages;
    return none;
}

static uint64_t last_use(const struct page_hunt *hunt, uint32_t range) {
    const struct forest_evict *forest = hunt->forest;
    return forest->order == ORDER_USE ? hunt->naming.view->last_uses[forest->tier].range[range]
                                      : range_at(forest, range)->noted;
}

/* Whether range a goes before range b. */
static bool is_older(const struct page_hunt *hunt, uint32_t a, uint32_t b) {
    const uint64_t a_used = last_use(hunt, a), b_used = last_use(hunt, b);
    const uint64_t slack = hunt->forest->slack_ns, now = hunt->naming.view->now_ns;
    if (slack > 0 && a_used + slack > now && b_used + slack > now)
        return range_at(hunt->forest, a)->blocks > range_at(hunt->forest, b)->blocks;
    return a_used < b_used;
}

/* The range used longest ago that may have something left; FF_NONE: there is none. */
static uint32_t oldest_range(const struct page_hunt *hunt) {
    const struct forest_evict *forest = hunt->forest;
    uint32_t oldest = FF_NONE;
    for (uint32_t i = 0; i < forest->profile.range_end; i++) {
        const struct forest_range *range = range_at(forest, i);
        if (range->blocks > 0 && range->passed != forest->picks &&
            (oldest == FF_NONE || is_older(hunt, i, oldest)))
            oldest = i;
    }
    return oldest;
}

/* A page, and its use. Uses of pages are below FF_PAGE_UNUSED, and so is that of no page above all
 * others. */
struct page_candidate {
    struct ff_page page;
    uint32_t use;
};

static bool can_go(const struct page_hunt *hunt, uint32_t block) {
    if (!hunt->forest->blocks[block].held || !ff__may_name(&hunt->naming, block))
        return false;
    struct ff_mask named = named_of(hunt, block);
    return ff__names_pages(hunt->naming.view) || ff_mask_empty(&named);
}

/* Looks at all pages of a block, and takes one that is older than the candidate. */
static void look(const struct page_hunt *hunt, uint32_t block, struct page_candidate *best) {
    const struct ff_view *view = hunt->naming.view;
    const uint32_t tier = hunt->forest->tier;
    const uint32_t *used = &view->last_uses[tier].page[(size_t)block * FF_BLOCK_PAGES];
    const struct ff_mask *resident = ff_view_resident(view, tier, block);
    struct ff_mask named = named_of(hunt, block);
    uint32_t oldest = FF_PAGE_UNUSED;
    FF_MASK_FOR_EACH_PAGE(resident, page) {
        uint32_t use = used[page] & ~FF_PAGE_UNUSED;
        oldest = use < oldest ? use : oldest;
        if (use < best->use && !ff_mask_test(&named, page))
            *best = (struct page_candidate){{block, page}, use};
    }
    hunt->forest->blocks[block].oldest = oldest;
}

/* Most blocks need no look once the one that seems to be the oldest has had it. */
static struct page_candidate oldest_page(const struct page_hunt *hunt, uint32_t range) {
    const struct ff_range *r = &hunt->naming.view->ranges[range];
    const struct forest_block *blocks = hunt->forest->blocks;
    const uint32_t first = r->first_block, end = first + r->block_count;
    struct page_candidate best = {{FF_NONE, 0}, FF_PAGE_UNUSED};
    uint32_t seems = FF_NONE;
    for (uint32_t i = first; i < end; i++)
        if ((seems == FF_NONE || blocks[i].oldest < blocks[seems].oldest) && can_go(hunt, i))
            seems = i;
    if (seems != FF_NONE)
        look(hunt, seems, &best);
    for (uint32_t i = first; i < end && seems != FF_NONE; i++)
        if (i != seems && blocks[i].oldest < best.use && can_go(hunt, i))
            look(hunt, i, &best);
    return best;
}

/* ---- victims ---- */

/* The page's leaf, as far as it is there. */
static struct ff_mask leaf_of(const struct page_hunt *hunt, struct ff_page page) {
    const struct ff_view *view = hunt->naming.view;
    uint32_t range = view->blocks[page.block].range;
    uint32_t leaf_pages = ff__profile_shape(&hunt->forest->profile, range).leaf_pages;
    uint32_t first = page.page & -leaf_pages;
    struct ff_mask leaf = ff_mask_of_run(first, first + leaf_pages);
    return ff__to_name(&hunt->naming, page.block, &leaf);
}

static void pick(void *state, const struct ff_view *view, const struct ff_evict_request *request,
                 struct ff_victim_list *victims) {
    struct forest_evict *forest = state;
    struct page_hunt hunt = {forest, ff__naming_of(view, request, victims)};
    uint32_t range;
    forest->picks++;
    while (!ff__naming_done(&hunt.naming) && (range = oldest_range(&hunt)) != FF_NONE) {
        struct page_candidate oldest = oldest_page(&hunt, range);
        if (oldest.page.block == FF_NONE) {
            range_at(forest, range)->passed = forest->picks;
            continue;
        }
        struct ff_mask leaf = leaf_of(&hunt, oldest.page),
                       named = named_of(&hunt, oldest.page.block);
        leaf = ff_mask_minus(&leaf, &named);
        ff__name(&hunt.naming, oldest.page.block, &leaf);
    }
}

const struct ff_evict_policy ff__evict_forest = {
    .base =
        {
            .name = "forest",
            .summary = "the least recently used range's oldest page, with its leaf (Forest)",
            .api = FF_POLICY_API,
            .sees = FF_SEES_FAULTS | FF_SEES_LAUNCHES | FF_SEES_SAMPLES,
            .controls = FF_CONTROLS_VICTIMS | FF_CONTROLS_SAMPLING,
            .state_size = sizeof(struct forest_evict),
            .block_state_size = sizeof(struct forest_block),
            .range_state_size = sizeof(struct forest_range),
            .arena_size = ff__profile_arena_size,
            .params = params,
            .init = init,
            .report = ff__profile_report,
            .on_launch = on_launch,
            .on_arrival = on_arrival,
            .on_leave = on_leave,
            .range_added = ff__profile_range_added,
            .range_freed = range_freed,
            .block_freed = block_freed,
            .samples = &sample_hooks,
        },
    .pick = pick,
    .by_use = true,
};
