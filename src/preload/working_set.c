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
    uint32_t failures; /* launches in a row of which nothing was found */
    uint64_t identity; /* of the launch that the rest is of; 0: of none */
    bool is_known;
    struct ff__bringing order;
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

static void drop(struct ff__bringing *order, uint32_t number) {
    order->count--;
    for (uint32_t i = number; i < order->count; i++)
        order->pieces[i] = order->pieces[i + 1];
}

/* In the order of the accesses; what touches others is put together with the first of them. */
static void add_piece(struct ff__bringing *order, struct ff__brought_piece piece) {
    uint32_t into = order->count;
    for (uint32_t i = 0; i < order->count;) {
        struct ff__brought_piece *other = &order->pieces[i];
        if (piece.low > other->high + GAP || other->low > piece.high + GAP) {
            i++;
            continue;
        }
        piece.low = other->low < piece.low ? other->low : piece.low;
        piece.high = other->high > piece.high ? other->high : piece.high;
        into = i < into ? i : into;
        drop(order, i);
        i = 0;
    }
    if (order->count == FF__BROUGHT_PIECES)
        return;
    into = into < order->count ? into : order->count;
    for (uint32_t i = order->count++; i > into; i--)
        order->pieces[i] = order->pieces[i - 1];
    order->pieces[into] = piece;
}

static void find_pieces(struct ff__working_set *set, struct ff_context *context,
                        const struct ff__ptx_extent_launch *launch) {
    struct ff__bringing *order = &set->order;
    ff__ptx_extents_find(set->extents, launch, set->accesses);
    order->count = 0;
    set->is_known = ff__ptx_extents_complete(set->extents);
    for (uint32_t i = 0; i < ff__ptx_extents_count(set->extents); i++) {
        const struct ff__ptx_extent *of = &set->accesses[i];
        set->is_known &= of->never || (of->kind != FF__PTX_UNKNOWN &&
                                       size_around(context, of->low, of->high) != 0);
        if (!of->never && of->kind == FF__PTX_EXACT)
            add_piece(order, (struct ff__brought_piece){of->low, of->high});
    }
    for (uint32_t i = order->count; i-- > 0;) {
        const struct ff__brought_piece *piece = &order->pieces[i];
        if (piece->high - piece->low > size_around(context, piece->low, piece->high) / 2)
            drop(order, i);
    }
}

/* Half of the memory is for what runs. */
static bool fits(struct ff_context *context, const struct ff__bringing *order) {
    struct ff_stats stats;
    uint64_t total = 0;
    ff_stats_read(context, &stats);
    for (uint32_t i = 0; i < order->count; i++)
        total += order->pieces[i].high - order->pieces[i].low;
    return total <= stats.capacity / 2;
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

bool ff__working_set_find(struct ff__working_set *set, struct ff_context *context, uint32_t device,
                          const struct ff__ptx_extent_launch *launch, struct ff__bringing *out) {
    if (set->failures == MOST_FAILURES)
        return false;
    look(set, context, launch);
    if (set->is_known)
        ff__count_known_launch();
    *out = set->order;
    out->context = context;
    out->device = device;
    return out->count != 0;
}

void ff__bring(const struct ff__bringing *order) {
    for (uint32_t i = 0; i < order->count; i++) {
        const struct ff__brought_piece *piece = &order->pieces[i];
        ff_mem_prefetch(order->context, (const void *)(uintptr_t)piece->low,
                        piece->high - piece->low, order->device);
    }
}
