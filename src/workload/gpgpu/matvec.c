/* PolyBench/GPU's products of an n x n matrix and vectors, two kernels each. UVMSmart ran ATAX
 * (benchmarks/Managed/ATAX); it does not ship BICG and MVT, which are as large here. */
#include "workload/model.h"

#define CTA_THREADS 256
#define N_MAX       (1 << 20)
#define VECTORS_MAX 4

enum { N, TRANSPOSED, IN, OUT };

/* Array 0 is the matrix A, the others are vectors. */
struct matvec {
    const char *arrays[1 + VECTORS_MAX];
    uint32_t count;
    /* out += A * in, a thread for each row: at any moment, the lanes of a warp are a row apart. Or
     * its transpose, a thread for each column: the lanes are neighbours. */
    struct matvec_product {
        const char *name; /* of the kernel */
        bool transposed;
        uint8_t in, out;
    } products[2];
    uint8_t written[1 + VECTORS_MAX], written_count, read[2], read_count; /* by the host */
};

static uint32_t arrays(const struct ff__workload_type *type, const void *values,
                       struct ff__array_spec *out) {
    const struct matvec *description = type->description;
    const uint64_t n = ((const struct ff__sized *)values)->n;
    for (uint32_t i = 0; i < description->count; i++)
        out[i] = (struct ff__array_spec){description->arrays[i], (i == 0 ? n * n : n) * 4};
    return description->count;
}

/* A[row][column] for the lanes from `first` on, in round `round` of the loop. */
static bool load_matrix(struct ff__step *out, const struct ff__array *matrix, uint64_t n,
                        bool transposed, uint64_t first, uint64_t lanes, uint64_t round) {
    uint32_t pc = ff__pc(1 + transposed, 1), instructions = 1 + round % 2;
    if (transposed)
        return ff__step_coalesced(out, FF__LOAD, pc, instructions, matrix, (round * n + first) * 4,
                                  lanes * 4);
    return ff__step_rows(out, FF__LOAD, pc, instructions, matrix, (first * n + round) * 4, 4,
                         (uint32_t)lanes, n * 4);
}

/* The sum is loaded once and stored in every round, because it could be one of the operands. The
 * published log of ATAX has 4.6 instructions a round: load, load, multiply and add, store, and a
 * share of an unrolled loop's. */
static bool step(const struct ff__workload *workload, const struct ff__kernel *kernel, uint32_t cta,
                 uint32_t warp, uint32_t index, struct ff__step *out) {
    const struct ff__array *arrays = workload->arrays;
    uint64_t n = kernel->argument[N];
    uint64_t first = (uint64_t)cta * CTA_THREADS + warp * FF__WARP;
    uint64_t lanes = ff__lanes(n, first);
    bool transposed = kernel->argument[TRANSPOSED];
    const struct ff__array *sum = &arrays[kernel->argument[OUT]];
    if (lanes == 0)
        return index == 0 && ff__step_compute(out, ff__pc(1 + transposed, 0), 10);
    if (index == 0)
        return ff__step_coalesced(out, FF__LOAD, ff__pc(1 + transposed, 4), 24, sum, first * 4,
                                  lanes * 4);
    uint64_t round = (index - 1) / 3;
    if (round >= n)
        return false;
    switch ((index - 1) % 3) {
    case 0:
        return load_matrix(out, arrays, n, transposed, first, lanes, round);
    case 1:
        return ff__step_coalesced(out, FF__LOAD, ff__pc(1 + transposed, 2), 1,
                                  &arrays[kernel->argument[IN]], round * 4, 4);
    default:
        return ff__step_coalesced(out, FF__STORE, ff__pc(1 + transposed, 3), 2, sum, first * 4,
                                  lanes * 4);
    }
}

static void launch(uint64_t n, const struct matvec_product *product, struct ff__action *out) {
    out->kind = FF__ACTION_LAUNCH;
    ff__kernel_set(&out->kernel, product->name, ff__ceil_div(n, CTA_THREADS),
                   CTA_THREADS / FF__WARP, step);
    out->kernel.argument[N] = n;
    out->kernel.argument[TRANSPOSED] = product->transposed;
    out->kernel.argument[IN] = product->in;
    out->kernel.argument[OUT] = product->out;
    out->kernel.known.strided = FF__ARRAY(product->in) | FF__ARRAY(product->out);
    out->kernel.known.uses = out->kernel.known.strided | FF__ARRAY(0);
    if (product->transposed) /* threads that are neighbours read neighbours */
        out->kernel.known.strided |= FF__ARRAY(0);
    ff__kernel_seal(&out->kernel);
}

static bool action(const struct ff__workload *workload, uint64_t index, struct ff__action *out) {
    const struct matvec *description = workload->type->description;
    struct ff__script script = ff__script_begin(workload, index, out);
    uint64_t which;
    ff__script_allocate_all(&script);
    for (uint32_t i = 0; i < description->written_count; i++)
        ff__script_write_all(&script, description->written[i]);
    if (ff__script_turn(&script, 2, &which))
        launch(((const struct ff__sized *)workload->data)->n, &description->products[which], out);
    ff__script_synchronize(&script);
    for (uint32_t i = 0; i < description->read_count; i++)
        ff__script_read_all(&script, description->read[i]);
    ff__script_free_all(&script);
    return script.found;
}

static const struct ff_param params[] = {
    FF__PARAM_SIZE,
    {"n", FF_PARAM_INT, 1200, 1, N_MAX, "rows and columns"},
    {NULL, FF_PARAM_INT, 0, 0, 0, NULL},
};

#define MATVEC(id, text, ...)                                                                      \
    const struct ff__workload_type ff__workload_##id = {                                           \
        .name = #id,                                                                               \
        .summary = text,                                                                           \
        .params = params,                                                                          \
        .open = ff__model_open,                                                                    \
        .shape = &(const struct ff__model_shape){1, 1, N_MAX, arrays},                             \
        .action = action,                                                                          \
        .description = &(const struct matvec)__VA_ARGS__,                                          \
    };

/* tmp = A x, y = A^T tmp */
MATVEC(atax, "matrix times vector, and transposed (PolyBench): one page per lane, then regular",
       {.arrays = {"A", "x", "y", "tmp"},
        .count = 4,
        .products = {{"atax_kernel1", false, 1, 3}, {"atax_kernel2", true, 3, 2}},
        .written = {1, 0},
        .written_count = 2,
        .read = {2},
        .read_count = 1})

/* s = A^T r, q = A p */
MATVEC(bicg, "two products of BiCGStab (PolyBench): regular, then one page per lane",
       {.arrays = {"A", "r", "s", "p", "q"},
        .count = 5,
        .products = {{"bicg_kernel1", true, 1, 2}, {"bicg_kernel2", false, 3, 4}},
        .written = {0, 1, 3},
        .written_count = 3,
        .read = {2, 4},
        .read_count = 2})

/* x1 += A y1, x2 += A^T y2 */
MATVEC(mvt, "matrix times vector, and transposed (PolyBench)",
       {.arrays = {"A", "x1", "x2", "y1", "y2"},
        .count = 5,
        .products = {{"mvt_kernel1", false, 3, 1}, {"mvt_kernel2", true, 4, 2}},
        .written = {0, 1, 2, 3, 4},
        .written_count = 5,
        .read = {1, 2},
        .read_count = 2})
