/* Contexts, memory, hints and statistics of farfault.h. */
#include "backend/soft/context.h"

#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MEMORY_MIN  (2 * FF_BLOCK_SIZE)
#define STOCK_SHARE 32u /* ours: pre-evict to keep a 32nd of the roots free, */
#define STOCK_MAX   4u  /* but no more than this */

#define WRITE_PAGES 8u /* ours: written past the device at a time, from a buffer on the stack */
#define WRITE_SIZE  ((size_t)WRITE_PAGES * FF_PAGE_SIZE)

/* ---- opening ---- */

static int check_config(const struct ff_config *config, struct ff_error *error) {
    uint64_t phys = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    if (config->memory < MEMORY_MIN)
        return ff__fail(
            error, -EINVAL,
            "memory=%llu: a device needs at least 4M, for an access across a 2M boundary "
            "needs two blocks",
            (unsigned long long)config->memory);
    if (config->devices < 1 || config->devices >= FF_TIERS_MAX)
        return ff__fail(error, -EINVAL, "devices=%u: must be 1 to %u", config->devices,
                        FF_TIERS_MAX - 1);
    if (config->memory > phys / config->devices)
        return ff__fail(
            error, -ENOMEM, "memory=%llu for each of %u devices: this machine has %llu bytes",
            (unsigned long long)config->memory, config->devices, (unsigned long long)phys);
    if (config->address_space < FF_BLOCK_SIZE || config->address_space > UINT64_C(1) << 44)
        return ff__fail(error, -EINVAL, "address_space=%llu: must be 2M to 16T",
                        (unsigned long long)config->address_space);
    return 0;
}

static int open_engine(struct ff_context *context, struct ff_error *error) {
    const struct ff_config *config = &context->config;
    uint32_t roots = (uint32_t)(config->memory >> FF_BLOCK_SHIFT), stock = roots / STOCK_SHARE;
    struct ff__engine_config engine = {
        .base = (uintptr_t)context->soft.memory.managed,
        .address_space = config->address_space,
        .devices = config->devices,
        .memory = config->memory,
        .stock = stock < STOCK_MAX ? stock : STOCK_MAX,
        .spare = ff__memory_spare(&context->soft.memory),
        .shows = ff__soft_backend.shows,
        .seed = config->seed,
        .check = config->check,
    };
    int status = config->policy_file ? ff__policy_load(config->policy_file, error) : 0;
    if (!status)
        status = ff__system_parse(config->system, &engine.system, error);
    if (!status)
        status = ff__engine_init(&context->engine, &engine, error);
    if (!status)
        context->soft.space = &context->engine.space;
    return status;
}

static void describe(struct ff_context *context) {
    static const char *const handlers[] = {"adaptive handler", "sleeping handler",
                                           "SIGBUS handler"};
    const struct ff__uffd *uffd = &context->soft.uffd;
    snprintf(context->description, sizeof context->description, "%s, %s%s%s%s",
             context->soft.use_move ? "MOVE" : "COPY", handlers[context->config.handler],
             context->config.link.bytes_per_second > 0 ? ", paced link" : "",
             context->config.host_file ? ", host tier in a file" : "",
             uffd->user_mode_only ? ", user-mode faults only: system calls on absent pages fail"
             : uffd->sigbus       ? ": system calls on absent pages fail"
                                  : "");
}

static int open_recorder(struct ff_context *context, struct ff_error *error) {
    const struct ff_config *config = &context->config;
    const struct ff__recorder_config recording = {
        config->record, config->address_space, config->memory, {config->log, config->log_user}};
    return config->record ? ff__recorder_open(&recording, &context->soft.recorder, error) : 0;
}

static int open_parts(struct ff_context *context, struct ff_error *error) {
    const struct ff_config *config = &context->config;
    struct ff__log log = {config->log, config->log_user};
    int status = ff__soft_init(&context->soft, config, error);
    if (status)
        return status;
    status = open_engine(context, error);
    if (status) {
        ff__soft_fini(&context->soft);
        return status;
    }
    status = open_recorder(context, error);
    if (status) {
        ff__engine_fini(&context->engine);
        ff__soft_fini(&context->soft);
        return status;
    }
    bool sigbus = config->handler == FF_HANDLER_SIGBUS;
    status = ff__pipeline_start(&context->pipeline, &context->engine, &ff__soft_backend,
                                &context->soft, log);
    if (status)
        ff__fail(error, status, "cannot start threads: %s", strerror(-status));
    if (!status && sigbus && (status = ff__sigbus_attach(context)) < 0) {
        ff__fail(error, status, "cannot take over SIGBUS: %s", strerror(-status));
        ff__pipeline_stop(&context->pipeline);
    }
    if (status) {
        ff__recorder_abandon(context->soft.recorder);
        ff__engine_fini(&context->engine);
        ff__soft_fini(&context->soft);
    }
    return status;
}

/* What is weaker here than elsewhere (docs/architecture.md). */
static void tell_limits(const struct ff_context *context) {
    const struct ff__soft *soft = &context->soft;
    struct ff__log log = {context->config.log, context->config.log_user};
    if (soft->uffd.user_mode_only)
        ff__log_line(
            &log, FF_LOG_WARNING,
            "only user-mode faults are permitted here: system calls that meet absent pages "
            "fail with EFAULT");
    if (!soft->use_move)
        ff__log_line(
            &log, FF_LOG_INFO,
            "mechanism COPY: what direct input (O_DIRECT, io_uring) writes to a page while it "
            "is evicted is lost, and dropped content may come back");
    if (soft->uffd.sigbus)
        ff__log_line(&log, FF_LOG_WARNING,
                     "handler SIGBUS: system calls that meet absent pages fail with EFAULT");
}

int ff_open(const struct ff_config *config, struct ff_context **out, struct ff_error *error) {
    struct ff_error unwanted;
    error = error ? error : &unwanted;
    error->message[0] = '\0';
    int status = check_config(config, error);
    if (status)
        return status;
    struct ff_context *context = aligned_alloc(64, (sizeof *context + 63) / 64 * 64);
    if (!context)
        return ff__fail(error, -ENOMEM, "no memory for a context");
    memset(context, 0, sizeof *context);
    context->config = *config;
    context->config.memory &= ~(uint64_t)(FF_BLOCK_SIZE - 1);
    context->config.address_space &= ~(uint64_t)(FF_BLOCK_SIZE - 1);
    status = open_parts(context, error);
    if (status) {
        free(context);
        return status;
    }
    ff__soft_hide(&context->soft);
    pthread_mutex_init(&context->making_workers, NULL);
    describe(context);
    tell_limits(context);
    *out = context;
    return 0;
}

void ff_close(struct ff_context *context) {
    if (!context)
        return;
    for (uint32_t tier = 1; tier < FF_TIERS_MAX; tier++)
        ff__workers_destroy(context->workers[tier]);
    if (context->config.handler == FF_HANDLER_SIGBUS)
        ff__sigbus_detach(context);
    ff__pipeline_stop(&context->pipeline);
    ff__recorder_close(context->soft.recorder);
    ff__engine_fini(&context->engine);
    ff__soft_fini(&context->soft);
    pthread_mutex_destroy(&context->making_workers);
    free(context);
}

const char *ff_context_describe(struct ff_context *context) {
    return context->description;
}

/* ---- allocation ---- */

static struct ff__space *space_of(struct ff_context *context) {
    return &context->engine.space;
}

static void lock(struct ff_context *context) {
    pthread_mutex_lock(&context->pipeline.lock);
}
static void unlock(struct ff_context *context) {
    pthread_mutex_unlock(&context->pipeline.lock);
}

/* The windows of a range, as an offset and a size in the managed and the host area. */
static uint64_t windows_offset(const struct ff_range *range) {
    return (uint64_t)range->first_block << FF_BLOCK_SHIFT;
}

static uint64_t windows_size(const struct ff_range *range) {
    return (uint64_t)range->block_count << FF_BLOCK_SHIFT;
}

struct reservation {
    struct ff__memory *memory;
    uint64_t offset, size;
    int status;
};

static void reserve_host(void *argument) {
    struct reservation *it = argument;
    it->status = ff__memory_reserve_host(it->memory, it->offset, it->size);
}

/* Makes a new range's windows usable. */
static int open_windows(struct ff_context *context, const struct ff_range *range) {
    struct ff__memory *memory = &context->soft.memory;
    uint64_t offset = windows_offset(range), size = windows_size(range);
    struct reservation host = {memory, offset, range->page_count * FF_PAGE_SIZE, 0};
    int status = ff__memory_open(memory, offset, size, true);
    if (!status && memory->host_fd >= 0) {
        ff__pipeline_call(&context->pipeline, reserve_host, &host);
        status = host.status;
        if (status)
            ff__memory_release_host(memory, offset, size);
    }
    if (status)
        ff__memory_open(memory, offset, size, false);
    return status;
}

int ff_mem_alloc(struct ff_context *context, size_t size, void **out) {
    if (size == 0)
        return -EINVAL;
    if (size > context->config.address_space)
        return -ENOMEM;
    uint64_t pages = (size + FF_PAGE_SIZE - 1) / FF_PAGE_SIZE;
    uint32_t id = 0;
    lock(context);
    int status = ff__engine_range_add(&context->engine, pages, 0, ff_tier_of_device(0), &id);
    struct ff_range range = status ? (struct ff_range){0} : space_of(context)->ranges[id];
    unlock(context);
    if (status)
        return status;
    uint64_t offset = windows_offset(&range);
    status = open_windows(context, &range);
    if (status) {
        lock(context);
        ff__engine_range_remove(&context->engine, id);
        unlock(context);
        return status;
    }
    if (context->soft.recorder)
        ff__record_range(context->soft.recorder, id, offset, pages * FF_PAGE_SIZE, 0);
    *out = context->soft.memory.managed + offset;
    return 0;
}

/* The range `pointer` lies in, FF_NONE if it is in none. The lock is held. */
static uint32_t find_range(struct ff_context *context, const void *pointer) {
    uint32_t page, block = ff__space_find(space_of(context), (uintptr_t)pointer, &page);
    return block == FF_NONE ? FF_NONE : space_of(context)->blocks[block].range;
}

struct removal {
    struct ff_context *context;
    uint32_t id;
    struct ff_range range;
};

/* Whether all addresses of the range are farfault's, and not somebody else's since the program has
 * unmapped them. */
static bool restore_windows(struct ff_context *context, const struct ff_range *range) {
    struct ff__soft *soft = &context->soft;
    bool ours = true;
    for (uint32_t i = 0; i < range->block_count; i++)
        ours = ff__changes_restore(&soft->changes, &soft->uffd, range->first_block + i) && ours;
    return ours;
}

/* Windows that are not farfault's any more are never given out again: their blocks stay closed. */
static void remove_range(void *argument) {
    struct removal *it = argument;
    struct ff_context *context = it->context;
    struct ff__memory *memory = &context->soft.memory;
    const struct ff_range *range = &it->range;
    uint64_t offset = windows_offset(range), size = windows_size(range);
    struct ff_mask all = ff_mask_of_run(0, FF_BLOCK_PAGES), none = {{0}};
    for (uint32_t i = 0; i < range->block_count; i++)
        ff__pipeline_evict(&context->pipeline, range->first_block + i, &all, true);
    ff__memory_release_host(memory, offset, size);
    if (context->soft.recorder) /* before the number can be used again */
        ff__record_free(context->soft.recorder, offset, size);
    if (restore_windows(context, range)) {
        ff__memory_open(memory, offset, size, false);
        lock(context);
        ff__engine_range_remove(&context->engine, it->id);
        unlock(context);
    }
    /* a thread that still waits here made a mistake; it faults again and is told so */
    for (uint32_t i = 0; i < range->block_count; i++)
        ff__soft_backend.replay(&context->soft, range->first_block + i, &none);
}

int ff_mem_free(struct ff_context *context, void *pointer) {
    if (!pointer)
        return 0;
    lock(context);
    struct removal removal = {.context = context, .id = find_range(context, pointer)};
    bool found = removal.id != FF_NONE &&
                 ff__range_address(space_of(context), removal.id) == (uintptr_t)pointer;
    if (found)
        removal.range = space_of(context)->ranges[removal.id];
    unlock(context);
    if (!found)
        return -EINVAL;
    ff__pipeline_call(&context->pipeline, remove_range, &removal);
    return 0;
}

bool ff_mem_lookup(struct ff_context *context, const void *pointer, void **base, size_t *size) {
    lock(context);
    uint32_t id = find_range(context, pointer);
    if (id != FF_NONE && base)
        *base = (void *)(uintptr_t)ff__range_address(space_of(context), id);
    if (id != FF_NONE && size)
        *size = (size_t)space_of(context)->ranges[id].page_count * FF_PAGE_SIZE;
    unlock(context);
    return id != FF_NONE;
}

/* Whether [pointer, pointer + size) lies in one range; *range describes it. */
static bool find_span(struct ff_context *context, const void *pointer, size_t size,
                      struct ff_range *range, uint32_t *id) {
    lock(context);
    *id = find_range(context, pointer);
    bool inside = false;
    if (*id != FF_NONE) {
        *range = space_of(context)->ranges[*id];
        uint64_t offset = (uintptr_t)pointer - ff__range_address(space_of(context), *id);
        inside = size <= range->page_count * FF_PAGE_SIZE - offset;
    }
    unlock(context);
    return inside;
}

/* ---- pieces of a span ---- */

/* Calls for every block that [pointer, pointer + size) touches, with the bytes [first, end) of
 * it. */
typedef int (*piece_fn)(struct ff_context *context, uint32_t block, size_t first, size_t end,
                        void *argument);

static int for_each_piece(struct ff_context *context, const void *pointer, size_t size,
                          piece_fn call, void *argument) {
    uint64_t at = (uint64_t)((const char *)pointer - context->soft.memory.managed), end = at + size;
    int status = 0;
    while (at < end && !status) {
        uint64_t window = at & ~(uint64_t)(FF_BLOCK_SIZE - 1);
        uint64_t piece_end = end < window + FF_BLOCK_SIZE ? end : window + FF_BLOCK_SIZE;
        status = call(context, (uint32_t)(at >> FF_BLOCK_SHIFT), at - window, piece_end - window,
                      argument);
        at = piece_end;
    }
    return status;
}

/* The pages that lie wholly in [first, end), and those that are touched at all. */
static struct ff_mask pages_inside(size_t first, size_t end) {
    return ff_mask_of_run((uint32_t)((first + FF_PAGE_SIZE - 1) / FF_PAGE_SIZE),
                          (uint32_t)(end / FF_PAGE_SIZE));
}

static struct ff_mask pages_touched(size_t first, size_t end) {
    return ff_mask_of_run((uint32_t)(first / FF_PAGE_SIZE),
                          (uint32_t)((end + FF_PAGE_SIZE - 1) / FF_PAGE_SIZE));
}

/* ---- writing past the device ---- */

/* Writes pages [first, end) of a block, those that are on no device, straight to the host tier. They
 * come from memory of our own: whoever holds a block must not fault. Returns them. */
static struct ff_mask write_absent(struct ff_context *context, uint32_t block, uint32_t first,
                                   uint32_t end, const char *from) {
    struct ff__space *space = space_of(context);
    struct ff__memory *memory = &context->soft.memory;
    struct ff_mask written = {{0}};
    if (!ff__pipeline_claim(&context->pipeline, block))
        return written;
    struct ff_mask present = ff__block_present(space, block);
    written = ff_mask_of_run(first, end);
    written = ff_mask_minus(&written, &present);
    FF_MASK_FOR_EACH_RUN(&written, run) {
        memcpy(memory->host + ff__soft_offset(&context->soft, block, run.first),
               from + (size_t)(run.first - first) * FF_PAGE_SIZE,
               (size_t)(run.end - run.first) * FF_PAGE_SIZE);
        memset(&memory->sums[block][run.first], 0, (run.end - run.first) * sizeof(struct ff__sum));
    }
    ff__pipeline_release(&context->pipeline, block, &written);
    return written;
}

/* Writes the bytes [first, end) of a block, no more than fit the buffer. */
static void write_part(struct ff_context *context, uint32_t block, size_t first, size_t end,
                       const char *from) {
    char buffer[WRITE_SIZE];
    char *to = context->soft.memory.managed + ((size_t)block << FF_BLOCK_SHIFT);
    uint32_t first_page = (uint32_t)(first / FF_PAGE_SIZE);
    struct ff_mask written = {{0}}, inside = pages_inside(first, end),
                   rest = pages_touched(first, end);
    memcpy(buffer, from, end - first); /* may be managed memory, and fault */
    if (!ff_mask_empty(&inside))
        written = write_absent(context, block, first_page, (uint32_t)(end / FF_PAGE_SIZE), buffer);
    rest = ff_mask_minus(&rest, &written);
    FF_MASK_FOR_EACH_RUN(&rest, run) {
        size_t low = (size_t)run.first * FF_PAGE_SIZE, high = (size_t)run.end * FF_PAGE_SIZE;
        low = low > first ? low : first;
        high = high < end ? high : end;
        memcpy(to + low, buffer + (low - first), high - low); /* faults like any other writer */
    }
}

static int write_piece(struct ff_context *context, uint32_t block, size_t first, size_t end,
                       void *argument) {
    const char **from = argument;
    while (first < end) { /* up to a page's beginning, so that the next part has whole pages */
        size_t whole = (first / FF_PAGE_SIZE + 1) * FF_PAGE_SIZE, most = first + WRITE_SIZE;
        size_t part_end = first % FF_PAGE_SIZE ? whole : most;
        part_end = part_end < end ? part_end : end;
        write_part(context, block, first, part_end, *from);
        *from += part_end - first;
        first = part_end;
    }
    return 0;
}

int ff_mem_write(struct ff_context *context, void *to, const void *from, size_t size) {
    struct ff_range range;
    uint32_t id;
    if (!find_span(context, to, size, &range, &id))
        return -EINVAL;
    return for_each_piece(context, to, size, write_piece, &from);
}

/* ---- hints ---- */

static int prefetch_piece(struct ff_context *context, uint32_t block, size_t first, size_t end,
                          void *argument) {
    struct ff_advice advice = {.block = block,
                               .tier = *(uint32_t *)argument,
                               .launch = FF_NONE,
                               .pages = pages_touched(first, end)};
    ff__pipeline_advise(&context->pipeline, &advice);
    return 0;
}

static int evict_piece(struct ff_context *context, uint32_t block, size_t first, size_t end,
                       void *argument) {
    (void)first, (void)end, (void)argument;
    ff__pipeline_evict(&context->pipeline, block, NULL, false);
    return 0;
}

static int discard_piece(struct ff_context *context, uint32_t block, size_t first, size_t end,
                         void *argument) {
    (void)argument;
    struct ff_mask dead = pages_inside(first, end);
    if (!ff_mask_empty(&dead))
        ff__pipeline_evict(&context->pipeline, block, &dead, false);
    return 0;
}

/* A block that is on its way comes with what it held. */
static int overwrite_piece(struct ff_context *context, uint32_t block, size_t first, size_t end,
                           void *argument) {
    struct ff_mask dead = pages_inside(first, end);
    (void)argument;
    lock(context);
    if (!ff__facts(space_of(context), block)->busy)
        ff__engine_discard(&context->engine, block, &dead);
    unlock(context);
    return 0;
}

/* What is in use again in part is in use. A block that is just leaving drops what was inactive: the
 * program goes on, and writes, when it has left. */
static int activity_piece(struct ff_context *context, uint32_t block, size_t first, size_t end,
                          void *argument) {
    bool inactive = *(bool *)argument;
    struct ff_mask pages = inactive ? pages_inside(first, end) : pages_touched(first, end);
    lock(context);
    if (!inactive)
        ff__pipeline_wait_idle(&context->pipeline, block);
    ff__engine_set_inactive(&context->engine, block, &pages, inactive);
    unlock(context);
    return 0;
}

int ff_mem_prefetch(struct ff_context *context, const void *pointer, size_t size, uint32_t device) {
    struct ff_range range;
    uint32_t id, tier = ff_tier_of_device(device);
    if (device >= context->config.devices || !find_span(context, pointer, size, &range, &id))
        return -EINVAL;
    return for_each_piece(context, pointer, size, prefetch_piece, &tier);
}

/* Moves pages for the program, which waits: on its own thread where such threads move pages anyway, whose
 * caches then have what it touches next. */
static void carry_out(struct ff_context *context, void (*run)(void *argument), void *argument) {
    if (context->config.handler == FF_HANDLER_SIGBUS)
        run(argument);
    else
        ff__pipeline_call(&context->pipeline, run, argument);
}

struct eviction {
    struct ff_context *context;
    uint32_t first, count;
};

static void evict_blocks(void *argument) {
    struct eviction *it = argument;
    for (uint32_t i = 0; i < it->count; i++)
        ff__pipeline_evict(&it->context->pipeline, it->first + i, NULL, false);
}

/* Kernels will use the range on this device: what lies on another leaves it, so that it faults
 * to the new home. */
static void set_home(struct ff_context *context, uint32_t id, uint32_t tier) {
    struct ff__space *space = space_of(context);
    lock(context);
    struct ff_range *range = &space->ranges[id];
    uint32_t first = range->first_block, count = range->block_count;
    bool changes = range->home_tier != tier;
    ff__range_set_home(space, id, tier);
    unlock(context);
    if (changes && context->soft.recorder)
        ff__record_home(context->soft.recorder, (uint64_t)first << FF_BLOCK_SHIFT, tier - 1);
    struct eviction eviction = {context, first, count};
    if (changes)
        carry_out(context, evict_blocks, &eviction);
}

struct hint {
    struct ff_context *context;
    const void *pointer;
    size_t size;
    piece_fn piece;
};

static void take_hint(void *argument) {
    struct hint *it = argument;
    for_each_piece(it->context, it->pointer, it->size, it->piece, NULL);
}

int ff_mem_advise(struct ff_context *context, const void *pointer, size_t size,
                  enum ff_advice_kind advice, uint32_t device) {
    struct ff_range range;
    uint32_t id;
    if (!find_span(context, pointer, size, &range, &id))
        return -EINVAL;
    bool inactive = advice == FF_ADVISE_INACTIVE;
    struct hint hint = {context, pointer, size, NULL};
    switch (advice) {
    case FF_ADVISE_INACTIVE:
    case FF_ADVISE_ACTIVE:
        return for_each_piece(context, pointer, size, activity_piece, &inactive);
    case FF_ADVISE_DISCARD:
    case FF_ADVISE_EVICT:
        hint.piece = advice == FF_ADVISE_EVICT ? evict_piece : discard_piece;
        carry_out(context, take_hint, &hint);
        return 0;
    case FF_ADVISE_OVERWRITE:
        return for_each_piece(context, pointer, size, overwrite_piece, NULL);
    case FF_ADVISE_HOME:
        if (device >= context->config.devices)
            return -EINVAL;
        set_home(context, id, ff_tier_of_device(device));
        return 0;
    default:
        return -EINVAL;
    }
}

/* ---- launches ---- */

void ff_launch_begin(struct ff_context *context, uint32_t device, uint64_t identity,
                     const char *name, const void *const *operands, size_t operand_count) {
    uint32_t tier = ff_tier_of_device(device);
    if (device >= context->config.devices)
        return;
    uint64_t demanded = 0;
    for (size_t i = 0; i < operand_count; i++) {
        lock(context);
        uint32_t id = find_range(context, operands[i]);
        if (id != FF_NONE)
            demanded += space_of(context)->ranges[id].page_count;
        unlock(context);
        if (id != FF_NONE)
            set_home(context, id, tier);
    }
    lock(context);
    space_of(context)->stats.demanded += demanded;
    unlock(context);
    if (context->soft.recorder)
        ff__record_launch(context->soft.recorder, device, identity, name, true);
    ff__pipeline_launch(&context->pipeline, tier, identity, true);
}

void ff_launch_end(struct ff_context *context, uint32_t device, uint64_t identity) {
    if (device >= context->config.devices)
        return;
    ff__pipeline_launch(&context->pipeline, ff_tier_of_device(device), identity, false);
    if (context->soft.recorder)
        ff__record_launch(context->soft.recorder, device, identity, NULL, false);
}

/* ---- recording ---- */

int ff_record_finish(struct ff_context *context) {
    return context->soft.recorder ? ff__recorder_finish(context->soft.recorder) : 0;
}

/* ---- statistics ---- */

void ff_stats_read(struct ff_context *context, struct ff_stats *out) {
    lock(context);
    *out = space_of(context)->stats;
    unlock(context);
}

int ff_check(struct ff_context *context, struct ff_error *error) {
    lock(context);
    struct ff_error first = context->engine.failure;
    int status = first.message[0] ? -EUCLEAN : ff__engine_check(&context->engine, &first);
    unlock(context);
    if (status && error)
        *error = first;
    return status;
}

double ff_stats_hit_rate(const struct ff_stats *stats) {
    if (stats->demanded == 0)
        return -1;
    double missed = (double)stats->faults / (double)stats->demanded;
    return missed < 1 ? 1 - missed : 0;
}
