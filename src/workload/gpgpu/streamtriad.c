/* UVMSmart's StreamTriad (benchmarks/Managed/StreamTriad): z = scalar * x + y, one thread an element.
 * The host initializes z, too. */
#include "workload/model.h"

enum { X, Y, Z, ARRAYS };

static uint64_t bytes(uint64_t n, const int64_t *params) {
    (void)params;
    return ARRAYS * n * 4;
}

/* 27 instructions a thread in the published log. */
static bool step(const struct ff__workload *workload, const struct ff__kernel *kernel, uint32_t cta,
                 uint32_t warp, uint32_t index, struct ff__step *out) {
    uint64_t first = (uint64_t)cta * FF__ELEMENT_CTA + warp * FF__WARP;
    uint64_t lanes = ff__lanes(kernel->argument[0], first);
    if (lanes == 0)
        return index == 0 && ff__step_compute(out, ff__pc(1, 0), 10);
    if (index == ARRAYS)
        return ff__step_compute(out, ff__pc(1, 4), 4);
    return index < ARRAYS &&
           ff__step_coalesced(out, index == Z ? FF__STORE : FF__LOAD, ff__pc(1, 1 + index),
                              index == X ? 17 : 3, &workload->arrays[index], first * 4, lanes * 4);
}

static bool action(const struct ff__workload *workload, uint64_t index, struct ff__action *out) {
    struct ff__script script = ff__script_begin(workload, index, out);
    ff__script_allocate_all(&script);
    for (uint32_t array = 0; array < ARRAYS; array++)
        ff__script_write_all(&script, array);
    ff__script_elements(&script, "stream_triad", workload->arrays[X].bytes / 4, step);
    ff__script_synchronize(&script);
    ff__script_read_all(&script, Z);
    ff__script_free_all(&script);
    return script.found;
}

static int open(struct ff__workload *workload, const int64_t *params, const char *file,
                struct ff_error *error) {
    static const char *const names[ARRAYS] = {"x", "y", "z"};
    (void)file;
    return ff__model_vectors(workload, params, bytes, names, ARRAYS, error);
}

static const struct ff_param params[] = {
    FF__PARAM_SIZE,
    {"n", FF_PARAM_INT, 1 << 20, 1, FF__VECTOR_LENGTH, "elements"},
    {NULL, FF_PARAM_INT, 0, 0, 0, NULL},
};

const struct ff__workload_type ff__workload_streamtriad = {
    .name = "streamtriad",
    .summary = "scaled sum of two vectors into a third: streaming",
    .params = params,
    .open = open,
    .action = action,
};
