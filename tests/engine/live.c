#include "engine/live.h"

#include "base/cases.h"

#include "base/clock.h"

#include <unistd.h>

#define BLOCK_BYTES ((uint64_t)FF_BLOCK_SIZE)

/* ---- the observer ---- */

static void see_faults(void *user, const struct ff__fault *faults, uint32_t count) {
    struct live *live = user;
    (void)faults;
    __atomic_fetch_add(&live->told_faults, count, __ATOMIC_RELAXED);
}

static void see_moves(void *user, const struct ff__move *move, const struct ff_mask *pages,
                      bool arrive) {
    struct live *live = user;
    struct ff_mask *told = &live->told[ff__move_place(move)->tier][move->block];
    pthread_mutex_lock(&live->device->lock);
    *told = arrive ? ff_mask_or(told, pages) : ff_mask_minus(told, pages);
    pthread_mutex_unlock(&live->device->lock);
}

/* ---- opening and closing ---- */

static void count_warnings(void *user, enum ff_log_level level, const char *message) {
    struct live *live = user;
    (void)message;
    __atomic_fetch_add(&live->warnings, level == FF_LOG_WARNING, __ATOMIC_RELAXED);
}

static void open_engine(struct live *live, struct ff_error *error) {
    const struct live_shape *shape = &live->shape;
    struct ff__engine_config config = {
        .reserve = 1, .launch_limit = shape->launch_limit, .check = true};
    fake_backend.describe(live->device, &live->description);
    live->description.shows = LIVE_SHOWS;
    ff__engine_configure(&config, &live->description);
    if (ff__system_parse(shape->system, &config.system, error) ||
        ff__engine_init(&live->engine, &config, error))
        fail_msg("%s", error->message);
}

void live_open(struct live *live, const struct live_shape *shape) {
    struct ff_error error = {""};
    struct ff_config config;
    void *device = NULL;
    memset(live, 0, sizeof *live);
    live->shape = *shape;
    ff_config_init(&config);
    config.devices = shape->devices;
    config.memory = shape->chunks * BLOCK_BYTES;
    config.address_space = LIVE_WINDOWS * BLOCK_BYTES;
    config.handler = shape->self_service ? FF_HANDLER_SIGBUS : FF_HANDLER_ADAPTIVE;
    if (fake_backend.open(&config, NULL, false, &device, &error))
        fail_msg("%s", error.message);
    live->device = device;
    live->device->trouble = shape->trouble;
    open_engine(live, &error);
    struct ff__pipeline_config pipeline = {.engine = &live->engine,
                                           .backend = &fake_backend,
                                           .self = device,
                                           .log = {count_warnings, live},
                                           .observer = {live, see_faults, see_moves, NULL},
                                           .fault_workers = shape->fault_workers};
    if (ff__pipeline_start(&live->pipeline, &pipeline, &error))
        fail_msg("%s", error.message);
}

/* Whether the observer knows where an idle block's pages are. */
static void check_told(struct live *live, uint32_t block) {
    struct fake *fake = &live->device->content;
    for (uint32_t tier = 1; tier < live->engine.space.tier_count; tier++)
        if (!ff_mask_equal(&live->told[tier][block], &fake->blocks[block].on[tier]))
            fake_blame(fake, "block %u: the observer is wrong about tier %u", block, tier);
}

static void check_counts(const struct live *live) {
    const struct ff_stats *stats = &live->engine.space.stats;
    const struct fake *fake = &live->device->content;
    const struct fake_counts *counts = &live->device->counts;
    assert_int_equal(live->told_faults, counts->faults);
    assert_int_equal(stats->pages_in, fake->in);
    assert_int_equal(stats->populated, fake->populated);
    assert_int_equal(stats->pages_out, fake->out);
    assert_int_equal(stats->pages_dropped, fake->dropped);
    if (counts->failures ==
        0) /* one that fails half-way is tried again, and is one eviction all the same */
        assert_int_equal(stats->evictions, fake->evictions);
    assert_true(stats->resident_peak <= stats->capacity);
    assert_true((counts->failures == 0) == (live->warnings == 0)); /* failures are not silent */
}

void live_check(struct live *live) {
    struct ff_error error = {""};
    struct ff__space *space = &live->engine.space;
    ff__engine_check(&live->engine, &error);
    for (uint32_t block = 0; block < LIVE_WINDOWS; block++) {
        if (space->blocks[block].page_count == 0 || ff__facts(space, block)->busy)
            continue;
        fake_compare(&live->device->content, block);
        check_told(live, block);
    }
    assert_string_equal(live->device->content.violation, "");
    assert_string_equal(live->engine.failure.message, "");
    assert_string_equal(error.message, "");
    check_counts(live);
}

void live_free(struct live *live) {
    live->counts = live->device->counts;
    ff__engine_fini(&live->engine);
    fake_backend.close(live->device);
    live->device = NULL;
}

void live_close(struct live *live) {
    fake_device_let_go(live->device);
    ff__pipeline_stop(&live->pipeline);
    live_check(live);
    live_free(live);
}

/* ---- ranges ---- */

uint32_t live_add(struct live *live, uint64_t pages, uint32_t tier) {
    uint32_t range = 0;
    ff__lock_acquire(&live->pipeline.lock);
    int status = ff__engine_range_add(&live->engine, pages, 0, tier, &range);
    uint32_t block = status ? FF_NONE : live->engine.space.ranges[range].first_block;
    if (block != FF_NONE)
        fake_backend.open_range(live->device, block, pages);
    ff__lock_release(&live->pipeline.lock);
    return block;
}

static struct ff_range range_at(struct live *live, uint32_t first_block) {
    const struct ff__space *space = &live->engine.space;
    ff__lock_acquire(&live->pipeline.lock);
    struct ff_range range = space->ranges[space->blocks[first_block].range];
    ff__lock_release(&live->pipeline.lock);
    return range;
}

void live_forget(struct live *live, uint32_t first_block) {
    struct ff_mask all = ff_mask_of_run(0, FF_BLOCK_PAGES);
    struct ff_range range = range_at(live, first_block);
    fake_backend.close_range(live->device, first_block, range.page_count);
    ff__lock_acquire(&live->pipeline.lock);
    ff__engine_range_remove(&live->engine, live->engine.space.blocks[first_block].range);
    ff__lock_release(&live->pipeline.lock);
    for (uint32_t i = 0; i < range.block_count; i++)
        fake_backend.replay(live->device, first_block + i, &all);
}

struct eviction {
    struct live *live;
    uint32_t block;
    const struct ff_mask *dead;
    bool close;
};

static void carry_out(void *argument) {
    struct eviction *it = argument;
    if (it->close)
        ff__pipeline_close(&it->live->pipeline, it->block);
    else
        ff__pipeline_evict(&it->live->pipeline, it->block, NULL, it->dead);
}

void live_evict(struct live *live, uint32_t block, const struct ff_mask *dead, bool close) {
    struct eviction eviction = {live, block, dead, close};
    ff__pipeline_call(&live->pipeline, carry_out, &eviction);
}

void live_remove(struct live *live, uint32_t first_block) {
    struct ff_mask all = ff_mask_of_run(0, FF_BLOCK_PAGES);
    uint32_t count = range_at(live, first_block).block_count;
    for (uint32_t i = 0; i < count; i++)
        live_evict(live, first_block + i, &all, true);
    live_forget(live, first_block);
}

/* ---- using memory ---- */

enum fake_touch live_touch(struct live *live, uint32_t block, uint32_t page, bool write) {
    uint32_t word = __atomic_add_fetch(&live->written, 1, __ATOMIC_RELAXED);
    return fake_device_access(live->device, block, page, &word, write);
}

/* Whether all these pages are in a mask of the block within a time; that of all devices, or of what
 * has come. */
static bool wait_for(struct live *live, uint32_t block, const struct ff_mask *pages, uint64_t ns,
                     bool may_have_left) {
    uint64_t end = ff__clock_ns() + ns;
    for (bool is_there = false;; usleep(500)) {
        pthread_mutex_lock(&live->device->lock);
        struct ff_mask there = may_have_left ? live->device->content.blocks[block].came
                                             : fake_on_devices(&live->device->content, block);
        is_there = ff_mask_within(pages, &there);
        pthread_mutex_unlock(&live->device->lock);
        if (is_there || ff__clock_ns() > end)
            return is_there;
    }
}

bool live_come(struct live *live, uint32_t block, const struct ff_mask *pages, uint64_t ns) {
    return wait_for(live, block, pages, ns, false);
}

bool live_has_come(struct live *live, uint32_t block, const struct ff_mask *pages, uint64_t ns) {
    return wait_for(live, block, pages, ns, true);
}

void live_await_work(struct live *live, uint32_t block) {
    bool at_work = false;
    for (uint32_t i = 0; i < 5000 && !at_work; i++, usleep(200)) {
        pthread_mutex_lock(&live->device->lock);
        at_work = live->device->content.blocks[block].at_work;
        pthread_mutex_unlock(&live->device->lock);
    }
}
