/* The networks as workloads: iterations of training or inference as PyTorch launches them. */
#include "workload/dnn/dnn.h"

#include "workload/model.h"

#include <stdlib.h>

struct network_model {
    struct ff__network_program program;
    struct ff__placement placement;
    uint64_t iterations;
};

static void close_model(struct ff__workload *workload) {
    struct network_model *model = workload->data;
    ff__placement_free(&model->placement);
    ff__program_free(&model->program);
}

static int make_arrays(struct ff__workload *workload, struct ff_error *error) {
    const struct ff__caching *pool = &((struct network_model *)workload->data)->placement.pool;
    struct ff__array_spec *specs = calloc(pool->segment_count + 1, sizeof *specs);
    if (!specs)
        return ff__fail(error, -ENOMEM, "no memory for workload %s", workload->type->name);
    for (uint32_t i = 0; i < pool->segment_count; i++)
        specs[i] = (struct ff__array_spec){"segment", pool->segments[i].size};
    int status = ff__model_arrays(workload, specs, pool->segment_count, error);
    free(specs);
    return status;
}

static int open_model(struct ff__workload *workload, const int64_t *params, const char *file,
                      struct ff_error *error) {
    const struct ff__network *network = (const struct ff__network *)workload->type;
    struct network_model *model = workload->data = calloc(1, sizeof *model);
    (void)file;
    if (!model)
        return ff__fail(error, -ENOMEM, "no memory for workload %s", workload->type->name);
    model->iterations = (uint64_t)params[FF__NETWORK_ITERATIONS];
    int status = ff__program_make(network, (uint64_t)params[FF__NETWORK_BATCH],
                                  (uint64_t)params[FF__NETWORK_LENGTH],
                                  params[FF__NETWORK_WORKSPACES] != 0, &model->program, error);
    if (!status)
        status = ff__placement_make(&model->program, model->iterations, &model->placement, error);
    if (status)
        return status;
    workload->peak_by = model->placement.iteration_end[model->placement.iteration_count - 1];
    return make_arrays(workload, error);
}

/* ---- actions ---- */

static void fill_kernel(const struct network_model *model, const struct ff__placed *step,
                        struct ff__kernel *out) {
    const struct ff__tape_kernel *kernel = &model->program.tape.kernels[step->index];
    *out = (struct ff__kernel){.name = kernel->name,
                               .identity = step->identity,
                               .ctas = 1,
                               .warps = 1,
                               .operands = &model->placement.operands[step->first_operand],
                               .operand_count = kernel->use_count,
                               .flops = kernel->flops,
                               .traffic = kernel->traffic};
}

static void fill(const struct ff__workload *workload, const struct ff__placed *step,
                 struct ff__action *out) {
    *out = (struct ff__action){.kind = step->kind};
    if (step->kind == FF__ACTION_LAUNCH) {
        fill_kernel(workload->data, step, &out->kernel);
    } else if (step->kind == FF__ACTION_WORK) {
        out->work_ns = step->bytes;
    } else if (step->kind != FF__ACTION_ITERATION) {
        bool part = step->kind == FF__ACTION_ACTIVE || step->kind == FF__ACTION_INACTIVE;
        out->array = step->index;
        out->offset = step->offset;
        out->bytes = part ? step->bytes : workload->arrays[step->index].bytes;
    }
}

/* Iterations after the last placed one repeat it. */
static bool find_step(const struct network_model *model, uint64_t index, uint64_t *out) {
    const struct ff__placement *placement = &model->placement;
    uint32_t count = placement->iteration_count;
    uint64_t end = placement->iteration_end[count - 1];
    uint64_t last = count > 1 ? placement->iteration_end[count - 2] : 0;
    uint64_t total = end + (model->iterations - count) * (end - last);
    *out = index < end     ? index
           : index < total ? last + (index - end) % (end - last)
                           : index - total;
    return index < total;
}

static bool action(const struct ff__workload *workload, uint64_t index, struct ff__action *out) {
    const struct network_model *model = workload->data;
    uint64_t step;
    if (find_step(model, index, &step)) {
        fill(workload, &model->placement.steps[step], out);
        return true;
    }
    const struct ff__placed end = {.kind = FF__ACTION_FREE, .index = (uint32_t)step};
    if (step >= workload->array_count)
        return false;
    fill(workload, &end, out);
    return true;
}

const struct ff__workload_type ff__dnn_type = {
    .summary = "a network of the user's",
    .params =
        (const struct ff_param[]){{"batch", FF_PARAM_INT, 1, 1, 1 << 20, "samples per iteration"},
                                  {"length", FF_PARAM_INT, 1, 1, 4096, "unused"},
                                  {"iterations", FF_PARAM_INT, 3, 1, 1 << 20, "iterations"},
                                  {"workspaces", FF_PARAM_BOOL, 0, 0, 1,
                                   "convolutions take memory for Winograd's transforms"},
                                  {NULL, FF_PARAM_INT, 0, 0, 0, NULL}},
    .open = open_model,
    .close = close_model,
    .action = action,
};

/* ---- for others ---- */

static const struct network_model *model_of(const struct ff__workload *workload) {
    return workload->type->action == action ? workload->data : NULL;
}

const struct ff__network_program *ff__dnn_program(const struct ff__workload *workload) {
    const struct network_model *model = model_of(workload);
    return model ? &model->program : NULL;
}

const struct ff__placement *ff__dnn_placement(const struct ff__workload *workload) {
    const struct network_model *model = model_of(workload);
    return model ? &model->placement : NULL;
}
