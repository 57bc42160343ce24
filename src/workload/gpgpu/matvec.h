/* The kernels that PolyBench/GPU's products of a matrix and a vector are made of. */
#ifndef FF_WORKLOAD_GPGPU_MATVEC_H
#define FF_WORKLOAD_GPGPU_MATVEC_H

#include "workload/model.h"

/* out += A * in, a thread for each row of the n x n matrix A (array 0): at any moment, the lanes of a
 * warp are a row apart. Or its transpose, a thread for each column: the lanes are neighbours. */
struct ff__matvec {
    const char *name; /* of the kernel */
    bool transposed;
    uint8_t in, out; /* arrays */
};

/* Array 0 and, after it, `count` - 1 vectors, with size or n (params[0], params[1]). */
int ff__matvec_open(struct ff__workload *workload, const int64_t *params, const char *const *names,
                    uint32_t count, struct ff_error *error);

void ff__matvec_launch(const struct ff__workload *workload, const struct ff__matvec *product,
                       struct ff__action *out);

#define FF__MATVEC_N_MAX (1 << 20)
#define FF__MATVEC_PARAMS                                                                          \
    {                                                                                              \
        FF__PARAM_SIZE, {"n", FF_PARAM_INT, 1200, 1, FF__MATVEC_N_MAX, "rows and columns"}, {      \
            NULL, FF_PARAM_INT, 0, 0, 0, NULL                                                      \
        }                                                                                          \
    }

#endif
