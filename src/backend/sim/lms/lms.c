#include "backend/sim/lms/lms.h"

#include "backend/sim/lms/paging_history.h"
#include "backend/sim/lms/reclaim.h"
#include "base/error.h"
#include "workload/dnn/dnn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NONE     UINT32_MAX
#define MALLOC_S 0.5e-3 /* cudaMalloc, cudaFree: ours, they wait for the device */

/* device_limit(): of the memory that is free at the first allocation; 5 % are for others. */
#define LIMIT_PERCENT 95

/* LmsStorageImpl's states. NEW: memory to come with the next kernel. FRESH: never an argument yet,
 * or looked at without being one; stays where it is. */
enum tensor_state { GONE, NEW, FRESH, ACTIVE, INACTIVE, RECLAIMED };
enum copying { NOT, OUT, IN };

struct tensor_place {
    enum tensor_state state;
    enum copying copying;
    double copied;   /* when the copy will have ended */
    uint32_t pins;   /* uses of the kernel that is being launched */
    uint32_t paging; /* in the history; NONE: was on the list never */
};

struct lms {
    const struct ff__lms_config *config;
    const struct ff__tape *tape;
    struct ff__sim_result *result;
    struct ff__reclaim reclaim;
    struct ff__paging_history history;
    struct tensor_place *places; /* [tensor] */
    uint32_t *made;              /* tensors whose memory comes with the next kernel */
    uint32_t made_count;
    /* In seconds: until when the host waits, and the device and the links have work. */
    double host, device, in_free, out_free;
};

static void wait_for(struct lms *lms, double time) {
    lms->host = lms->host > time ? lms->host : time;
}

/* ---- copies ---- */

/* Each waits for all kernels launched so far. */
static double transfer(struct lms *lms, double *free_at, const struct ff__link_model *link,
                       uint64_t bytes, uint64_t *busy_ns) {
    uint64_t ns = ff__link_ns(link, bytes);
    double start = lms->device > lms->host ? lms->device : lms->host;
    start = start > *free_at ? start : *free_at;
    *free_at = start + (double)ns * 1e-9;
    *busy_ns += ns;
    return *free_at + link->latency_ns * 1e-9;
}

/* What came back from the host is not there any more: every time that a storage leaves, it is
 * copied. */
static void page_out(void *self, uint32_t tensor) {
    struct lms *lms = self;
    struct tensor_place *place = &lms->places[tensor];
    uint64_t bytes = lms->tape->tensors[tensor].bytes;
    if (place->copying != NOT)
        return;
    place->copied =
        transfer(lms, &lms->out_free, &lms->config->gpu->out, bytes, &lms->result->link_out_ns);
    place->copying = OUT;
    lms->result->bytes_out += bytes;
    lms->result->pages_out += bytes / FF_PAGE_SIZE;
}

static void finish(void *self, uint32_t tensor) {
    struct lms *lms = self;
    struct tensor_place *place = &lms->places[tensor];
    wait_for(lms, place->copied);
    place->copying = NOT;
    place->state = RECLAIMED;
    ff__paging_record(&lms->history, place->paging, true);
}

static int page_in(struct lms *lms, uint32_t tensor) {
    struct tensor_place *place = &lms->places[tensor];
    uint64_t bytes = lms->tape->tensors[tensor].bytes;
    int status = ff__reclaim_allocate(&lms->reclaim, bytes, &lms->reclaim.storages[tensor].block);
    if (status)
        return status;
    place->copied =
        transfer(lms, &lms->in_free, &lms->config->gpu->in, bytes, &lms->result->link_in_ns);
    place->copying = IN;
    lms->result->bytes_in += bytes;
    lms->result->pages_in += bytes / FF_PAGE_SIZE;
    return 0;
}

static void on_segment(void *self, uint32_t segment, bool live) {
    struct lms *lms = self;
    (void)segment, (void)live;
    wait_for(lms, lms->device);
    lms->host += MALLOC_S;
}

/* ---- arguments of operations ---- */

static void leave_list(struct lms *lms, uint32_t tensor) {
    if (lms->places[tensor].state != INACTIVE)
        return;
    ff__reclaim_unlist(&lms->reclaim, tensor);
    ff__paging_record(&lms->history, lms->places[tensor].paging, false);
}

static int pin(struct lms *lms, uint32_t tensor) {
    struct tensor_place *place = &lms->places[tensor];
    int status = 0;
    if (place->pins++ > 0)
        return 0;
    leave_list(lms, tensor);
    if (place->state == RECLAIMED)
        status = page_in(lms, tensor);
    place->state = status ? place->state : ACTIVE;
    return status;
}

/* Reads a pointer: a copy either way must have ended. */
static void look_at(struct lms *lms, uint32_t tensor) {
    struct tensor_place *place = &lms->places[tensor];
    if (place->copying != NOT)
        wait_for(lms, place->copied);
    place->copying = NOT;
}

/* The last one to let go of a storage puts it on the list, and begins to copy what is expected to
 * go. */
static int unpin(struct lms *lms, uint32_t tensor) {
    struct tensor_place *place = &lms->places[tensor];
    int status = 0;
    if (--place->pins > 0)
        return 0;
    ff__reclaim_list(&lms->reclaim, tensor);
    place->state = INACTIVE;
    if (place->paging == NONE) {
        const struct ff__caching_block *block =
            &lms->reclaim.pool.blocks[lms->reclaim.storages[tensor].block];
        status = ff__paging_begin(&lms->history, block->size, lms->reclaim.listed, &place->paging);
    }
    if (!status && ff__paging_expected(&lms->history, place->paging))
        page_out(lms, tensor);
    return status;
}

/* ---- kernels ---- */

static double seconds_of(const struct lms *lms, const struct ff__tape_kernel *kernel) {
    double compute = kernel->flops / lms->config->gpu->flops;
    double memory = kernel->traffic / lms->config->gpu->memory_rate;
    return (compute > memory ? compute : memory) + (double)lms->config->gpu->launch_ns * 1e-9;
}

/* What the operation makes, when its arguments are there. */
static int make_results(struct lms *lms) {
    int status = 0;
    for (uint32_t i = 0; i < lms->made_count && !status; i++) {
        uint32_t tensor = lms->made[i];
        if (lms->places[tensor].state != NEW)
            continue;
        status = ff__reclaim_allocate(&lms->reclaim, lms->tape->tensors[tensor].bytes,
                                      &lms->reclaim.storages[tensor].block);
        lms->places[tensor].state = status ? NEW : FRESH;
    }
    lms->made_count = 0;
    return status;
}

static void launch(struct lms *lms, const struct ff__tape_kernel *kernel) {
    double seconds = seconds_of(lms, kernel);
    lms->device = (lms->device > lms->host ? lms->device : lms->host) + seconds;
    lms->result->kernel_ns += (uint64_t)(seconds * 1e9);
}

/* A kernel stands for the operation that launches it: what was there before is an argument of it,
 * but for what an earlier kernel of the same operation made. */
static bool is_argument(const struct lms *lms, const struct ff__tape_kernel *kernel,
                        uint32_t tensor) {
    enum tensor_state state = lms->places[tensor].state;
    return state > FRESH || (state == FRESH && !kernel->goes_on);
}

/* What is looked at, and what is only asked for its shape: the guard of an operation does not tell.
 */
static uint32_t operand_of(const struct lms *lms, const struct ff__tape_kernel *kernel,
                           uint32_t index) {
    return index < kernel->use_count
               ? lms->tape->uses[kernel->first_use + index].tensor
               : lms->tape->unread[kernel->first_unread + index - kernel->use_count];
}

static int run_kernel(struct lms *lms, const struct ff__tape_kernel *kernel) {
    uint32_t count = kernel->use_count + kernel->unread_count;
    int status = 0;
    for (uint32_t i = 0; i < count && !status; i++)
        if (is_argument(lms, kernel, operand_of(lms, kernel, i)))
            status = pin(lms, operand_of(lms, kernel, i));
    if (!status)
        status = make_results(lms);
    if (status)
        return status;
    for (uint32_t i = 0; i < kernel->use_count; i++)
        look_at(lms, operand_of(lms, kernel, i));
    launch(lms, kernel);
    for (uint32_t i = count; i-- > 0 && !status;) /* as destructors do */
        if (lms->places[operand_of(lms, kernel, i)].pins > 0)
            status = unpin(lms, operand_of(lms, kernel, i));
    return status;
}

/* ---- tensors ---- */

static void make(struct lms *lms, uint32_t tensor) {
    if (lms->places[tensor].state != GONE) /* a parameter */
        return;
    lms->places[tensor] = (struct tensor_place){.state = NEW, .paging = NONE};
    lms->made[lms->made_count++] = tensor;
}

static void drop(struct lms *lms, uint32_t tensor) {
    struct tensor_place *place = &lms->places[tensor];
    look_at(lms, tensor);
    lms->history.storages -= place->paging != NONE;
    leave_list(lms, tensor);
    if (place->state > NEW && place->state != RECLAIMED)
        ff__caching_release(&lms->reclaim.pool, lms->reclaim.storages[tensor].block);
    *place = (struct tensor_place){.paging = NONE};
}

/* Parameters are on the device before the first iteration: model.cuda() copies each to its new
 * place. */
static int place_params(struct lms *lms) {
    int status = 0;
    for (uint32_t i = 0; i < lms->tape->param_count && !status; i++) {
        uint32_t param = lms->tape->params[i];
        make(lms, param);
        status = make_results(lms);
        if (!status)
            status = pin(lms, param);
        if (!status)
            status = unpin(lms, param);
    }
    return status;
}

/* ---- iterations ---- */

static int run_op(struct lms *lms, const struct ff__op *op, const char **what) {
    const struct ff__tape_kernel *kernel = &lms->tape->kernels[op->index];
    switch (op->kind) {
    case FF__OP_NEW:
        make(lms, op->index);
        return 0;
    case FF__OP_FREE:
        drop(lms, op->index);
        return 0;
    case FF__OP_WORK:
        wait_for(lms, lms->device);
        lms->host += (double)op->ns * 1e-9;
        return 0;
    case FF__OP_KERNEL:
    default:
        *what = kernel->name;
        return run_kernel(lms, kernel);
    }
}

static int run_round(struct lms *lms, uint32_t first, uint32_t end, const char **what) {
    double start = lms->host;
    int status = 0;
    for (uint32_t i = first; i < end && !status; i++)
        status = run_op(lms, &lms->tape->ops[i], what);
    if (lms->config->empties)
        ff__caching_empty_cache(&lms->reclaim.pool);
    wait_for(lms, lms->device);
    lms->result->iterations++;
    lms->result->iterations_run++;
    lms->result->last_iteration.time_ns = (uint64_t)((lms->host - start) * 1e9);
    return status;
}

static int run(struct lms *lms, const struct ff__network_program *program, uint64_t iterations,
               struct ff_error *error) {
    const char *what = "the parameters";
    int status = place_params(lms);
    for (uint64_t i = 0; i < iterations && !status; i++)
        status = run_round(lms, i ? program->first_end : 0,
                           i ? program->tape.op_count : program->first_end, &what);
    lms->result->time_ns = (uint64_t)(lms->host * 1e9);
    if (status == -ENOSPC)
        return ff__fail(error, status, "out of memory: the tensors of kernel %s find no room",
                        what);
    return status ? ff__fail(error, status, "no memory for the tensors") : 0;
}

static int prepare(struct lms *lms) {
    uint32_t tensors = lms->tape->tensor_count;
    uint64_t limit = lms->config->memory / 100 * LIMIT_PERCENT;
    int status = ff__reclaim_init(&lms->reclaim, tensors, limit);
    lms->reclaim.pool.on_segment = on_segment;
    lms->reclaim.pool.self = lms;
    lms->reclaim.page_out = page_out;
    lms->reclaim.finish = finish;
    lms->reclaim.self = lms;
    lms->places = calloc(tensors, sizeof *lms->places);
    lms->made = calloc(tensors, sizeof *lms->made);
    for (uint32_t i = 0; lms->places && i < tensors; i++)
        lms->places[i].paging = NONE;
    return lms->places && lms->made ? status : -ENOMEM;
}

int ff__lms_run(const struct ff__lms_config *config, const struct ff__workload *workload,
                uint64_t iterations, struct ff__sim_result *result, struct ff_error *error) {
    const struct ff__network_program *program = ff__dnn_program(workload);
    memset(result, 0, sizeof *result);
    if (!program)
        return ff__fail(error, -ENOTSUP, "lms swaps tensors, and %s has none",
                        workload->type->name);
    struct lms lms = {.config = config, .tape = &program->tape, .result = result};
    int status = prepare(&lms) ? ff__fail(error, -ENOMEM, "no memory for the tensors")
                               : run(&lms, program, iterations, error);
    ff__reclaim_fini(&lms.reclaim);
    ff__paging_history_fini(&lms.history);
    free(lms.places);
    free(lms.made);
    return status;
}
