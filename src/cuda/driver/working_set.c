#include "cuda/driver/working_set.h"

#include "base/map.h"
#include "base/parse.h"
#include "ptx/extent.h"
#include "runtime/stream.h"

#include <stdlib.h>
#include <string.h>

#define MOST_PIECES   16u
#define MOST_FAILURES 4u
#define GAP           ((uint64_t)64 << 10) /* pieces that are closer are one */

struct brought_piece {
    uint64_t low, high;
};

/* What a launch's order carries. */
struct bringing {
    struct ff_context *context;
    uint32_t device, count;
    struct brought_piece pieces[MOST_PIECES];
};

struct ff__cuda_working_set {
    struct ff__ptx_extents *extents;
    struct ff__ptx_extent *accesses;
    uint32_t failures; /* launches in a row of which nothing was found */
    uint64_t identity; /* of the launch that `order` is of; 0: none */
    struct bringing order;
};

bool ff__cuda_brings_working_sets(void) {
    int64_t value = 0;
    const char *text = getenv("FARFAULT_EXTENTS");
    return text != NULL && ff__parse_bool(text, &value) == 0 && value != 0;
}

/* NULL: no memory. One of which nothing can be known has failed from the start. */
static struct ff__cuda_working_set *make(const struct ff__ptx_function *function) {
    struct ff__cuda_working_set *set = calloc(1, sizeof *set);
    if (set == NULL)
        return NULL;
    if (ff__ptx_extents_make(function, &set->extents) == 0)
        set->accesses = calloc(ff__ptx_extents_count(set->extents) + 1ul, sizeof *set->accesses);
    if (set->accesses == NULL)
        set->failures = MOST_FAILURES;
    return set;
}

void ff__cuda_working_set_free(struct ff__cuda_working_set *set) {
    if (set == NULL)
        return;
    ff__ptx_extents_free(set->extents);
    free(set->accesses);
    free(set);
}

/* ---- pieces ---- */

static bool is_part(struct ff_context *context, const struct brought_piece *piece) {
    void *base;
    size_t size;
    return ff_mem_lookup(context, (const void *)(uintptr_t)piece->low, &base, &size) &&
           piece->high <= (uintptr_t)base + size && piece->high - piece->low <= size / 2;
}

static void drop(struct bringing *order, uint32_t number) {
    order->count--;
    for (uint32_t i = number; i < order->count; i++)
        order->pieces[i] = order->pieces[i + 1];
}

/* In the order of the accesses; what touches others is put together with the first of them. */
static void add_piece(struct bringing *order, struct brought_piece piece) {
    uint32_t into = order->count;
    for (uint32_t i = 0; i < order->count;) {
        struct brought_piece *other = &order->pieces[i];
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
    if (order->count == MOST_PIECES)
        return;
    into = into < order->count ? into : order->count;
    for (uint32_t i = order->count++; i > into; i--)
        order->pieces[i] = order->pieces[i - 1];
    order->pieces[into] = piece;
}

static void find_pieces(struct ff__cuda_working_set *set, struct ff_context *context,
                        const struct ff__ptx_launch *launch) {
    struct bringing *order = &set->order;
    uint32_t count = ff__ptx_extents_count(set->extents);
    struct ff__ptx_extent_launch seen = {.shared = launch->shared,
                                         .parameters = launch->parameters,
                                         .parameter_size = launch->parameter_size};
    memcpy(seen.grid, launch->grid, sizeof seen.grid);
    memcpy(seen.block, launch->block, sizeof seen.block);
    ff__ptx_extents_find(set->extents, &seen, set->accesses);
    order->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct ff__ptx_extent *of = &set->accesses[i];
        if (!of->never && of->kind == FF__PTX_EXACT)
            add_piece(order, (struct brought_piece){of->low, of->high});
    }
    for (uint32_t i = order->count; i-- > 0;)
        if (!is_part(context, &order->pieces[i]))
            drop(order, i);
}

/* Half of the memory is for what runs. */
static bool fits(struct ff_context *context, const struct bringing *order) {
    struct ff_stats stats;
    uint64_t total = 0;
    ff_stats_read(context, &stats);
    for (uint32_t i = 0; i < order->count; i++)
        total += order->pieces[i].high - order->pieces[i].low;
    return total <= stats.capacity / 2;
}

/* ---- orders ---- */

static void follow(const struct ff_work *work, void *arguments) {
    const struct bringing *order = arguments;
    (void)work;
    for (uint32_t i = 0; i < order->count; i++) {
        const struct brought_piece *piece = &order->pieces[i];
        ff_mem_prefetch(order->context, (const void *)(uintptr_t)piece->low,
                        piece->high - piece->low, order->device);
    }
}

static uint64_t identity_of(const struct ff__ptx_launch *launch) {
    uint64_t hash = ff__hash_bytes(1, launch->grid, sizeof launch->grid);
    hash = ff__hash_bytes(hash, launch->block, sizeof launch->block);
    hash = ff__hash_bytes(hash, launch->parameters, launch->parameter_size);
    return hash != 0 ? hash : 1;
}

static void look(struct ff__cuda_working_set *set, struct ff_context *context,
                 const struct ff__ptx_launch *launch) {
    uint64_t identity = identity_of(launch);
    if (identity == set->identity)
        return;
    find_pieces(set, context, launch);
    if (set->order.count != 0 && !fits(context, &set->order))
        set->order.count = 0;
    set->identity = identity;
    set->failures = set->order.count == 0 ? set->failures + 1 : 0;
}

void ff__cuda_working_set_bring(CUfunction function, CUstream stream,
                                const struct ff__ptx_launch *launch) {
    struct ff_context *context = ff__cuda_farfault();
    if (!function->module->brings)
        return;
    if (function->working_set == NULL)
        function->working_set = make(function->code);
    struct ff__cuda_working_set *set = function->working_set;
    if (set == NULL || set->failures == MOST_FAILURES)
        return;
    look(set, context, launch);
    if (set->order.count == 0)
        return;
    set->order.context = context;
    set->order.device = (uint32_t)stream->context->device;
    const struct ff_launch what = {
        .kernel = follow, .grid = 1, .arguments = &set->order, .argument_size = sizeof set->order};
    ff__stream_run(stream->queue, &what); /* without it, the launch faults */
}
