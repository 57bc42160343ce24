/* One pass over vectors, a thread an element, as UVMSmart ran them (benchmarks/Managed):
 * AddVectors, y = x + y, and StreamTriad, z = scalar * x + y. The host initializes z, too. */
#include "workload/model.h"

#define ARRAYS_MAX 3

struct streaming {
    const char *kernel, *arrays[ARRAYS_MAX];
    uint32_t count;                      /* of arrays */
    uint8_t instructions[ARRAYS_MAX];    /* of the two loads and the store, each */
    uint8_t touched[ARRAYS_MAX], result; /* arrays of these; the host reads the result */
};

static uint32_t arrays(const struct ff__workload_type *type, const void *values,
                       struct ff__array_spec *out) {
    const struct streaming *description = type->description;
    for (uint32_t i = 0; i < description->count; i++)
        out[i] = (struct ff__array_spec){description->arrays[i],
                                         ((const struct ff__sized *)values)->n * 4};
    return description->count;
}

/* 27 instructions a thread of StreamTriad in the published log. */
static bool step(const struct ff__workload *workload, const struct ff__kernel *kernel, uint32_t cta,
                 uint32_t warp, uint32_t index, struct ff__step *out) {
    const struct streaming *description = workload->type->description;
    uint64_t first = (uint64_t)cta * FF__ELEMENT_CTA + warp * FF__WARP;
    uint64_t lanes = ff__lanes(kernel->argument[0], first);
    if (lanes == 0)
        return index == 0 && ff__step_compute(out, ff__pc(1, 0), 10);
    if (index == 3)
        return ff__step_compute(out, ff__pc(1, 4), 4);
    return index < 3 &&
           ff__step_coalesced(out, index == 2 ? FF__STORE : FF__LOAD, ff__pc(1, 1 + index),
                              description->instructions[index],
                              &workload->arrays[description->touched[index]], first * 4, lanes * 4);
}

static bool action(const struct ff__workload *workload, uint64_t index, struct ff__action *out) {
    const struct streaming *description = workload->type->description;
    struct ff__script script = ff__script_begin(workload, index, out);
    ff__script_allocate_all(&script);
    for (uint32_t array = 0; array < description->count; array++)
        ff__script_write_all(&script, array);
    ff__script_elements(&script, description->kernel, workload->arrays[0].bytes / 4, step);
    ff__script_synchronize(&script);
    ff__script_read_all(&script, description->result);
    ff__script_free_all(&script);
    return script.found;
}

static const struct ff_param params[] = {
    FF__PARAM_SIZE,
    {"n", FF_PARAM_INT, 1 << 20, 1, FF__VECTOR_LENGTH, "elements"},
    {NULL, FF_PARAM_INT, 0, 0, 0, NULL},
};

#define STREAM(id, text, ...)                                                                      \
    const struct ff__workload_type ff__workload_##id = {                                           \
        .name = #id,                                                                               \
        .summary = text,                                                                           \
        .params = params,                                                                          \
        .open = ff__model_open,                                                                    \
        .shape = &(const struct ff__model_shape){1, 1, FF__VECTOR_LENGTH, arrays},                 \
        .action = action,                                                                          \
        .description = &(const struct streaming)__VA_ARGS__,                                       \
    };

STREAM(addvectors, "sum of two vectors: streaming",
       {"add", {"x", "y"}, 2, .instructions = {16, 2, 2}, .touched = {0, 1, 1}, .result = 1})
STREAM(streamtriad, "scaled sum of two vectors into a third: streaming",
       {"stream_triad",
        {"x", "y", "z"},
        3,
        .instructions = {17, 3, 3},
        .touched = {0, 1, 2},
        .result = 2})
