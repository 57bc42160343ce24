/* Opening and closing contexts. */
#include "runtime/context.h"

#include "backend/live.h"
#include "base/error.h"
#include "base/sized.h"
#include "runtime/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY_MIN (2 * FF_BLOCK_SIZE)

/* The caller's configuration, with the defaults of what its struct does not have. */
static int take_config(struct ff_config *to, const struct ff_config *from, struct ff_error *error) {
    ff_config_init(to);
    if (from->size == 0)
        return ff__fail(error, -EINVAL, "the configuration is empty: ff_config_init() sets it up");
    if (ff__sized_get(to, sizeof *to, from, from->size))
        return ff__fail(
            error, -E2BIG,
            "the program sets what this libfarfault does not know; install a newer one");
    to->size = sizeof *to;
    return 0;
}

/* All zero: as fast as memory copies. */
static bool is_link(const struct ff_link *link) {
    bool is_none = link->bytes_per_second == 0 && link->latency_ns == 0;
    return is_none || ff__link_is_possible(link);
}

static int check_config(const struct ff_config *config, struct ff_error *error) {
    if (config->memory < MEMORY_MIN)
        return ff__fail(
            error, -EINVAL,
            "memory=%llu: a device needs at least 4M, for an access across a 2M boundary "
            "needs two blocks",
            (unsigned long long)config->memory);
    if (config->devices < 1 || config->devices >= FF_TIERS_MAX)
        return ff__fail(error, -EINVAL, "devices=%u: must be 1 to %u", config->devices,
                        FF_TIERS_MAX - 1);
    if (config->touches && (!config->record || strcmp(config->system, "demand") != 0))
        return ff__fail(error, -EINVAL,
                        "touches=on: is for recordings under demand, which brings nothing unasked: "
                        "set record and system=demand");
    if (config->accesses && (!config->record || config->touches))
        return ff__fail(error, -EINVAL,
                        "accesses=on: is for recordings of all that kernels access: set record, "
                        "and not touches");
    if (config->granule != FF_PAGE_SIZE && config->granule != FF_LEAF_SIZE &&
        config->granule != FF_BLOCK_SIZE)
        return ff__fail(error, -EINVAL, "granule=%llu: must be 4K, 64K or 2M",
                        (unsigned long long)config->granule);
    if (config->fault_workers > FF__FAULT_WORKERS_MAX)
        return ff__fail(error, -EINVAL, "fault_workers=%u: at most %u, 0 for as many as CPUs",
                        config->fault_workers, FF__FAULT_WORKERS_MAX);
    if (config->address_space < FF_BLOCK_SIZE || config->address_space > UINT64_C(1) << 44)
        return ff__fail(error, -EINVAL, "address_space=%llu: must be 2M to 16T",
                        (unsigned long long)config->address_space);
    if (!is_link(&config->link) || !is_link(&config->peer_link))
        return ff__fail(error, -EINVAL,
                        "%s: must be 1 MB/s to 1000 TB/s with a latency of up to 1 s, or all zero",
                        is_link(&config->link) ? "peer_link" : "link");
    return 0;
}

/* ---- parts, each above the one before ---- */

static int init_tables(struct ff_context *context, struct ff_error *error) {
    uint32_t blocks = (uint32_t)(context->config.address_space >> FF_BLOCK_SHIFT);
    if (ff__moved_init(&context->moved) || ff__allocations_init(&context->allocations, blocks))
        return ff__fail(error, -ENOMEM, "no memory for a context");
    return 0;
}

static void fini_tables(struct ff_context *context) {
    ff__moved_fini(&context->moved);
    ff__allocations_fini(&context->allocations);
}

static int find_system(const struct ff_config *config, struct ff__system *system,
                       struct ff_error *error) {
    int status = config->policy_file ? ff__policy_load(config->policy_file, error) : 0;
    return status ? status : ff__system_parse(config->system, system, error);
}

static int open_backend(struct ff_context *context, const struct ff__system *system,
                        struct ff_error *error) {
    context->backend = &ff__soft_backend;
    int status = context->backend->open(&context->config, &context->share.neighbours,
                                        ff__system_evicts_by_use(system), &context->self, error);
    if (!status)
        context->backend->describe(context->self, &context->description);
    return status;
}

static int open_engine(struct ff_context *context, const struct ff__system *system,
                       struct ff_error *error) {
    const struct ff_config *config = &context->config;
    struct ff__engine_config engine = {
        .system = *system, .seed = config->seed, .check = config->check};
    ff__engine_configure(&engine, &context->description);
    engine.reserve = ff__engine_reserve(engine.memory, FF__RESERVE_SHARE, FF__RESERVE_MAX);
    int status = ff__engine_open(&context->engine, &engine, error);
    if (!status)
        context->space = ff__engine_space(context->engine);
    return status;
}

/* What is shared bounds what the device has. */
static int join(struct ff_context *context, struct ff_error *error) {
    struct ff_config *config = &context->config;
    int status = ff__share_join(&context->share, config, error);
    if (!status && config->share)
        config->memory = context->share.memory & ~(uint64_t)(FF_BLOCK_SIZE - 1);
    return status;
}

static int open_pipeline(struct ff_context *context, struct ff_error *error) {
    const struct ff__pipeline_config pipeline = {
        .engine = context->engine,
        .backend = context->backend,
        .self = context->self,
        .log = {context->config.log, context->config.log_user},
        .observer = ff__context_observer(context),
        .left_news = ff__context_launch_news(context),
        .fault_workers = context->description.serves_here ? 1 : context->config.fault_workers,
    };
    int status = ff__pipeline_start(&context->pipeline, &pipeline, error);
    if (status)
        return status;
    status = ff__share_start(&context->share, &context->pipeline);
    if (status) {
        ff__pipeline_stop(&context->pipeline);
        return ff__fail(error, status, "cannot start a thread: %s", strerror(-status));
    }
    return 0;
}

static int start(struct ff_context *context, struct ff_error *error) {
    int status = ff__context_open_recorder(context, error);
    if (status)
        return status;
    status = open_pipeline(context, error);
    if (status)
        ff__recorder_abandon(context->recorder);
    return status;
}

static int open_parts(struct ff_context *context, struct ff_error *error) {
    struct ff__system system;
    int status = find_system(&context->config, &system, error);
    if (!status)
        status = open_backend(context, &system, error);
    if (status)
        return status;
    status = open_engine(context, &system, error);
    if (!status) {
        status = start(context, error);
        if (status)
            ff__engine_close(context->engine);
    }
    if (status)
        context->backend->close(context->self);
    return status;
}

/* ---- contexts ---- */

int ff_open(const struct ff_config *wanted, struct ff_context **out, struct ff_error *error) {
    struct ff_config config;
    struct ff_error unwanted;
    error = error ? error : &unwanted;
    error->message[0] = '\0';
    int status = take_config(&config, wanted, error);
    if (!status)
        status = check_config(&config, error);
    if (status)
        return status;
    uint32_t process = ff__process_number();
    struct ff_context *context = aligned_alloc(64, (sizeof *context + 63) / 64 * 64);
    if (!context || process == 0) {
        free(context);
        return ff__fail(error, -ENOMEM, "no memory for a context");
    }
    memset(context, 0, sizeof *context);
    context->process = process;
    context->config = config;
    context->config.memory &= ~(uint64_t)(FF_BLOCK_SIZE - 1);
    context->config.address_space &= ~(uint64_t)(FF_BLOCK_SIZE - 1);
    status = init_tables(context, error);
    if (status) {
        fini_tables(context);
        free(context);
        return status;
    }
    status = join(context, error);
    if (!status)
        status = open_parts(context, error);
    if (status) {
        fini_tables(context);
        ff__share_leave(&context->share);
        free(context);
        return status;
    }
    ff__lock_init(&context->making_workers);
    ff__lock_init(&context->named_places.lock);
    *out = context;
    return 0;
}

void ff_close(struct ff_context *context) {
    if (!context || ff__context_is_inherited(context))
        return;
    for (uint32_t tier = 1; tier < FF_TIERS_MAX; tier++)
        ff__workers_destroy(context->workers[tier]);
    ff__share_stop(&context->share);
    ff__pipeline_stop(&context->pipeline);
    ff__share_leave(&context->share);
    ff__recorder_close(context->recorder);
    ff__engine_close(context->engine);
    context->backend->close(context->self);
    ff__lock_fini(&context->making_workers);
    ff__lock_fini(&context->named_places.lock);
    fini_tables(context);
    free(context);
}
