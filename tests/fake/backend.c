#include "fake/backend.h"

#include "base/clock.h"
#include "base/error.h"
#include "engine/pipeline.h"
#include "fake/costs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- making and unmaking ---- */

static int fake_device_open(const struct ff_config *config, const struct ff__neighbours *neighbours,
                            bool uses, void **self, struct ff_error *error) {
    (void)uses;
    pthread_condattr_t monotonic;
    if (neighbours && neighbours->count > 0)
        return ff__fail(error, -ENOTSUP, "the fake device borrows no memory");
    struct fake_device *device = calloc(1, sizeof *device);
    if (!device)
        return ff__fail(error, -ENOMEM, "no memory for the fake device");
    device->memory = config->memory;
    device->size = config->address_space;
    device->devices = config->devices;
    device->granule = (uint32_t)(config->granule / FF_PAGE_SIZE);
    device->serves_here = config->handler == FF_HANDLER_SIGBUS;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&device->lock, NULL);
    pthread_cond_init(&device->arrived, &monotonic);
    pthread_cond_init(&device->posted, &monotonic);
    pthread_condattr_destroy(&monotonic);
    *self = device;
    return 0;
}

static void fake_device_close(void *self) {
    struct fake_device *device = self;
    fake_close(&device->content);
    pthread_mutex_destroy(&device->lock);
    pthread_cond_destroy(&device->arrived);
    pthread_cond_destroy(&device->posted);
    free(device->is_open);
    free(device);
}

static void fake_device_describe(void *self, struct ff__description *out) {
    const struct fake_device *device = self;
    *out = (struct ff__description){
        .base = FAKE_BASE,
        .address_space = device->size,
        .tier_count = 1 + device->devices,
        .shows = FF_SEES_FAULTS | FF_SEES_LAUNCHES | FF_SEES_OPERANDS | FF_SEES_SAMPLES |
                 FF_SEES_SHARERS,
        .controls = FF_CONTROLS_FAULTS | FF_CONTROLS_VICTIMS | FF_CONTROLS_SAMPLING,
        .serves_here = device->serves_here,
        .text = "fake",
    };
    for (uint32_t tier = 1; tier < out->tier_count; tier++)
        out->tier[tier] =
            (struct ff__tier_description){.memory = device->memory, .granule = device->granule};
    set_costs(out);
}

/* ---- the pipeline starts ---- */

static int fake_device_attach(void *self, struct ff__pipeline *pipeline, struct ff_error *error) {
    struct fake_device *device = self;
    const struct ff__space *space = ff__engine_space(pipeline->engine);
    device->pipeline = pipeline;
    device->is_open = calloc(space->block_limit, sizeof *device->is_open);
    if (!device->is_open || fake_open(&device->content, space, 1))
        return ff__fail(error, -ENOMEM, "no memory for the fake device's blocks");
    return 0;
}

/* ---- ranges ---- */

static uint32_t blocks_of(uint64_t page_count) {
    return (uint32_t)((page_count + FF_BLOCK_PAGES - 1) / FF_BLOCK_PAGES);
}

static int fake_device_open_range(void *self, uint32_t first_block, uint64_t page_count) {
    struct fake_device *device = self;
    pthread_mutex_lock(&device->lock);
    for (uint32_t i = 0; i < blocks_of(page_count); i++) {
        if (device->is_open[first_block + i])
            fake_blame(&device->content, "block %u is in two ranges", first_block + i);
        device->is_open[first_block + i] = true;
    }
    pthread_mutex_unlock(&device->lock);
    return 0;
}

static int fake_device_close_range(void *self, uint32_t first_block, uint64_t page_count) {
    struct fake_device *device = self;
    pthread_mutex_lock(&device->lock);
    for (uint32_t i = 0; i < blocks_of(page_count); i++) {
        if (!device->is_open[first_block + i])
            fake_blame(&device->content, "block %u is in no range", first_block + i);
        device->is_open[first_block + i] = false;
        fake_forget(&device->content, first_block + i);
    }
    pthread_mutex_unlock(&device->lock);
    return 0;
}

static void fake_device_write_host(void *self, uint32_t block, const struct ff_mask *pages,
                                   uint32_t first, const char *from) {
    struct fake_device *device = self;
    pthread_mutex_lock(&device->lock);
    fake_write_host(&device->content, block, pages, first, from);
    pthread_mutex_unlock(&device->lock);
}

static void fake_device_discard(void *self, uint32_t block, const struct ff_mask *pages) {
    struct fake_device *device = self;
    pthread_mutex_lock(&device->lock);
    fake_discard(&device->content, block, pages);
    pthread_mutex_unlock(&device->lock);
}

static uint64_t fake_device_host_held(void *self) {
    struct fake_device *device = self;
    uint64_t pages = 0;
    pthread_mutex_lock(&device->lock);
    for (uint64_t block = 0; block < device->size / FF_BLOCK_SIZE; block++)
        pages += ff_mask_count(&device->content.blocks[block].on[FF_TIER_HOST]);
    pthread_mutex_unlock(&device->lock);
    return pages * FF_PAGE_SIZE;
}

static bool fake_device_owns(void *self, uintptr_t low, uintptr_t high) {
    const struct fake_device *device = self;
    return low < FAKE_BASE + device->size && high > FAKE_BASE;
}

/* ---- faults ---- */

static uint64_t fake_device_now(void *self) {
    (void)self;
    return ff__clock_ns();
}

static struct timespec deadline(uint64_t ns) {
    uint64_t at = ff__clock_ns() + ns;
    return (struct timespec){(time_t)(at / 1000000000u), (long)(at % 1000000000u)};
}

static int fake_device_wait(void *self, struct ff__fault *faults, uint32_t capacity, bool soon,
                            uint64_t timeout_ns) {
    struct fake_device *device = self;
    (void)soon;
    pthread_mutex_lock(&device->lock);
    if (device->somebody_waits)
        fake_blame(&device->content, "two threads wait for faults");
    device->somebody_waits = true;
    struct timespec until = deadline(timeout_ns);
    while (device->fault_count == 0 && !device->interrupted &&
           pthread_cond_timedwait(&device->posted, &device->lock, &until) == 0)
        continue;
    device->somebody_waits = device->interrupted = false;
    uint32_t count = device->fault_count < capacity ? device->fault_count : capacity;
    memcpy(faults, device->faults, count * sizeof *faults);
    device->fault_count -= count;
    device->counts.faults += count;
    memmove(device->faults, device->faults + count, device->fault_count * sizeof *faults);
    pthread_mutex_unlock(&device->lock);
    return (int)count;
}

static void fake_device_interrupt(void *self) {
    struct fake_device *device = self;
    pthread_mutex_lock(&device->lock);
    device->interrupted = true;
    pthread_cond_broadcast(&device->posted);
    pthread_mutex_unlock(&device->lock);
}

/* The lock is held. */
static void wake(struct fake_device *device, uint32_t block, const struct ff_mask *pages) {
    for (struct fake_waiter *w = device->waiters; w; w = w->next)
        w->woken = w->woken || (w->block == block && ff_mask_test(pages, w->page));
    pthread_cond_broadcast(&device->arrived);
}

static void fake_device_replay(void *self, uint32_t block, const struct ff_mask *pages) {
    struct fake_device *device = self;
    pthread_mutex_lock(&device->lock);
    device->counts.replays++;
    wake(device, block, pages);
    pthread_mutex_unlock(&device->lock);
}

/* The page's threads alone: a fault on memory that has been freed may be read when the block is
 * another range's. */
static void fake_device_reject(void *self, const struct ff__fault *fault) {
    struct fake_device *device = self;
    uint64_t block = (fault->address - FAKE_BASE) / FF_BLOCK_SIZE;
    uint64_t page = fault->address % FF_BLOCK_SIZE / FF_PAGE_SIZE;
    pthread_mutex_lock(&device->lock);
    device->counts.rejections++;
    for (struct fake_waiter *w = device->waiters; w; w = w->next)
        if (w->block == block && w->page == page)
            w->rejected = w->woken = true;
    pthread_cond_broadcast(&device->arrived);
    pthread_mutex_unlock(&device->lock);
}

/* ---- moves ---- */

/* Nobody else may be at work on the block. Decides whether the move fails, and takes its time. The
 * lock is held, but not meanwhile. */
static bool begin_move(struct fake_device *device, const struct ff__move *move) {
    const struct fake_trouble *trouble = &device->trouble;
    struct fake_block *b = &device->content.blocks[move->block];
    if (!device->is_open[move->block])
        fake_blame(&device->content, "block %u moves but is in no range", move->block);
    if (b->at_work)
        fake_blame(&device->content, "block %u: two verbs at a time", move->block);
    b->at_work = true;
    bool fails = ff__random_below(&device->content.random, 100) < trouble->fail_percent;
    if (move->block == trouble->fail_block)
        fails = fails || device->counts.tries++ < trouble->fail_times;
    uint32_t us = trouble->slow_us + ff__random_below(&device->content.random, trouble->nap_us + 1);
    if (us > 0) {
        pthread_mutex_unlock(&device->lock);
        usleep(us);
        pthread_mutex_lock(&device->lock);
    }
    device->counts.failures += fails;
    return fails;
}

static void carry_out_move(struct fake_device *device, struct ff__move *move) {
    struct ff_mask part = {{0}};
    bool fails = begin_move(device, move);
    if (device->trouble.fail_midway)
        ff_mask_set_run(&part, 0, ff__random_below(&device->content.random, FF_BLOCK_PAGES));
    fake_move(&device->content, move, fails ? &part : NULL);
    if (ff__move_arrives(move)) {
        struct ff_mask there = fake_on_devices(&device->content, move->block);
        there = ff_mask_and(&there, &move->pages);
        wake(device, move->block, &there);
    }
    device->content.blocks[move->block].at_work = false;
}

static void carry_out(struct fake_device *device, struct ff__submission *submission) {
    bool all_left = true;
    submission->end_ns = 1;
    for (uint32_t i = 0; i < submission->count; i++) {
        struct ff__move *move = submission->moves[i];
        if (submission->aborted || (move->after && !all_left))
            move->status = -ECANCELED;
        else
            carry_out_move(device, move);
        all_left = all_left && ff_mask_empty(&move->left);
    }
}

/* Some are carried out when they start, the others when somebody waits for them. */
static void fake_device_submit(void *self, struct ff__submission *submission) {
    struct fake_device *device = self;
    pthread_mutex_lock(&device->lock);
    submission->end_ns = 0;
    if (ff__random_below(&device->content.random, 2) == 0)
        carry_out(device, submission);
    pthread_mutex_unlock(&device->lock);
}

static void fake_device_complete(void *self, struct ff__submission *submission) {
    struct fake_device *device = self;
    pthread_mutex_lock(&device->lock);
    if (submission->end_ns == 0)
        carry_out(device, submission);
    pthread_mutex_unlock(&device->lock);
}

static void fake_device_abort(void *self, struct ff__submission *submission) {
    struct fake_device *device = self;
    pthread_mutex_lock(&device->lock);
    __atomic_store_n(&submission->aborted, true, __ATOMIC_RELAXED);
    device->counts.aborts++;
    pthread_mutex_unlock(&device->lock);
}

const struct ff__backend fake_backend = {
    .open = fake_device_open,
    .close = fake_device_close,
    .describe = fake_device_describe,
    .attach = fake_device_attach,
    .open_range = fake_device_open_range,
    .close_range = fake_device_close_range,
    .write_host = fake_device_write_host,
    .discard = fake_device_discard,
    .host_held = fake_device_host_held,
    .owns = fake_device_owns,
    .now = fake_device_now,
    .wait = fake_device_wait,
    .interrupt = fake_device_interrupt,
    .replay = fake_device_replay,
    .reject = fake_device_reject,
    .submit = fake_device_submit,
    .complete = fake_device_complete,
    .abort = fake_device_abort,
};

/* ---- the program ---- */

static struct ff__fault fault_of(uint32_t block, uint32_t page, bool write) {
    uint64_t address = FAKE_BASE + block * (uint64_t)FF_BLOCK_SIZE + page * FF_PAGE_SIZE;
    return (struct ff__fault){.address = address, .write = write, .thread = 1};
}

void fake_device_post(struct fake_device *device, uint32_t block, uint32_t page, bool write) {
    if (device->fault_count < FAKE_FAULTS)
        device->faults[device->fault_count++] = fault_of(block, page, write);
    pthread_cond_broadcast(&device->posted);
}

/* Sleeps until somebody lets the page's threads go on: whoever is forgotten is noticed. The lock is
 * held. */
static void sleep_until_woken(struct fake_device *device, struct fake_waiter *waiter) {
    struct timespec until = deadline(FAKE_PATIENCE * UINT64_C(1000000000));
    struct fake_waiter **link = &device->waiters;
    waiter->next = device->waiters;
    device->waiters = waiter;
    while (!waiter->woken && !device->closed)
        if (pthread_cond_timedwait(&device->arrived, &device->lock, &until))
            break;
    if (!waiter->woken && !device->closed)
        fake_blame(&device->content, "block %u page %u: the fault is never answered", waiter->block,
                   waiter->page);
    while (*link != waiter)
        link = &(*link)->next;
    *link = waiter->next;
}

/* The lock is held, but not while the fault is served. */
static enum fake_touch meet_fault(struct fake_device *device, uint32_t block, uint32_t page,
                                  bool write) {
    struct fake_waiter waiter = {NULL, block, page, false, false};
    if (!device->serves_here) {
        fake_device_post(device, block, page, write);
        sleep_until_woken(device, &waiter);
        return waiter.rejected ? TOUCH_REJECTED : waiter.woken ? TOUCHED : TOUCH_LOST;
    }
    struct ff__fault fault = fault_of(block, page, write);
    pthread_mutex_unlock(&device->lock);
    int status = ff__pipeline_serve_here(device->pipeline, &fault);
    pthread_mutex_lock(&device->lock);
    device->counts.faults += status == 0;
    return status < 0 ? TOUCH_REJECTED : TOUCHED;
}

enum fake_touch fake_device_access(struct fake_device *device, uint32_t block, uint32_t page,
                                   uint32_t *word, bool write) {
    enum fake_touch result = TOUCHED;
    pthread_mutex_lock(&device->lock);
    while (result == TOUCHED && !device->closed &&
           !fake_access(&device->content, block, page, word, write))
        result = meet_fault(device, block, page, write);
    if (device->closed)
        result = TOUCH_CLOSED;
    pthread_mutex_unlock(&device->lock);
    return result;
}

void fake_device_let_go(struct fake_device *device) {
    pthread_mutex_lock(&device->lock);
    device->closed = true;
    pthread_cond_broadcast(&device->arrived);
    pthread_mutex_unlock(&device->lock);
}
