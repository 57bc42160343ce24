/*
 * BiCGStab (van der Vorst 1992) on a sparse system in CSR form that is not symmetric and has
 * entries far from its diagonal. Each vector is a buffer of its own.
 */
#include "sparse.h"

#include <stdlib.h>

static const char kernels[] = SPARSE_KERNELS OPENCL_SOURCE(
    __kernel void advance_direction(__global float *p, __global const float *r,
                                    __global const float *v, float beta, float omega, ulong rows) {
        const ulong i = get_global_id(0);
        if (i < rows)
            p[i] = r[i] + beta * (p[i] - omega * v[i]);
    }

    __kernel void half_step(__global float *r, __global const float *v, float alpha, ulong rows) {
        const ulong i = get_global_id(0);
        if (i < rows)
            r[i] -= alpha * v[i];
    }

    __kernel void full_step(__global float *x, __global float *r, __global const float *p,
                            __global const float *t, float alpha, float omega, ulong rows) {
        const ulong i = get_global_id(0);
        if (i >= rows)
            return;
        x[i] += alpha * p[i] + omega * r[i];
        r[i] -= omega * t[i];
    });

static const struct problem problem = {
    .default_iterations = 5,
    .iteration_is = "one step of the solver, which stops early when it has converged",
};

static const struct program program = {
    .problem = &problem,
    .kernels = kernels,
};

enum { VECTORS = 6 };

struct solver {
    cl_kernel advance_direction, half_step, full_step;
    struct sparse_matrix a;
    cl_mem x, r, shadow; /* solution, residual, and the first residual */
    cl_mem p, v, t;      /* direction, A p, A r */
};

static struct solver create_solver(struct app *app, const struct sparse_system *system) {
    struct solver solver = {
        .advance_direction = app_kernel(app, "advance_direction"),
        .half_step = app_kernel(app, "half_step"),
        .full_step = app_kernel(app, "full_step"),
        .a = sparse_create(app, system),
    };
    cl_mem *const vectors[VECTORS] = {&solver.x, &solver.r, &solver.shadow,
                                      &solver.p, &solver.v, &solver.t};
    for (size_t i = 0; i < VECTORS; ++i)
        *vectors[i] = app_buffer(app, CL_MEM_READ_WRITE, system->rows * sizeof(float), NULL);
    return solver;
}

static void upload(struct app *app, const struct solver *solver, const struct sparse_host *host) {
    const float zero = 0;
    const size_t bytes = solver->a.rows * sizeof(float);
    sparse_upload(app, &solver->a, host);
    app_write(app, solver->r, bytes, host->right_side);
    app_write(app, solver->shadow, bytes, host->right_side);
    app_fill(app, solver->x, bytes, &zero);
    app_fill(app, solver->p, bytes, &zero);
    app_fill(app, solver->v, bytes, &zero);
}

/* The scalars of one step, in double precision on both sides. */
struct scalars {
    double rho, alpha, omega;
};

/* A step; returns the squared residual. */
static double advance(struct app *app, const struct solver *solver, struct scalars *last) {
    const struct sparse_matrix *a = &solver->a;
    const double rho = sparse_dot(app, a, solver->shadow, solver->r);
    const float beta = (float)(rho / last->rho * last->alpha / last->omega);
    const float last_omega = (float)last->omega;
    app_launch(app, solver->advance_direction, over(a->rows), ARG(solver->p), ARG(solver->r),
               ARG(solver->v), ARG(beta), ARG(last_omega), ARG(a->rows));
    sparse_multiply(app, a, solver->p, solver->v);
    const float alpha = (float)(rho / sparse_dot(app, a, solver->shadow, solver->v));
    app_launch(app, solver->half_step, over(a->rows), ARG(solver->r), ARG(solver->v), ARG(alpha),
               ARG(a->rows));
    sparse_multiply(app, a, solver->r, solver->t);
    const float omega = (float)(sparse_dot(app, a, solver->t, solver->r) /
                                sparse_dot(app, a, solver->t, solver->t));
    app_launch(app, solver->full_step, over(a->rows), ARG(solver->x), ARG(solver->r),
               ARG(solver->p), ARG(solver->t), ARG(alpha), ARG(omega), ARG(a->rows));
    *last = (struct scalars){rho, (double)alpha, (double)omega};
    return sparse_dot(app, a, solver->r, solver->r);
}

static void solve(struct app *app, const struct solver *solver) {
    struct scalars last = {1, 1, 1};
    const double first_residual = sparse_dot(app, &solver->a, solver->r, solver->r);
    double residual = first_residual;
    for (size_t i = 0; i < app->work.iterations && residual > sparse_converged * first_residual;
         ++i) {
        residual = advance(app, solver, &last);
        app_end_iteration(app);
    }
}

/* The solver's vectors in double precision. */
struct reference {
    double *x, *r, *shadow, *p, *v, *t;
};

static double reference_advance(const struct sparse_system *system, const struct reference *at,
                                struct scalars *last) {
    const size_t rows = system->rows;
    const double rho = sparse_reference_dot(at->shadow, at->r, rows);
    const double beta = rho / last->rho * last->alpha / last->omega;
    for (size_t i = 0; i < rows; ++i)
        at->p[i] = at->r[i] + beta * (at->p[i] - last->omega * at->v[i]);
    sparse_reference_multiply(system, at->p, at->v);
    const double alpha = rho / sparse_reference_dot(at->shadow, at->v, rows);
    for (size_t i = 0; i < rows; ++i)
        at->r[i] -= alpha * at->v[i];
    sparse_reference_multiply(system, at->r, at->t);
    const double omega =
        sparse_reference_dot(at->t, at->r, rows) / sparse_reference_dot(at->t, at->t, rows);
    for (size_t i = 0; i < rows; ++i) {
        at->x[i] += alpha * at->p[i] + omega * at->r[i];
        at->r[i] -= omega * at->t[i];
    }
    *last = (struct scalars){rho, alpha, omega};
    return sparse_reference_dot(at->r, at->r, rows);
}

static void reference_solve(const struct sparse_system *system, size_t iterations,
                            const struct reference *at) {
    for (size_t i = 0; i < system->rows; ++i)
        at->r[i] = at->shadow[i] = (double)sparse_right_side(system, i);
    struct scalars last = {1, 1, 1};
    const double first_residual = sparse_reference_dot(at->r, at->r, system->rows);
    double residual = first_residual;
    for (size_t i = 0; i < iterations && residual > sparse_converged * first_residual; ++i)
        residual = reference_advance(system, at, &last);
}

/* The residual is checked too: a mistake in the last product has not reached the solution yet. */
static void check_solution(struct app *app, const struct sparse_system *system, const float *got_x,
                           const float *got_r) {
    struct reference at;
    double **const vectors[VECTORS] = {&at.x, &at.r, &at.shadow, &at.p, &at.v, &at.t};
    for (size_t i = 0; i < VECTORS; ++i)
        *vectors[i] = host_array(system->rows, sizeof(double));
    reference_solve(system, app->work.iterations, &at);
    sparse_check(&app->work, got_x, at.x, system->rows);
    sparse_check(&app->work, got_r, at.r, system->rows);
    for (size_t i = 0; i < VECTORS; ++i)
        free(*vectors[i]);
}

int main(int argc, char **argv) {
    struct app app;
    app_open(&app, &program, argc, argv);

    const struct sparse_system system = sparse_choose(app.work.size, VECTORS, false, app.work.seed);
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

    if (app.work.check)
        check_solution(&app, &system, x, r);
    return app_close(&app);
}
