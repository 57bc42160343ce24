#include "cg.h"

#include <stdlib.h>

const struct problem cg_problem = {
    .default_iterations = 10,
    .iteration_is = "one step of the solver, which stops early when it has converged",
};

struct sparse_system cg_system(const struct work *work) {
    return sparse_choose(work->size, CG_VECTORS, true, work->seed);
}

/* Solves in double precision. */
static void reference_solve(const struct sparse_system *system, size_t iterations, double *x,
                            double *r) {
    const size_t rows = system->rows;
    double *p = host_array(rows, sizeof(double));
    double *q = host_array(rows, sizeof(double));
    for (size_t i = 0; i < rows; ++i)
        p[i] = r[i] = (double)sparse_right_side(system, i);

    const double first_residual = sparse_reference_dot(r, r, rows);
    double residual = first_residual;
    for (size_t k = 0; k < iterations && residual > sparse_converged * first_residual; ++k) {
        sparse_reference_multiply(system, p, q);
        const double alpha = residual / sparse_reference_dot(p, q, rows);
        for (size_t i = 0; i < rows; ++i) {
            x[i] += alpha * p[i];
            r[i] -= alpha * q[i];
        }
        const double next_residual = sparse_reference_dot(r, r, rows);
        for (size_t i = 0; i < rows; ++i)
            p[i] = r[i] + next_residual / residual * p[i];
        residual = next_residual;
    }
    free(q);
    free(p);
}

void cg_check(struct work *work, const float *got_x, const float *got_r) {
    const struct sparse_system system = cg_system(work);
    double *x = host_array(system.rows, sizeof(double));
    double *r = host_array(system.rows, sizeof(double));
    reference_solve(&system, work->iterations, x, r);
    sparse_check(work, got_x, x, system.rows);
    sparse_check(work, got_r, r, system.rows);
    free(r);
    free(x);
}
