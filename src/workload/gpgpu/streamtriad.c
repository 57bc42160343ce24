/* UVMSmart's StreamTriad (benchmarks/Managed/StreamTriad): z = scalar * x + y, one thread an element.
 * The host initializes z, too. */
#include "workload/model.h"

#define CTA_THREADS 256

enum { X, Y, Z, ARRAYS };
enum { N };

static uint64_t bytes(uint64_t n, const int64_t *params) {
    (void)params;
    return ARRAYS * n * 4;
}

/* 27 instructions a thread in the published log. */
static bool step(const struct ff__workload *workload, const struct ff__kernel *kernel, uint32_t cta,
                 uint32_t warp, uint32_t index, struct ff__step *out) {
    uint64_t first = (uint64_t)cta * CTA_THREADS + warp * FF__WARP;
    uint64_t lanes = ff__lanes(kernel->argument[N], first);
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
    uint64_t n = workload->arrays[X].bytes / 4, which;
    ff__script_allocate_all(&script);
    for (uint32_t array = 0; array < ARRAYS; array++)
        ff__script_write_all(&script, array);
    if (ff__script_turn(&script, 1, &which)) {
        out->kind = FF__ACTION_LAUNCH;
        ff__kernel_set(&out->kernel, "stream_triad", ff__ceil_div(n, CTA_THREADS),
                       CTA_THREADS / FF__WARP, step);
        out->kernel.argument[N] = n;
        ff__kernel_seal(&out->kernel);
    }
    ff__script_synchronize(&script);
    ff__script_read_all(&script, Z);
    ff__script_free_all(&script);
    return script.found;
}

static int open(struct ff__workload *workload, const int64_t *params, const char *file,
                struct ff_error *error) {
    uint64_t n;
    (void)file;
    int status = ff__model_size(workload, params, bytes, (uint64_t)params[1], 1, UINT64_C(1) << 39,
                                &n, error);
    if (status)
        return status;
    const struct ff__array_spec specs[ARRAYS] = {{"x", n * 4}, {"y", n * 4}, {"z", n * 4}};
    return ff__model_arrays(workload, specs, ARRAYS, error);
}

static const struct ff_param params[] = {
    FF__PARAM_SIZE,
    {"n", FF_PARAM_INT, 1 << 20, 1, INT64_C(1) << 39, "elements"},
    {NULL, FF_PARAM_INT, 0, 0, 0, NULL},
};

const struct ff__workload_type ff__workload_streamtriad = {
    .name = "streamtriad",
    .summary = "scaled sum of two vectors into a third: streaming",
    .params = params,
    .open = open,
    .action = action,
};
