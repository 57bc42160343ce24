/* Rodinia's nw, Needleman-Wunsch, as UVMSmart ran it (benchmarks/Managed/nw): a matrix of scores,
 * 16x16 pieces at a time, one launch for each diagonal of pieces. CTAs of 16 threads, half a warp:
 * a thread for each column of its piece, which it reads and writes row by row. */
#include "workload/model.h"

#define SIDE 16

enum { REFERENCE, SCORES, ARRAYS };
enum { N, PIECES, LOWER }; /* LOWER: the diagonals after the longest */

static uint32_t arrays(const struct ff__workload_type *type, const void *values,
                       struct ff__array_spec *out) {
    const struct ff__sized *model = values;
    const uint64_t matrix = (model->n + 1) * (model->n + 1) * 4;
    (void)type;
    out[REFERENCE] = (struct ff__array_spec){"referrence", matrix};
    out[SCORES] = (struct ff__array_spec){"itemsets", matrix};
    return ARRAYS;
}

/* Places 0 to 15 load the piece's rows of the reference, 16 the score in the corner, 17 those to
 * the left, 18 those above; 19 to 34 store the rows. The upper kernel begins with the corner. */
static uint32_t place_of(uint32_t index, bool lower) {
    if (lower || index > SIDE)
        return index;
    return index == 0 ? SIDE : index - 1;
}

static bool step(const struct ff__workload *workload, const struct ff__kernel *kernel, uint32_t cta,
                 uint32_t warp, uint32_t index, struct ff__step *out) {
    const struct ff__array *arrays = workload->arrays;
    uint64_t columns = kernel->argument[N] + 1, side = kernel->argument[N] / SIDE;
    bool lower = kernel->argument[LOWER];
    uint64_t x = lower ? cta + side - kernel->argument[PIECES] : cta;
    uint64_t y = lower ? side - cta - 1 : kernel->argument[PIECES] - 1 - cta;
    uint64_t corner = columns * SIDE * y + SIDE * x, inside = corner + columns + 1;
    uint32_t place = place_of(index, lower), pc = ff__pc(1 + lower, place);
    (void)warp;
    if (place < SIDE)
        return ff__step_coalesced(out, FF__LOAD, pc, index ? 4 : 30, &arrays[REFERENCE],
                                  (inside + place * columns) * 4, SIDE * 4);
    if (place == SIDE)
        return ff__step_coalesced(out, FF__LOAD, pc, index ? 4 : 30, &arrays[SCORES], corner * 4,
                                  4);
    if (place == SIDE + 1)
        return ff__step_rows(out, FF__LOAD, pc, 6, &arrays[SCORES], (corner + columns) * 4, 4, SIDE,
                             columns * 4);
    if (place == SIDE + 2)
        return ff__step_coalesced(out, FF__LOAD, pc, 6, &arrays[SCORES], (corner + 1) * 4,
                                  SIDE * 4);
    /* 31 rounds of about 20 instructions go over the piece's diagonals in shared memory */
    return place < 2 * SIDE + 3 &&
           ff__step_coalesced(out, FF__STORE, pc, place == SIDE + 3 ? 620 : 4, &arrays[SCORES],
                              (inside + (place - SIDE - 3) * columns) * 4, SIDE * 4);
}

static void launch(uint64_t n, uint64_t which, struct ff__action *out) {
    uint64_t side = n / SIDE;
    bool lower = which >= side;
    uint64_t pieces = lower ? 2 * side - 1 - which : which + 1;
    out->kind = FF__ACTION_LAUNCH;
    ff__kernel_set(&out->kernel, lower ? "needle_cuda_shared_2" : "needle_cuda_shared_1", pieces, 1,
                   step);
    out->kernel.argument[N] = n;
    out->kernel.argument[PIECES] = pieces;
    out->kernel.argument[LOWER] = lower;
    out->kernel.known.uses = out->kernel.known.alike = FF__ARRAY(REFERENCE) | FF__ARRAY(SCORES);
    ff__kernel_seal(&out->kernel);
}

static bool action(const struct ff__workload *workload, uint64_t index, struct ff__action *out) {
    const uint64_t n = ((const struct ff__sized *)workload->data)->n, row = (n + 1) * 4;
    uint64_t which;
    struct ff__script script = ff__script_begin(workload, index, out);
    ff__script_allocate_all(&script);
    ff__script_write_all(&script, SCORES);
    ff__script_write(&script, REFERENCE, row, row * n); /* all but row 0 */
    if (ff__script_turn(&script, n / SIDE * 2 - 1, &which))
        launch(n, which, out);
    ff__script_synchronize(&script);
    /* the traceback, from corner to corner, visits every row at least once */
    ff__script_read_all(&script, SCORES);
    ff__script_read_all(&script, REFERENCE);
    ff__script_free_all(&script);
    return script.found;
}

static const struct ff_param params[] = {
    FF__PARAM_SIZE,
    {"n", FF_PARAM_INT, 1024, SIDE, 1 << 20, "letters of each sequence, in multiples of 16"},
    {NULL, FF_PARAM_INT, 0, 0, 0, NULL},
};

const struct ff__workload_type ff__workload_nw = {
    .name = "nw",
    .summary =
        "sequence alignment, Needleman-Wunsch (Rodinia): along diagonals, sparse in every row",
    .params = params,
    .open = ff__model_open,
    .shape = &(const struct ff__model_shape){1, SIDE, 1 << 20, arrays},
    .action = action,
};
