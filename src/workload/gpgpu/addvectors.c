/* UVMSmart's AddVectors (benchmarks/Managed/AddVectors): y = x + y, one thread an element. */
#include "workload/model.h"

enum { X, Y, ARRAYS };

static uint64_t bytes(uint64_t n, const int64_t *params) {
    (void)params;
    return ARRAYS * n * 4;
}

static bool step(const struct ff__workload *workload, const struct ff__kernel *kernel, uint32_t cta,
                 uint32_t warp, uint32_t index, struct ff__step *out) {
    uint64_t first = (uint64_t)cta * FF__ELEMENT_CTA + warp * FF__WARP;
    uint64_t lanes = ff__lanes(kernel->argument[0], first);
    if (lanes == 0)
        return index == 0 && ff__step_compute(out, ff__pc(1, 0), 10);
    if (index == 3)
        return ff__step_compute(out, ff__pc(1, 4), 4);
    return index < 3 &&
           ff__step_coalesced(out, index == 2 ? FF__STORE : FF__LOAD, ff__pc(1, 1 + index),
                              index == 0 ? 16 : 2, &workload->arrays[index == 0 ? X : Y], first * 4,
                              lanes * 4);
}

static bool action(const struct ff__workload *workload, uint64_t index, struct ff__action *out) {
    struct ff__script script = ff__script_begin(workload, index, out);
    ff__script_allocate_all(&script);
    ff__script_write_all(&script, X);
    ff__script_write_all(&script, Y);
    ff__script_elements(&script, "add", workload->arrays[X].bytes / 4, step);
    ff__script_synchronize(&script);
    ff__script_read_all(&script, Y);
    ff__script_free_all(&script);
    return script.found;
}

static int open(struct ff__workload *workload, const int64_t *params, const char *file,
                struct ff_error *error) {
    static const char *const names[ARRAYS] = {"x", "y"};
    (void)file;
    return ff__model_vectors(workload, params, bytes, names, ARRAYS, error);
}

static const struct ff_param params[] = {
    FF__PARAM_SIZE,
    {"n", FF_PARAM_INT, 1 << 20, 1, FF__VECTOR_LENGTH, "elements"},
    {NULL, FF_PARAM_INT, 0, 0, 0, NULL},
};

const struct ff__workload_type ff__workload_addvectors = {
    .name = "addvectors",
    .summary = "sum of two vectors: streaming",
    .params = params,
    .open = open,
    .action = action,
};
