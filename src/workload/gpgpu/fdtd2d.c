/* PolyBench/GPU's FDTD-2D as UVMSmart ran it (benchmarks/Managed/FDTD-2D): three kernels a time
 * step over three fields of n x n floats, which all are used in every step.
 *
 * CTAs of 32x8 threads, so a warp is 32 columns of one row. ex has one column and ey one row more.
 * The host waits after every kernel with cudaThreadSynchronize, which UVMSmart, other than
 * cudaDeviceSynchronize, does not take as a reason to move data back: no action here. */
#include "workload/model.h"

enum { FICTITIOUS, EX, EY, HZ, ARRAYS };
enum { N, TIME, KERNEL }; /* arguments */

struct model {
    uint64_t size, n, steps; /* the parameters */
};

static uint32_t arrays(const struct ff__workload_type *type, const void *values,
                       struct ff__array_spec *out) {
    const struct model *model = values;
    const uint64_t n = model->n;
    (void)type;
    out[FICTITIOUS] = (struct ff__array_spec){"_fict_", model->steps * 4};
    out[EX] = (struct ff__array_spec){"ex", n * (n + 1) * 4};
    out[EY] = (struct ff__array_spec){"ey", (n + 1) * n * 4};
    out[HZ] = (struct ff__array_spec){"hz", n * n * 4};
    return ARRAYS;
}

/* The warp's piece of a row. */
struct row_piece {
    uint64_t row, column, lanes;
};

/* False: none of the warp's threads is inside. */
static inline bool find_piece(const struct ff__kernel *kernel, uint32_t cta, uint32_t warp,
                              struct row_piece *out) {
    uint64_t n = kernel->argument[N];
    uint32_t width = (uint32_t)((n + 31) / 32);
    out->row = (uint64_t)(cta / width) * 8 + warp;
    out->column = (uint64_t)(cta % width) * 32;
    out->lanes = n - out->column < 32 ? n - out->column : 32;
    return out->row < n;
}

static inline bool touch(struct ff__step *out, enum ff__direction direction, uint32_t pc,
                         uint32_t instructions, const struct ff__array *array, uint64_t element,
                         const struct row_piece *piece) {
    return ff__step_coalesced(out, direction, pc, instructions, array, element * 4,
                              piece->lanes * 4);
}

/* Threads outside leave after the bounds' check. */
static bool leave(struct ff__step *out, uint32_t kernel, uint32_t index) {
    return index == 0 && ff__step_compute(out, ff__pc(kernel, 31), 14);
}

/* ey -= (hz - hz of the row above) / 2; row 0 is set to the source's value. 34 instructions a
 * thread. */
static bool step_ey(const struct ff__workload *workload, const struct ff__kernel *kernel,
                    uint32_t cta, uint32_t warp, uint32_t index, struct ff__step *out) {
    const struct ff__array *arrays = workload->arrays;
    uint64_t n = kernel->argument[N];
    struct row_piece piece;
    if (!find_piece(kernel, cta, warp, &piece))
        return leave(out, 1, index);
    uint64_t at = piece.row * n + piece.column;
    if (piece.row == 0) {
        if (index == 0)
            return ff__step_coalesced(out, FF__LOAD, ff__pc(1, 0), 20, &arrays[FICTITIOUS],
                                      kernel->argument[TIME] * 4, 4);
        return index == 1 && touch(out, FF__STORE, ff__pc(1, 1), 6, &arrays[EY], at, &piece);
    }
    switch (index) {
    case 0:
        return touch(out, FF__LOAD_AHEAD, ff__pc(1, 2), 20, &arrays[HZ], at, &piece);
    case 1:
        return touch(out, FF__LOAD_AHEAD, ff__pc(1, 3), 4, &arrays[HZ], at - n, &piece);
    case 2:
        return touch(out, FF__LOAD, ff__pc(1, 4), 4, &arrays[EY], at, &piece);
    case 3:
        return touch(out, FF__STORE, ff__pc(1, 5), 5, &arrays[EY], at, &piece);
    case 4:
        return ff__step_compute(out, ff__pc(1, 6), 1);
    default:
        return false;
    }
}

/* ex -= (hz - hz of the column before) / 2, but for column 0. 34 instructions a thread. */
static bool step_ex(const struct ff__workload *workload, const struct ff__kernel *kernel,
                    uint32_t cta, uint32_t warp, uint32_t index, struct ff__step *out) {
    const struct ff__array *arrays = workload->arrays;
    uint64_t n = kernel->argument[N];
    struct row_piece piece;
    if (!find_piece(kernel, cta, warp, &piece))
        return leave(out, 2, index);
    if (piece.column == 0) { /* its first lane has nothing to do */
        piece.column = 1;
        piece.lanes--;
    }
    if (piece.lanes == 0)
        return leave(out, 2, index);
    uint64_t at = piece.row * n + piece.column, at_ex = at + piece.row;
    switch (index) {
    case 0:
        return touch(out, FF__LOAD_AHEAD, ff__pc(2, 0), 20, &arrays[HZ], at, &piece);
    case 1:
        return touch(out, FF__LOAD_AHEAD, ff__pc(2, 1), 4, &arrays[HZ], at - 1, &piece);
    case 2:
        return touch(out, FF__LOAD, ff__pc(2, 2), 4, &arrays[EX], at_ex, &piece);
    case 3:
        return touch(out, FF__STORE, ff__pc(2, 3), 5, &arrays[EX], at_ex, &piece);
    case 4:
        return ff__step_compute(out, ff__pc(2, 4), 1);
    default:
        return false;
    }
}

/* hz -= 0.7 x (difference of ex + difference of ey). 36 instructions a thread. */
static bool step_hz(const struct ff__workload *workload, const struct ff__kernel *kernel,
                    uint32_t cta, uint32_t warp, uint32_t index, struct ff__step *out) {
    const struct ff__array *arrays = workload->arrays;
    uint64_t n = kernel->argument[N];
    struct row_piece piece;
    if (!find_piece(kernel, cta, warp, &piece))
        return leave(out, 3, index);
    uint64_t at = piece.row * n + piece.column, at_ex = at + piece.row;
    switch (index) {
    case 0:
        return touch(out, FF__LOAD_AHEAD, ff__pc(3, 0), 18, &arrays[EX], at_ex + 1, &piece);
    case 1:
        return touch(out, FF__LOAD_AHEAD, ff__pc(3, 1), 2, &arrays[EX], at_ex, &piece);
    case 2:
        return touch(out, FF__LOAD_AHEAD, ff__pc(3, 2), 4, &arrays[EY], at + n, &piece);
    case 3:
        return touch(out, FF__LOAD_AHEAD, ff__pc(3, 3), 3, &arrays[EY], at, &piece);
    case 4:
        return touch(out, FF__LOAD, ff__pc(3, 4), 4, &arrays[HZ], at, &piece);
    case 5:
        return touch(out, FF__STORE, ff__pc(3, 5), 4, &arrays[HZ], at, &piece);
    case 6:
        return ff__step_compute(out, ff__pc(3, 6), 1);
    default:
        return false;
    }
}

static void launch(const struct ff__workload *workload, uint64_t which, struct ff__action *out) {
    static const struct {
        const char *name;
        bool (*step)(const struct ff__workload *, const struct ff__kernel *, uint32_t, uint32_t,
                     uint32_t, struct ff__step *);
    } kernels[] = {{"fdtd_step1_kernel", step_ey},
                   {"fdtd_step2_kernel", step_ex},
                   {"fdtd_step3_kernel", step_hz}};
    const uint64_t n = (workload->arrays[EX].bytes - workload->arrays[HZ].bytes) / 4;
    out->kind = FF__ACTION_LAUNCH;
    ff__kernel_set(&out->kernel, kernels[which % 3].name, ff__ceil_div(n, 32) * ff__ceil_div(n, 8),
                   8, kernels[which % 3].step);
    out->kernel.argument[N] = n;
    out->kernel.argument[TIME] = which / 3;
    out->kernel.known = ff__known_strided(ARRAYS);
    ff__kernel_seal(&out->kernel);
}

static bool action(const struct ff__workload *workload, uint64_t index, struct ff__action *out) {
    struct ff__script script = ff__script_begin(workload, index, out);
    uint64_t which;
    ff__script_allocate_all(&script);
    ff__script_write_all(&script, FICTITIOUS);
    ff__script_write(&script, EX, 0, workload->arrays[HZ].bytes); /* n x n of each, as it is */
    ff__script_write(&script, EY, 0, workload->arrays[HZ].bytes);
    ff__script_write_all(&script, HZ);
    if (ff__script_turn(&script, workload->arrays[FICTITIOUS].bytes / 4 * 3, &which))
        launch(workload, which, out);
    ff__script_read_all(&script, HZ);
    ff__script_free_all(&script);
    return script.found;
}

static const struct ff_param params[] = {
    FF__PARAM_SIZE,
    {"n", FF_PARAM_INT, 1200, 1, 1 << 19, "rows and columns"},
    {"steps", FF_PARAM_INT, 5, 1, 100000, "time steps, of three kernels each"},
    {NULL, FF_PARAM_INT, 0, 0, 0, NULL},
};

const struct ff__workload_type ff__workload_fdtd2d = {
    .name = "fdtd2d",
    .summary =
        "finite differences in two dimensions (PolyBench): regular, every array in every step",
    .params = params,
    .open = ff__model_open,
    .shape = &(const struct ff__model_shape){1, 1, 1 << 19, arrays},
    .action = action,
};
