#include "backend/sim/lms.h"

#include "base/error.h"
#include "workload/dnn/dnn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NONE     UINT32_MAX
#define MALLOC_S 0.5e-3 /* cudaMalloc, cudaFree: ours, they wait for the device */

/* Where a tensor is, and its place in the list of those that were used least recently. */
struct place {
    uint32_t block;
    uint32_t before, after;
    bool exists, resident, on_host, listed;
};

struct lms {
    const struct ff__lms_config *config;
    const struct ff__tape *tape;
    struct ff__sim_result *result;
    struct ff__caching pool;
    struct place *places; /* [tensor] */
    uint32_t oldest, newest;
    double time, in_free, out_free; /* seconds: of the device, the links */
    uint32_t segments;              /* live, as of the last look */
};

/* ---- who was used when ---- */

static void unlist(struct lms *lms, uint32_t tensor) {
    struct place *place = &lms->places[tensor];
    if (!place->listed)
        return;
    *(place->before == NONE ? &lms->oldest : &lms->places[place->before].after) = place->after;
    *(place->after == NONE ? &lms->newest : &lms->places[place->after].before) = place->before;
    place->listed = false;
}

static void list(struct lms *lms, uint32_t tensor) {
    struct place *place = &lms->places[tensor];
    unlist(lms, tensor);
    place->before = lms->newest;
    place->after = NONE;
    *(lms->newest == NONE ? &lms->oldest : &lms->places[lms->newest].after) = tensor;
    lms->newest = tensor;
    place->listed = true;
}

/* ---- swapping ---- */

static double transfer(double *free_at, double from, const struct ff__link_model *link,
                       uint64_t bytes, uint64_t *busy_ns) {
    uint64_t ns = ff__link_ns(link, bytes);
    double start = *free_at > from ? *free_at : from;
    *free_at = start + (double)ns * 1e-9;
    *busy_ns += ns;
    return *free_at + link->latency_ns * 1e-9;
}

/* Memory that is given away is free when the copy is out. */
static void swap_out(struct lms *lms, uint32_t tensor) {
    struct place *place = &lms->places[tensor];
    uint64_t bytes = lms->tape->tensors[tensor].bytes;
    if (!place->on_host) {
        lms->time = transfer(&lms->out_free, lms->time, &lms->config->gpu->out, bytes,
                             &lms->result->link_out_ns);
        lms->result->bytes_out += bytes;
        lms->result->pages_out += bytes / FF_PAGE_SIZE;
    }
    place->on_host = true;
    place->resident = false;
    unlist(lms, tensor);
    ff__caching_release(&lms->pool, place->block);
}

/* The tensor that was used least recently of those that are just large enough. */
static uint32_t find_match(const struct lms *lms, uint64_t bytes) {
    uint64_t size = ff__caching_round(bytes);
    for (uint32_t tensor = lms->oldest; tensor != NONE; tensor = lms->places[tensor].after) {
        uint64_t has = lms->pool.blocks[lms->places[tensor].block].size;
        if (has >= size && has <= 2 * size)
            return tensor;
    }
    return NONE;
}

static int extend(struct lms *lms, uint64_t bytes, uint32_t *block) {
    int status = ff__caching_extend(&lms->pool, bytes, block);
    lms->time += status ? 0 : MALLOC_S;
    return status;
}

/* Memory of the cache, then that of a tensor of the same size, then the device's; at last everything
 * leaves, the oldest first. With memory for everything nothing does. */
static int allocate(struct lms *lms, uint64_t bytes, uint32_t *block) {
    int status = ff__caching_reuse(&lms->pool, bytes, block);
    bool short_of_it = status == -ENOSPC && lms->config->memory > 0;
    uint32_t match = short_of_it ? find_match(lms, bytes) : NONE;
    if (match != NONE) {
        swap_out(lms, match);
        status = ff__caching_reuse(&lms->pool, bytes, block);
    }
    if (status == -ENOSPC)
        status = extend(lms, bytes, block);
    while (status == -ENOSPC && lms->oldest != NONE) {
        swap_out(lms, lms->oldest);
        status = ff__caching_reuse(&lms->pool, bytes, block);
    }
    if (status == -ENOSPC) {
        ff__caching_empty_cache(&lms->pool);
        status = extend(lms, bytes, block);
    }
    return status;
}

/* ---- ops ---- */

static int need(struct lms *lms, uint32_t tensor, bool write) {
    struct place *place = &lms->places[tensor];
    uint64_t bytes = lms->tape->tensors[tensor].bytes;
    unlist(lms, tensor);
    int status = place->resident ? 0 : allocate(lms, bytes, &place->block);
    if (status)
        return status;
    if (!place->resident && place->on_host) {
        lms->time = transfer(&lms->in_free, lms->time, &lms->config->gpu->in, bytes,
                             &lms->result->link_in_ns);
        lms->result->bytes_in += bytes;
        lms->result->pages_in += bytes / FF_PAGE_SIZE;
    }
    place->resident = true;
    place->on_host = place->on_host && !write;
    return 0;
}

static double seconds_of(const struct lms *lms, const struct ff__tape_kernel *kernel) {
    double compute = kernel->flops / lms->config->gpu->flops;
    double memory = kernel->traffic / lms->config->gpu->memory_rate;
    return (compute > memory ? compute : memory) + (double)lms->config->gpu->launch_ns * 1e-9;
}

static int run_kernel(struct lms *lms, const struct ff__tape_kernel *kernel) {
    const struct ff__use *uses = &lms->tape->uses[kernel->first_use];
    int status = 0;
    for (uint32_t i = 0; i < kernel->use_count; i++)
        unlist(lms, uses[i].tensor); /* pinned */
    for (uint32_t i = 0; i < kernel->use_count && !status; i++)
        status = need(lms, uses[i].tensor, uses[i].nest.write);
    double seconds = seconds_of(lms, kernel);
    lms->time += seconds;
    lms->result->kernel_ns += (uint64_t)(seconds * 1e9);
    for (uint32_t i = 0; i < kernel->use_count && !status; i++)
        list(lms, uses[i].tensor);
    return status;
}

static void drop(struct lms *lms, uint32_t tensor) {
    struct place *place = &lms->places[tensor];
    unlist(lms, tensor);
    if (place->resident)
        ff__caching_release(&lms->pool, place->block);
    *place = (struct place){.block = NONE};
}

static int run_op(struct lms *lms, const struct ff__op *op, const char **what) {
    const struct ff__tape_kernel *kernel = &lms->tape->kernels[op->index];
    switch (op->kind) {
    case FF__OP_NEW:
        lms->places[op->index] = (struct place){.exists = true, .block = NONE};
        return 0;
    case FF__OP_FREE:
        drop(lms, op->index);
        return 0;
    case FF__OP_WORK:
        lms->time += (double)op->ns * 1e-9;
        return 0;
    case FF__OP_KERNEL:
    default:
        *what = kernel->name;
        return run_kernel(lms, kernel);
    }
}

static int run_round(struct lms *lms, uint32_t first, uint32_t end, const char **what) {
    double start = lms->time;
    int status = 0;
    for (uint32_t i = first; i < end && !status; i++)
        status = run_op(lms, &lms->tape->ops[i], what);
    if (lms->config->empties) {
        uint64_t before = lms->pool.reserved;
        ff__caching_empty_cache(&lms->pool);
        lms->time += before > lms->pool.reserved ? MALLOC_S : 0;
    }
    lms->result->laps++;
    lms->result->lap.time_ns = (uint64_t)((lms->time - start) * 1e9);
    return status;
}

static int run(struct lms *lms, const struct ff__program *program, uint64_t rounds,
               struct ff_error *error) {
    const char *what = "nothing";
    int status = 0;
    for (uint64_t i = 0; i < rounds && !status; i++)
        status = run_round(lms, i ? program->first_end : 0,
                           i ? program->tape.op_count : program->first_end, &what);
    lms->result->time_ns = (uint64_t)(lms->time * 1e9);
    if (status == -ENOSPC)
        return ff__fail(error, status, "out of memory: the tensors of kernel %s find no room",
                        what);
    return status ? ff__fail(error, status, "no memory for the tensors") : 0;
}

int ff__lms_run(const struct ff__lms_config *config, const struct ff__workload *workload,
                uint64_t rounds, struct ff__sim_result *result, struct ff_error *error) {
    const struct ff__program *program = ff__dnn_program(workload);
    memset(result, 0, sizeof *result);
    if (!program)
        return ff__fail(error, -ENOTSUP, "lms swaps tensors, and %s has none",
                        workload->type->name);
    struct lms lms = {
        .config = config, .tape = &program->tape, .result = result, .oldest = NONE, .newest = NONE};
    ff__caching_init(&lms.pool, config->memory);
    lms.places = calloc(program->tape.tensor_count, sizeof *lms.places);
    int status = lms.places ? run(&lms, program, rounds, error)
                            : ff__fail(error, -ENOMEM, "no memory for the tensors");
    ff__caching_fini(&lms.pool);
    free(lms.places);
    return status;
}
