/* PolyBench/GPU's 2DCONV as UVMSmart ran it (benchmarks/Managed/2DCONV): every inner point of B from
 * the nine points of A around it. CTAs of 32x8 threads: a warp is 32 columns of one row. */
#include "workload/model.h"

enum { A, B, ARRAYS };
enum { N };

static uint64_t bytes(uint64_t n, const int64_t *params) {
    (void)params;
    return ARRAYS * n * n * 4;
}

/* 48 instructions a thread in the published log. */
static bool step(const struct ff__workload *workload, const struct ff__kernel *kernel, uint32_t cta,
                 uint32_t warp, uint32_t index, struct ff__step *out) {
    const struct ff__array *arrays = workload->arrays;
    uint64_t n = kernel->argument[N];
    uint32_t width = (uint32_t)((n + 31) / 32);
    uint64_t row = (uint64_t)(cta / width) * 8 + warp;
    uint64_t left = (uint64_t)(cta % width) * 32, right = left + 32;
    left = left > 0 ? left : 1;
    right = right < n ? right : n - 1;
    if (row == 0 || row + 1 >= n || left >= right)
        return index == 0 && ff__step_compute(out, ff__pc(1, 0), 18);
    uint64_t at = row * n + left, lanes = right - left;
    uint32_t pc = ff__pc(1, 1 + index);
    if (index < 9) /* rows from above, in each the columns from the left: the order of the sum */
        return ff__step_coalesced(out, FF__LOAD, pc, index == 0 ? 20 : 3, &arrays[A],
                                  (at + index / 3 * n + index % 3 - n - 1) * 4, lanes * 4);
    if (index == 9)
        return ff__step_coalesced(out, FF__STORE, pc, 3, &arrays[B], at * 4, lanes * 4);
    return index == 10 && ff__step_compute(out, pc, 1);
}

static bool action(const struct ff__workload *workload, uint64_t index, struct ff__action *out) {
    const uint64_t *n = workload->data;
    struct ff__script script = ff__script_begin(workload, index, out);
    uint64_t which;
    ff__script_allocate_all(&script);
    ff__script_write_all(&script, A);
    if (ff__script_turn(&script, 1, &which)) {
        out->kind = FF__ACTION_LAUNCH;
        ff__kernel_set(&out->kernel, "Convolution2D_kernel",
                       ff__ceil_div(*n, 32) * ff__ceil_div(*n, 8), 8, step);
        out->kernel.argument[N] = *n;
        out->kernel.known = ff__known_strided(ARRAYS);
        ff__kernel_seal(&out->kernel);
    }
    ff__script_synchronize(&script);
    ff__script_read_all(&script, B);
    ff__script_free_all(&script);
    return script.found;
}

static int open(struct ff__workload *workload, const int64_t *params, const char *file,
                struct ff_error *error) {
    uint64_t n;
    (void)file;
    int status =
        ff__model_size(workload, params, bytes, (uint64_t)params[1], 1, 1 << 19, &n, error);
    if (!status)
        status = ff__model_keep(workload, &n, sizeof n, error);
    if (status)
        return status;
    const struct ff__array_spec specs[ARRAYS] = {{"A", n * n * 4}, {"B", n * n * 4}};
    return ff__model_arrays(workload, specs, ARRAYS, error);
}

static const struct ff_param params[] = {
    FF__PARAM_SIZE,
    {"n", FF_PARAM_INT, 1024, 1, 1 << 19, "rows and columns"},
    {NULL, FF_PARAM_INT, 0, 0, 0, NULL},
};

const struct ff__workload_type ff__workload_2dconv = {
    .name = "2dconv",
    .summary = "convolution in two dimensions (PolyBench): streaming",
    .params = params,
    .open = open,
    .action = action,
};
