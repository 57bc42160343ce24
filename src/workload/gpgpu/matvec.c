#include "workload/gpgpu/matvec.h"

#define CTA_THREADS 256

enum { N, TRANSPOSED, IN, OUT };

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
 * published log of ATAX has 4.6 instructions a round: load, load, multiply and add, store, and a share
 * of an unrolled loop's. */
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

/* The third parameter is the number of vectors. */
static uint64_t bytes(uint64_t n, const int64_t *params) {
    return n * (n + (uint64_t)params[2]) * 4;
}

int ff__matvec_open(struct ff__workload *workload, const int64_t *params, const char *const *names,
                    uint32_t count, struct ff_error *error) {
    const int64_t with_vectors[] = {params[0], params[1], count - 1};
    struct ff__array_spec specs[8];
    uint64_t n;
    int status = ff__model_size(workload, with_vectors, bytes, (uint64_t)params[1], 1,
                                FF__MATVEC_N_MAX, &n, error);
    if (!status)
        status = ff__model_keep(workload, &n, sizeof n, error);
    if (status)
        return status;
    for (uint32_t i = 0; i < count; i++)
        specs[i] = (struct ff__array_spec){names[i], (i == 0 ? n * n : n) * 4};
    return ff__model_arrays(workload, specs, count, error);
}

void ff__matvec_launch(const struct ff__workload *workload, const struct ff__matvec *product,
                       struct ff__action *out) {
    const uint64_t *n = workload->data;
    out->kind = FF__ACTION_LAUNCH;
    ff__kernel_set(&out->kernel, product->name, ff__ceil_div(*n, CTA_THREADS),
                   CTA_THREADS / FF__WARP, step);
    out->kernel.argument[N] = *n;
    out->kernel.argument[TRANSPOSED] = product->transposed;
    out->kernel.argument[IN] = product->in;
    out->kernel.argument[OUT] = product->out;
    out->kernel.known.strided = FF__ARRAY(product->in) | FF__ARRAY(product->out);
    out->kernel.known.uses = out->kernel.known.strided | FF__ARRAY(0);
    if (product->transposed) /* threads that are neighbours read neighbours */
        out->kernel.known.strided |= FF__ARRAY(0);
    ff__kernel_seal(&out->kernel);
}
