/* The networks as workloads: iterations of training or inference as PyTorch launches them. */
#include "workload/dnn/dnn.h"

#include "workload/model.h"

#include <stdlib.h>

enum { BATCH, LENGTH, ITERATIONS };

struct model {
    struct ff__program program;
    struct ff__placement placement;
    uint64_t iterations;
};

static void close_model(struct ff__workload *workload) {
    struct model *model = workload->data;
    ff__placement_free(&model->placement);
    ff__program_free(&model->program);
}

static int make_arrays(struct ff__workload *workload, struct ff_error *error) {
    const struct ff__caching *pool = &((struct model *)workload->data)->placement.pool;
    struct ff__array_spec *specs = calloc(pool->segment_count + 1, sizeof *specs);
    if (!specs)
        return ff__fail(error, -ENOMEM, "no memory for workload %s", workload->type->name);
    for (uint32_t i = 0; i < pool->segment_count; i++)
        specs[i] = (struct ff__array_spec){"segment", pool->segments[i].size};
    int status = ff__model_arrays(workload, specs, pool->segment_count, error);
    free(specs);
    return status;
}

static int open_model(struct ff__workload *workload, const struct ff__network *network,
                      const int64_t *params, struct ff_error *error) {
    struct model *model = workload->data = calloc(1, sizeof *model);
    if (!model)
        return ff__fail(error, -ENOMEM, "no memory for workload %s", workload->type->name);
    model->iterations = (uint64_t)params[ITERATIONS];
    int status = ff__program_make(network, (uint64_t)params[BATCH], (uint64_t)params[LENGTH],
                                  &model->program, error);
    if (!status)
        status = ff__placement_make(&model->program, model->iterations, &model->placement, error);
    if (status)
        return status;
    workload->peak_by = model->placement.iteration_end[model->placement.iteration_count - 1];
    return make_arrays(workload, error);
}

/* ---- actions ---- */

static void fill_kernel(const struct model *model, const struct ff__placed *step,
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
static bool find_step(const struct model *model, uint64_t index, uint64_t *out) {
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
    const struct model *model = workload->data;
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

/* ---- the workloads ---- */

#define NETWORK(id, text, batch, length, length_help, says)                                        \
    static const struct ff_param id##_params[] = {                                                 \
        {"batch", FF_PARAM_INT, batch, 1, 1 << 20, "samples per iteration"},                       \
        {"length", FF_PARAM_INT, length, 1, 4096, length_help},                                    \
        {"iterations", FF_PARAM_INT, 3, 1, 1 << 20, "iterations"},                                 \
        {NULL, FF_PARAM_INT, 0, 0, 0, NULL},                                                       \
    };                                                                                             \
    static int open_##id(struct ff__workload *workload, const int64_t *params, const char *file,   \
                         struct ff_error *error) {                                                 \
        (void)file;                                                                                \
        return open_model(workload, &ff__##id, params, error);                                     \
    }                                                                                              \
    const struct ff__workload_type ff__workload_##id = {                                           \
        .name = text,                                                                              \
        .summary = says,                                                                           \
        .params = id##_params,                                                                     \
        .open = open_##id,                                                                         \
        .close = close_model,                                                                      \
        .action = action,                                                                          \
    };

#define TOKENS "tokens of a sample"
#define SIDE   "side of an image in pixels"

NETWORK(gpt2_xl, "gpt2-xl", 3, 1024, TOKENS, "training GPT-2 XL, 1.5 billion parameters")
NETWORK(gpt2_l, "gpt2-l", 3, 1024, TOKENS, "training GPT-2 Large, 774 million parameters")
NETWORK(bert_large, "bert-large", 14, 512, TOKENS, "training BERT Large, 335 million parameters")
NETWORK(bert_base, "bert-base", 29, 512, TOKENS, "training BERT Base, 110 million parameters")
NETWORK(dlrm, "dlrm", 98304, 1, "unused", "training DLRM with the tables of Criteo Kaggle")
NETWORK(resnet152, "resnet152", 1280, 224, SIDE, "training ResNet-152, 60 million parameters")
NETWORK(resnet200, "resnet200", 1024, 224, SIDE, "training ResNet-200, 65 million parameters")
NETWORK(resnet50, "resnet50", 64, 224, SIDE, "training ResNet-50, 26 million parameters")
NETWORK(resnet101, "resnet101", 64, 224, SIDE, "training ResNet-101, 45 million parameters")
NETWORK(vgg16, "vgg16", 128, 224, SIDE, "training VGG16, 138 million parameters")
NETWORK(mobilenet_v3, "mobilenet-v3", 256, 224, SIDE,
        "training MobileNetV3-Large, 5.5 million parameters")
NETWORK(dcgan, "dcgan", 2048, 64, SIDE, "training DCGAN, 6.3 million parameters")
NETWORK(mobilenet, "mobilenet", 3072, 32, SIDE, "training MobileNet, 3.3 million parameters")
NETWORK(alexnet, "alexnet", 32, 224, SIDE, "AlexNet, inference, 61 million parameters")
NETWORK(cifarnet, "cifarnet", 128, 32, SIDE, "CifarNet, inference, 146 thousand parameters")
NETWORK(squeezenet, "squeezenet", 8, 224, SIDE, "SqueezeNet, inference, 1.2 million parameters")
NETWORK(resnet50_inference, "resnet50-inference", 16, 224, SIDE,
        "ResNet-50, inference, 26 million parameters")
NETWORK(bert_inference, "bert-inference", 8, 384, TOKENS,
        "BERT Base, inference, 110 million parameters")
NETWORK(whisper, "whisper", 1, 16, "tokens that are decoded",
        "Whisper Base, inference, 73 million parameters")

/* ---- for others ---- */

static const struct model *model_of(const struct ff__workload *workload) {
    return workload->type->action == action ? workload->data : NULL;
}

const struct ff__program *ff__dnn_program(const struct ff__workload *workload) {
    const struct model *model = model_of(workload);
    return model ? &model->program : NULL;
}

const struct ff__placement *ff__dnn_placement(const struct ff__workload *workload) {
    const struct model *model = model_of(workload);
    return model ? &model->placement : NULL;
}
