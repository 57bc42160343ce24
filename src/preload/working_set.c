#include "preload/working_set.h"

#include "base/map.h"
#include "base/parse.h"

#include <stdlib.h>
#include <string.h>

#define MOST_FAILURES 4u
#define GAP           ((uint64_t)64 << 10) /* pieces that are closer are one */

struct ff__working_set {
    struct ff__ptx_extents *extents;
    struct ff__ptx_extent *accesses;
    struct ff__trust *trust;
    uint32_t failures; /* launches in a row of which nothing was found */
    uint64_t identity; /* of the launch that the rest is of; 0: of none */
    bool is_known;
    struct ff__prediction prediction;
    struct ff__intervals order;
};

bool ff__brings_working_sets(void) {
    int64_t value = 0;
    const char *text = getenv("FARFAULT_EXTENTS");
    return text != NULL && ff__parse_bool(text, &value) == 0 && value != 0;
}

/* One of which nothing can be known has failed from the start. */
struct ff__working_set *ff__working_set_make(const struct ff__ptx_function *function) {
    struct ff__working_set *set = calloc(1, sizeof *set);
    if (set == NULL)
        return NULL;
    if (ff__ptx_extents_make(function, &set->extents) == 0)
        set->accesses = calloc(ff__ptx_extents_count(set->extents) + 1ul, sizeof *set->accesses);
    if (set->accesses == NULL)
        set->failures = MOST_FAILURES;
    set->trust = ff__trust_of(function->name);
    if (set->trust == NULL) {
        ff__working_set_free(set);
        return NULL;
    }
    return set;
}

void ff__working_set_free(struct ff__working_set *set) {
    if (set == NULL)
        return;
    ff__ptx_extents_free(set->extents);
    free(set->accesses);
    free(set);
}

/* ---- pieces ---- */

/* The size of the allocation that has all of it; 0: none has. */
static size_t size_around(struct ff_context *context, uint64_t low, uint64_t high) {
    void *base;
    size_t size;
    bool has = ff_mem_lookup(context, (const void *)(uintptr_t)low, &base, &size) &&
               high <= (uintptr_t)base + size;
    return has ? size : 0;
}

static void add_access(struct ff__working_set *set, struct ff_context *context,
                       const struct ff__ptx_extent *of) {
    struct ff__interval piece = {of->low, of->high};
    if (of->never)
        return;
    if (of->kind == FF__PTX_UNKNOWN || size_around(context, of->low, of->high) == 0) {
        set->is_known = false;
        return;
    }
    ff__prediction_add(&set->prediction, piece);
    if (of->kind == FF__PTX_EXACT)
        ff__intervals_add(&set->order, piece, GAP); /* without room: its faults bring it */
}

/* No allocation whole: pieces of more than half of one are left out. */
static void leave_out_large(struct ff__working_set *set, struct ff_context *context) {
    const struct ff__intervals all = set->order;
    set->order.count = 0;
    for (uint32_t i = 0; i < all.count; i++) {
        struct ff__interval piece = all.of[i];
        if (piece.high - piece.low <= size_around(context, piece.low, piece.high) / 2)
            set->order.of[set->order.count++] = piece;
    }
}

static void find_pieces(struct ff__working_set *set, struct ff_context *context,
                        const struct ff__ptx_extent_launch *launch) {
    ff__ptx_extents_find(set->extents, launch, set->accesses);
    set->order.count = set->prediction.intervals.count = 0;
    set->is_known = ff__ptx_extents_complete(set->extents);
    for (uint32_t i = 0; i < ff__ptx_extents_count(set->extents); i++)
        add_access(set, context, &set->accesses[i]);
    leave_out_large(set, context);
}

static uint64_t bytes_of(const struct ff__intervals *pieces) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < pieces->count; i++)
        bytes += pieces->of[i].high - pieces->of[i].low;
    return bytes;
}

/* Half of the memory is for what runs. */
static bool fits(struct ff_context *context, const struct ff__intervals *order) {
    struct ff_stats stats;
    ff_stats_read(context, &stats);
    return bytes_of(order) <= stats.capacity / 2;
}

/* ---- launches ---- */

static uint64_t identity_of(const struct ff__ptx_extent_launch *launch) {
    uint64_t hash = ff__hash_bytes(1, launch->grid, sizeof launch->grid);
    hash = ff__hash_bytes(hash, launch->block, sizeof launch->block);
    hash = ff__hash_bytes(hash, launch->offset, sizeof launch->offset);
    hash = ff__hash_bytes(hash, launch->parameters, launch->parameter_size);
    return hash != 0 ? hash : 1;
}

static void look(struct ff__working_set *set, struct ff_context *context,
                 const struct ff__ptx_extent_launch *launch) {
    uint64_t identity = identity_of(launch);
    if (identity == set->identity)
        return;
    find_pieces(set, context, launch);
    if (set->order.count != 0 && !fits(context, &set->order))
        set->order.count = 0;
    set->identity = identity;
    set->failures = set->order.count == 0 && !set->is_known ? set->failures + 1 : 0;
}

/* ---- when one begins and ends ---- */

static void add(uint64_t *counter, uint64_t value) {
    __atomic_fetch_add(counter, value, __ATOMIC_RELAXED);
}

/* A recording of what launches touch has it only of pages that nobody has brought. */
static void bring(struct ff__predicted *predicted) {
    struct ff__bringing *it = (struct ff__bringing *)predicted;
    struct ff__account_extents *of = ff__trust_counts(it->trust);
    const struct ff__order_counts counts = {&of->orders, &of->dropped, &of->brought};
    it->is_brought = it->order.count != 0 && !ff__config()->touches && ff__trust_brings(it->trust);
    for (uint32_t i = 0; i < it->order.count; i++)
        it->absent +=
            ff__order(it->context, it->order.of[i], it->device, it->is_brought ? &counts : NULL);
    add(&of->brought_for, it->is_brought && it->absent > 0);
}

void ff__working_set_judge(struct ff__predicted *predicted) {
    const struct ff__bringing *it = (const struct ff__bringing *)predicted;
    const struct ff__prediction *what = &predicted->what;
    struct ff__account_extents *counts = ff__trust_counts(it->trust);
    if (!ff__prediction_is_alone(what))
        return;
    if (it->is_known) {
        add(&counts->alone, 1);
        add(&counts->faults, what->faults);
        add(&counts->outside, what->outside);
    }
    if (it->absent > 0)
        ff__trust_judge(it->trust, it->is_brought, it->absent, what->faults);
}

bool ff__working_set_find(struct ff__working_set *set, struct ff_context *context, uint32_t device,
                          const struct ff__ptx_extent_launch *launch, struct ff__bringing *out) {
    struct ff__account_extents *counts = ff__trust_counts(set->trust);
    add(&counts->launches, 1);
    if (set->failures == MOST_FAILURES)
        return false;
    look(set, context, launch);
    if (set->is_known) {
        ff__count_known_launch();
        add(&counts->known, 1);
        add(&counts->predicted, ff__prediction_pages(&set->prediction));
    }
    *out = (struct ff__bringing){
        .predicted = {.what = set->prediction, .begins = bring, .ends = ff__working_set_judge},
        .context = context,
        .device = device,
        .trust = set->trust,
        .order = set->order,
        .is_known = set->is_known};
    return set->is_known || set->order.count != 0;
}
