#include "engine/fault_samples.h"

#include "engine/internal.h"

#include "base/lazy.h"
#include "base/leaves.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- the table of a device ---- */

static struct ff__sample_row *row_of(struct ff__sample_table *table, uint32_t range) {
    for (uint32_t i = 0; i < FF__SAMPLE_ROWS; i++)
        if (table->rows[i].armed && table->rows[i].range == range)
            return &table->rows[i];
    return NULL;
}

/* The row with the smallest range, or one that is not armed. */
static struct ff__sample_row *least_row(const struct ff__engine *engine,
                                        struct ff__sample_table *table) {
    const struct ff_range *ranges = engine->space.ranges;
    struct ff__sample_row *least = &table->rows[0];
    for (uint32_t i = 0; i < FF__SAMPLE_ROWS; i++) {
        struct ff__sample_row *row = &table->rows[i];
        if (!row->armed)
            return row;
        if (ranges[row->range].page_count < ranges[least->range].page_count)
            least = row;
    }
    return least;
}

/* Leaves between two rounds. */
static uint32_t interval_of(const struct ff_range *range) {
    uint64_t leaves = (range->page_count + FF_LEAF_PAGES - 1) / FF_LEAF_PAGES;
    uint64_t share = leaves * FF__SAMPLE_SHARE / 100;
    uint64_t most = share < FF__SAMPLE_MOST ? share : FF__SAMPLE_MOST;
    return most > FF__SAMPLE_LEAST ? (uint32_t)most : FF__SAMPLE_LEAST;
}

/* As in Forest's table, the largest ranges have rows; others are not sampled. */
static void arm(const struct ff__engine *engine, struct ff__sample_table *table, uint32_t range,
                uint32_t launch) {
    const struct ff_range *ranges = engine->space.ranges;
    struct ff__sample_row *row = least_row(engine, table);
    if (row->armed && ranges[row->range].page_count >= ranges[range].page_count)
        return;
    row->armed = true;
    row->range = range;
    row->launch = launch;
    row->left = interval_of(&ranges[range]);
    row->rounds = row->count = 0;
}

/* What the engine calls for FF_SAMPLE. */
static bool sample(void *self, uint32_t tier, uint32_t range, uint32_t launch, bool wanted) {
    struct ff__fault_samples *samples = self;
    struct ff__sample_table *table = &samples->tables[tier];
    struct ff__sample_row *row = row_of(table, range);
    if (row)
        row->armed = wanted;
    else if (wanted)
        arm(samples->engine, table, range, launch);
    return true;
}

/* What the engine calls when a range is freed. */
static void forget(void *self, uint32_t range) {
    struct ff__fault_samples *samples = self;
    for (uint32_t tier = 1; tier < samples->engine->space.tier_count; tier++) {
        struct ff__sample_table *table = &samples->tables[tier];
        struct ff__sample_row *row = row_of(table, range);
        if (row)
            row->armed = false;
        table->range_used[range] = 0;
    }
}

/* ---- making ---- */

static size_t ranges_size(const struct ff__engine *engine) {
    return engine->space.block_limit * sizeof(uint64_t); /* a range has a block at least */
}

static size_t pages_size(const struct ff__engine *engine) {
    return (size_t)engine->space.block_limit * FF_BLOCK_PAGES * sizeof(uint32_t);
}

static size_t watched_size(const struct ff__engine *engine) {
    return engine->space.block_limit * sizeof(struct ff_mask);
}

static int open_tables(struct ff__fault_samples *samples, struct ff__sampler *sampler) {
    const struct ff__engine *engine = samples->engine;
    int status = 0;
    for (uint32_t tier = 1; tier < engine->space.tier_count; tier++) {
        struct ff__sample_table *table = &samples->tables[tier];
        table->range_used = ff__lazy_map(ranges_size(engine));
        table->page_used = ff__lazy_map(pages_size(engine));
        table->watched = samples->backend ? ff__lazy_map(watched_size(engine)) : NULL;
        if (!table->range_used || !table->page_used || (samples->backend && !table->watched))
            status = -ENOMEM;
        sampler->last_uses[tier] = (struct ff_last_uses){table->range_used, table->page_used};
    }
    return status;
}

int ff__fault_samples_open(struct ff__fault_samples *samples, struct ff__engine *engine,
                           const struct ff__backend *backend, void *self) {
    struct ff__sampler sampler = {.self = samples, .sample = sample, .forget = forget};
    if (!ff__system_uses_samples(&engine->system))
        return 0;
    bool looks = backend->accessed && ff__system_evicts_by_use(&engine->system);
    *samples = (struct ff__fault_samples){
        .engine = engine, .backend = looks ? backend : NULL, .self = self};
    samples->tables = calloc(engine->space.tier_count, sizeof *samples->tables);
    int status = samples->tables ? open_tables(samples, &sampler) : -ENOMEM;
    if (status)
        ff__fault_samples_close(samples);
    else
        ff__engine_set_sampler(engine, &sampler);
    return status;
}

void ff__fault_samples_close(struct ff__fault_samples *samples) {
    if (!samples->tables)
        return;
    for (uint32_t tier = 1; tier < samples->engine->space.tier_count; tier++) {
        struct ff__sample_table *table = &samples->tables[tier];
        if (table->range_used)
            ff__lazy_unmap(table->range_used, ranges_size(samples->engine));
        if (table->page_used)
            ff__lazy_unmap(table->page_used, pages_size(samples->engine));
        if (table->watched)
            ff__lazy_unmap(table->watched, watched_size(samples->engine));
    }
    ff__engine_set_sampler(samples->engine, &(struct ff__sampler){0});
    free(samples->tables);
    *samples = (struct ff__fault_samples){0};
}

/* The number of the next use. When there are no more, all that is known begins anew. */
static uint32_t tick(const struct ff__fault_samples *samples, struct ff__sample_table *table) {
    if (++table->clock == FF_PAGE_UNUSED) {
        ff__lazy_clear(table->page_used, pages_size(samples->engine));
        table->clock = 1;
    }
    return table->clock;
}

/* ---- uses of pages that stay ---- */

static void note_uses(const struct ff__fault_samples *samples, struct ff__sample_table *table,
                      uint32_t block, const struct ff_mask *pages, uint64_t now_ns) {
    uint32_t number = tick(samples, table);
    FF_MASK_FOR_EACH_PAGE(pages, page) {
        table->page_used[(size_t)block * FF_BLOCK_PAGES + page] = number;
    }
    table->range_used[samples->engine->space.blocks[block].range] = now_ns;
}

/* What has come since the latest look counts from this one on: the uses before are those that it
 * came for. */
static void look_at_block(struct ff__fault_samples *samples, uint32_t tier, uint32_t block,
                          uint64_t now_ns) {
    struct ff__sample_table *table = &samples->tables[tier];
    const struct ff_mask pages = *ff_view_resident(&samples->engine->view, tier, block);
    struct ff_mask used;
    if (!ff__engine_is_at_rest(samples->engine, block) || ff_mask_empty(&pages) ||
        ff__is_guest(samples->engine, block, tier))
        return;
    int status = samples->backend->accessed(samples->self, block, &pages, &used);
    if (status) {
        samples->backend = status == -EAGAIN ? samples->backend : NULL;
        return;
    }
    used = ff_mask_and(&used, &table->watched[block]);
    table->watched[block] = pages;
    if (!ff_mask_empty(&used))
        note_uses(samples, table, block, &used, now_ns);
}

/* The next blocks in the order in which they lie in the device's memory. */
static void look_at_tier(struct ff__fault_samples *samples, uint32_t tier, uint64_t now_ns) {
    const struct ff__frames *frames = &samples->engine->space.frames[tier];
    uint32_t *chunk = &samples->tables[tier].chunk, blocks[FF_CHUNK_LEAVES], looked = 0;
    uint32_t end = ff__frames_end(frames), chunks = end < FF__LOOK_CHUNKS ? end : FF__LOOK_CHUNKS;
    for (; chunks > 0 && looked < FF__LOOK_BLOCKS; chunks--) {
        *chunk = *chunk < end ? *chunk : 0;
        uint32_t count = ff__frames_blocks(frames, (*chunk)++, blocks);
        for (uint32_t i = 0; i < count && samples->backend; i++)
            look_at_block(samples, tier, blocks[i], now_ns);
        looked += count;
    }
}

/* Apart, so that a fault that comes without a look does not pay for its masks. */
__attribute__((noinline)) static void look(struct ff__fault_samples *samples, uint64_t now_ns) {
    samples->look_ns = now_ns + FF__LOOK_NS;
    for (uint32_t tier = 1; tier < samples->engine->space.tier_count; tier++)
        look_at_tier(samples, tier, now_ns);
}

/* ---- rounds ---- */

static void show(struct ff__fault_samples *samples, uint32_t tier, struct ff__sample_row *row,
                 uint64_t now_ns, struct ff_advice_list *advice) {
    const struct ff_sample_round round = {.range = row->range,
                                          .launch = row->launch,
                                          .tier = tier,
                                          .items = row->items,
                                          .count = row->count};
    for (uint32_t i = 0; i < row->count; i++)
        row->items[i].rank = i;
    ff__engine_samples(samples->engine, now_ns, &round, advice);
}

/* ---- launches ---- */

static void use_operands(struct ff__fault_samples *samples, uint32_t tier, uint64_t now_ns) {
    const struct ff__running *running = &samples->engine->running[tier];
    for (uint32_t l = 0; l < running->count; l++)
        for (uint32_t i = 0; i < running->launches[l].operand_count; i++)
            samples->tables[tier].range_used[running->launches[l].operands[i]] = now_ns;
}

void ff__fault_samples_use(struct ff__fault_samples *samples, uint64_t now_ns) {
    if (!samples->tables)
        return;
    for (uint32_t tier = 1; tier < samples->engine->space.tier_count; tier++)
        use_operands(samples, tier, now_ns);
    if (samples->backend && now_ns >= samples->look_ns)
        look(samples, now_ns);
}

void ff__fault_samples_begin(struct ff__fault_samples *samples, const struct ff__launch *launch,
                             uint64_t now_ns) {
    if (!samples->tables)
        return;
    struct ff__sample_table *table = &samples->tables[launch->tier];
    for (uint32_t i = 0; i < FF__SAMPLE_ROWS; i++)
        if (!ff__running_has(&samples->engine->running[launch->tier], table->rows[i].launch))
            table->rows[i].armed = false;
    for (uint32_t i = 0; launch->operands && i < launch->operand_count; i++)
        table->range_used[launch->operands[i].range] = now_ns;
}

void ff__fault_samples_end(struct ff__fault_samples *samples, uint32_t tier, uint64_t now_ns) {
    if (samples->tables)
        use_operands(samples, tier, now_ns);
}

/* ---- arrivals ---- */

/* A use replaces those of the same pages before it. Whether there were any. */
static bool drop_earlier(struct ff__sample_row *row, uint32_t block, struct ff_run run) {
    uint32_t kept = 0, count = row->count;
    for (uint32_t i = 0; i < row->count; i++) {
        const struct ff_sample *item = &row->items[i];
        bool overlaps = item->block == block && item->page < run.end &&
                        item->page + item->page_count > run.first;
        if (!overlaps)
            row->items[kept++] = *item;
    }
    row->count = kept;
    return kept < count;
}

static void add_item(struct ff__sample_row *row, uint32_t block, struct ff_run run) {
    if (row->count < FF__SAMPLES_MAX)
        row->items[row->count++] =
            (struct ff_sample){.block = block,
                               .page = (uint16_t)run.first,
                               .page_count = (uint16_t)(run.end - run.first)};
}

/* Whole leaves, since what is smaller came with one. */
static void note_arrival(struct ff__sample_row *row, uint32_t block, uint32_t page_count,
                         const struct ff_mask *pages) {
    struct ff_mask leaves = ff__leaf_pages(ff__leaves_of(pages), page_count);
    FF_MASK_FOR_EACH_RUN(&leaves, run) {
        drop_earlier(row, block, run);
        add_item(row, block, run);
    }
    uint32_t came = (uint32_t)__builtin_popcount(ff__leaves_of(pages));
    row->left = row->left > came ? row->left - came : 0;
}

/* Shows a round if as many leaves have come, or are in use, as it wants. */
static void show_if_due(struct ff__fault_samples *samples, uint32_t tier,
                        struct ff__sample_row *row, uint64_t now_ns,
                        struct ff_advice_list *advice) {
    if (row->left > 0)
        return;
    row->left = interval_of(&samples->engine->space.ranges[row->range]);
    row->armed = ++row->rounds < FF__SAMPLE_ROUNDS;
    show(samples, tier, row, now_ns, advice);
}

static void note_last_uses(const struct ff__fault_samples *samples, struct ff__sample_table *table,
                           const struct ff__job *job) {
    uint32_t *used = &table->page_used[(size_t)job->in.block * FF_BLOCK_PAGES];
    uint32_t number = tick(samples, table);
    FF_MASK_FOR_EACH_PAGE(&job->in.pages, page) {
        used[page] = number | (ff_mask_test(&job->faulted, page) ? 0 : FF_PAGE_UNUSED);
    }
}

void ff__fault_samples_arrived(struct ff__fault_samples *samples, const struct ff__job *job,
                               uint64_t now_ns, struct ff_advice_list *advice) {
    if (!samples->tables || !job->has_in || job->in.guest || ff_mask_empty(&job->in.pages))
        return;
    uint32_t tier = job->in.to.tier, block = job->in.block;
    struct ff__sample_table *table = &samples->tables[tier];
    uint32_t range = samples->engine->space.blocks[block].range;
    struct ff__sample_row *row = row_of(table, range);
    note_last_uses(samples, table, job);
    table->range_used[range] = now_ns;
    if (table->watched)
        table->watched[block] = ff_mask_minus(&table->watched[block], &job->in.pages);
    if (!row || ff_mask_empty(&job->faulted))
        return;
    note_arrival(row, block, samples->engine->space.blocks[block].page_count, &job->in.pages);
    show_if_due(samples, tier, row, now_ns, advice);
}

/* ---- uses that are reported ---- */

static bool is_latest(const struct ff__sample_row *row, uint32_t block, struct ff_run run) {
    const struct ff_sample *latest = row->count > 0 ? &row->items[row->count - 1] : NULL;
    return latest && latest->block == block && latest->page <= run.first &&
           latest->page + latest->page_count >= run.end;
}

void ff__fault_samples_used(struct ff__fault_samples *samples, uint32_t tier, uint32_t block,
                            uint32_t page, uint64_t now_ns, struct ff_advice_list *advice) {
    struct ff__sample_table *table = &samples->tables[tier];
    const struct ff_block *used = &samples->engine->space.blocks[block];
    struct ff__sample_row *row = row_of(table, used->range);
    uint32_t first = page / FF_LEAF_PAGES * FF_LEAF_PAGES, end = first + FF_LEAF_PAGES;
    struct ff_run leaf = {first, end < used->page_count ? end : used->page_count};
    table->page_used[(size_t)block * FF_BLOCK_PAGES + page] = tick(samples, table);
    table->range_used[used->range] = now_ns;
    if (!row || is_latest(row, block, leaf))
        return;
    bool again = drop_earlier(row, block, leaf);
    add_item(row, block, leaf);
    row->left -= row->left > 0 && !again;
    show_if_due(samples, tier, row, now_ns, advice);
}
