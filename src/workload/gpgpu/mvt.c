/* PolyBench/GPU's MVT: x1 += A y1, x2 += A^T y2. UVMSmart does not ship it; as large as its ATAX. */
#include "workload/gpgpu/matvec.h"

enum { A, X1, X2, Y1, Y2, ARRAYS };

static bool action(const struct ff__workload *workload, uint64_t index, struct ff__action *out) {
    static const struct ff__matvec products[] = {{"mvt_kernel1", false, Y1, X1},
                                                 {"mvt_kernel2", true, Y2, X2}};
    struct ff__script script = ff__script_begin(workload, index, out);
    uint64_t which;
    ff__script_allocate_all(&script);
    ff__script_write_all(&script, A);
    ff__script_write_all(&script, X1);
    ff__script_write_all(&script, X2);
    ff__script_write_all(&script, Y1);
    ff__script_write_all(&script, Y2);
    if (ff__script_turn(&script, 2, &which))
        ff__matvec_launch(workload, &products[which], out);
    ff__script_synchronize(&script);
    ff__script_read_all(&script, X1);
    ff__script_read_all(&script, X2);
    ff__script_free_all(&script);
    return script.found;
}

static int open(struct ff__workload *workload, const int64_t *params, const char *file,
                struct ff_error *error) {
    static const char *const names[ARRAYS] = {"A", "x1", "x2", "y1", "y2"};
    (void)file;
    return ff__matvec_open(workload, params, names, ARRAYS, error);
}

static const struct ff_param params[] = FF__MATVEC_PARAMS;

const struct ff__workload_type ff__workload_mvt = {
    .name = "mvt",
    .summary = "matrix times vector, and transposed (PolyBench)",
    .params = params,
    .open = open,
    .action = action,
};
