/*
 * Conjugate gradient on a sparse symmetric positive definite system in CSR form. The vectors are
 * sub-buffers of one workspace, and dot products are partial sums on the device which the host
 * adds up.
 */
#include "sparse.h"

#include <stdlib.h>

static const char kernels[] = SPARSE_KERNELS OPENCL_SOURCE(
    __kernel void advance_solution(__global float *x, __global float *r, __global const float *p,
                                   __global const float *q, float alpha, ulong rows) {
        const ulong i = get_global_id(0);
        if (i >= rows)
            return;
        x[i] += alpha * p[i];
        r[i] -= alpha * q[i];
    }

    __kernel void advance_direction(__global float *p, __global const float *r, float beta,
                                    ulong rows) {
        const ulong i = get_global_id(0);
        if (i < rows)
            p[i] = r[i] + beta * p[i];
    });

static const struct program program = {
    .name = "cg",
    .kernels = kernels,
    .default_iterations = 10,
    .iteration_is = "one step of the solver, which stops early when it has converged",
};

enum { VECTORS = 4 };

struct solver {
    cl_kernel advance_solution, advance_direction;
    struct sparse_matrix a;
    cl_mem x, r, p, q; /* solution, residual, direction, and matrix times direction */
};

/* The four vectors share one buffer, as slices that start where the device can address them. */
static void create_vectors(struct app *app, struct solver *solver) {
    const size_t bytes = solver->a.rows * sizeof(float);
    const size_t alignment = app_sub_buffer_alignment(app);
    const size_t slice = divide_up(bytes, alignment) * alignment;
    cl_mem workspace = app_buffer(app, CL_MEM_READ_WRITE, VECTORS * slice, NULL);
    cl_mem *const vectors[VECTORS] = {&solver->x, &solver->r, &solver->p, &solver->q};
    for (size_t i = 0; i < VECTORS; ++i)
        *vectors[i] = app_sub_buffer(app, workspace, i * slice, bytes);
}

static struct solver create_solver(struct app *app, const struct sparse_system *system) {
    struct solver solver = {
        .advance_solution = app_kernel(app, "advance_solution"),
        .advance_direction = app_kernel(app, "advance_direction"),
        .a = sparse_create(app, system),
    };
    create_vectors(app, &solver);
    return solver;
}

static void upload(struct app *app, const struct solver *solver, const struct sparse_host *host) {
    const float zero = 0;
    const size_t bytes = solver->a.rows * sizeof(float);
    sparse_upload(app, &solver->a, host);
    app_write(app, solver->r, bytes, host->right_side);
    app_fill(app, solver->x, bytes, &zero);
    require(clEnqueueCopyBuffer(app->queue, solver->r, solver->p, 0, 0, bytes, 0, NULL, NULL),
            "clEnqueueCopyBuffer");
}

static void solve(struct app *app, const struct solver *solver) {
    const struct sparse_matrix *a = &solver->a;
    const double first_residual = sparse_dot(app, a, solver->r, solver->r);
    double residual = first_residual;
    for (size_t i = 0; i < app->iterations && residual > sparse_converged * first_residual; ++i) {
        sparse_multiply(app, a, solver->p, solver->q);
        const float alpha = (float)(residual / sparse_dot(app, a, solver->p, solver->q));
        app_launch(app, solver->advance_solution, over(a->rows), ARG(solver->x), ARG(solver->r),
                   ARG(solver->p), ARG(solver->q), ARG(alpha), ARG(a->rows));
        const double next_residual = sparse_dot(app, a, solver->r, solver->r);
        const float beta = (float)(next_residual / residual);
        app_launch(app, solver->advance_direction, over(a->rows), ARG(solver->p), ARG(solver->r),
                   ARG(beta), ARG(a->rows));
        residual = next_residual;
        app_end_iteration(app);
    }
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

/* The residual is checked too: a mistake in the last product has not reached the solution yet. */
static void check_solution(struct app *app, const struct sparse_system *system, const float *got_x,
                           const float *got_r) {
    double *x = host_array(system->rows, sizeof(double));
    double *r = host_array(system->rows, sizeof(double));
    reference_solve(system, app->iterations, x, r);
    sparse_check(app, got_x, x, system->rows);
    sparse_check(app, got_r, r, system->rows);
    free(r);
    free(x);
}

int main(int argc, char **argv) {
    struct app app;
    app_open(&app, &program, argc, argv);

    const struct sparse_system system = sparse_choose(app.size, VECTORS, true, app.seed);
    struct sparse_host host = sparse_make_host(&system);
    struct solver solver = create_solver(&app, &system);

    app_start_clock(&app);
    upload(&app, &solver, &host);
    sparse_free_host(&host);
    solve(&app, &solver);
    const float *x = app_download(&app, solver.x, system.rows * sizeof(float));
    const float *r = app_download(&app, solver.r, system.rows * sizeof(float));
    app_stop_clock(&app);
    sparse_free(&solver.a);

    if (app.check)
        check_solution(&app, &system, x, r);
    return app_close(&app);
}
