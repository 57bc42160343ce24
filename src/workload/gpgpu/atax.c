/* PolyBench/GPU's ATAX as UVMSmart ran it (benchmarks/Managed/ATAX): tmp = A x, y = A^T tmp. */
#include "workload/gpgpu/matvec.h"

enum { A, X, Y, TMP, ARRAYS };

static bool action(const struct ff__workload *workload, uint64_t index, struct ff__action *out) {
    static const struct ff__matvec products[] = {{"atax_kernel1", false, X, TMP},
                                                 {"atax_kernel2", true, TMP, Y}};
    struct ff__script script = ff__script_begin(workload, index, out);
    uint64_t which;
    ff__script_allocate_all(&script);
    ff__script_write_all(&script, X);
    ff__script_write_all(&script, A);
    if (ff__script_turn(&script, 2, &which))
        ff__matvec_launch(workload, &products[which], out);
    ff__script_synchronize(&script);
    ff__script_read_all(&script, Y);
    ff__script_free_all(&script);
    return script.found;
}

static int open(struct ff__workload *workload, const int64_t *params, const char *file,
                struct ff_error *error) {
    static const char *const names[ARRAYS] = {"A", "x", "y", "tmp"};
    (void)file;
    return ff__matvec_open(workload, params, names, ARRAYS, error);
}

static const struct ff_param params[] = FF__MATVEC_PARAMS;

const struct ff__workload_type ff__workload_atax = {
    .name = "atax",
    .summary = "matrix times vector, and transposed (PolyBench): one page per lane, then regular",
    .params = params,
    .open = open,
    .action = action,
};
