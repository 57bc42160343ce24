/*
 * Conjugate gradient on a sparse symmetric positive definite system in CSR form. The vectors are
 * sub-buffers of one workspace, and dot products are partial sums on the device which the host
 * adds up.
 */
#include "sparse.h"

#include "host/cg.h"

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
    .problem = &cg_problem,
    .kernels = kernels,
};

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
    cl_mem workspace = app_buffer(app, CL_MEM_READ_WRITE, CG_VECTORS * slice, NULL);
    cl_mem *const vectors[CG_VECTORS] = {&solver->x, &solver->r, &solver->p, &solver->q};
    for (size_t i = 0; i < CG_VECTORS; ++i)
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
    for (size_t i = 0; i < app->work.iterations && residual > sparse_converged * first_residual;
         ++i) {
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

int main(int argc, char **argv) {
    struct app app;
    app_open(&app, &program, argc, argv);

    const struct sparse_system system = cg_system(&app.work);
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
        cg_check(&app.work, x, r);
    return app_close(&app);
}
