/* PolyBench/GPU's BICG: s = A^T r, q = A p. UVMSmart does not ship it; as large as its ATAX. */
#include "workload/gpgpu/matvec.h"

enum { A, R, S, P, Q, ARRAYS };

static bool action(const struct ff__workload *workload, uint64_t index, struct ff__action *out) {
    static const struct ff__matvec products[] = {{"bicg_kernel1", true, R, S},
                                                 {"bicg_kernel2", false, P, Q}};
    struct ff__script script = ff__script_begin(workload, index, out);
    uint64_t which;
    ff__script_allocate_all(&script);
    ff__script_write_all(&script, A);
    ff__script_write_all(&script, R);
    ff__script_write_all(&script, P);
    if (ff__script_turn(&script, 2, &which))
        ff__matvec_launch(workload, &products[which], out);
    ff__script_synchronize(&script);
    ff__script_read_all(&script, S);
    ff__script_read_all(&script, Q);
    ff__script_free_all(&script);
    return script.found;
}

static int open(struct ff__workload *workload, const int64_t *params, const char *file,
                struct ff_error *error) {
    static const char *const names[ARRAYS] = {"A", "r", "s", "p", "q"};
    (void)file;
    return ff__matvec_open(workload, params, names, ARRAYS, error);
}

static const struct ff_param params[] = FF__MATVEC_PARAMS;

const struct ff__workload_type ff__workload_bicg = {
    .name = "bicg",
    .summary = "two products of BiCGStab (PolyBench): regular, then one page per lane",
    .params = params,
    .open = open,
    .action = action,
};
