/*
 * GMRES(16) (Saad and Schultz 1986) on a sparse system in CSR form that is not symmetric. It keeps
 * all directions since its last restart and makes each new one orthogonal to them, which takes more
 * memory than the matrix. Where it adds directions up, each work-item goes through all of them.
 */
#include "sparse.h"

#include <math.h>
#include <stdlib.h>

#define RESTART 16

static const char kernels[] = SPARSE_KERNELS OPENCL_SOURCE(
    __kernel void residual(__global const float *b, __global float *w, ulong rows) {
        const ulong i = get_global_id(0);
        if (i < rows)
            w[i] = b[i] - w[i];
    }

    __kernel void scale(__global const float *w, __global float *direction, float factor,
                        ulong rows) {
        const ulong i = get_global_id(0);
        if (i < rows)
            direction[i] = factor * w[i];
    }

    __kernel void add_directions(__global const float *basis, ulong pitch,
                                 __global const float *factors, uint count, __global float *target,
                                 ulong rows) {
        const ulong i = get_global_id(0);
        if (i >= rows)
            return;
        float sum = target[i];
        for (uint k = 0; k < count; ++k)
            sum += factors[k] * basis[k * pitch + i];
        target[i] = sum;
    });

static const struct problem problem = {
    .default_iterations = 20,
    .iteration_is = "one direction more; the solver stops early when it has converged",
};

static const struct program program = {
    .problem = &problem,
    .kernels = kernels,
};

/* The small problem beside the large one: |first residual e1 - H y| is to be least. Rotations make
 * H triangular as its columns arrive. */
struct least_squares {
    cl_uint columns;
    double h[RESTART][RESTART + 1];
    double cosines[RESTART], sines[RESTART];
    double right_side[RESTART + 1];
};

static void rotate(double cosine, double sine, double *upper, double *lower) {
    const double old_upper = *upper;
    *upper = cosine * old_upper + sine * *lower;
    *lower = cosine * *lower - sine * old_upper;
}

/* The column is in h already. Returns the norm of the residual. */
static double add_column(struct least_squares *small) {
    const size_t k = small->columns++;
    double *column = small->h[k];
    for (size_t i = 0; i < k; ++i)
        rotate(small->cosines[i], small->sines[i], &column[i], &column[i + 1]);
    const double length = hypot(column[k], column[k + 1]);
    small->cosines[k] = column[k] / length;
    small->sines[k] = column[k + 1] / length;
    rotate(small->cosines[k], small->sines[k], &column[k], &column[k + 1]);
    small->right_side[k + 1] = 0;
    rotate(small->cosines[k], small->sines[k], &small->right_side[k], &small->right_side[k + 1]);
    return fabs(small->right_side[k + 1]);
}

static void solve_least_squares(const struct least_squares *small, double *y) {
    for (size_t i = small->columns; i-- > 0;) {
        y[i] = small->right_side[i];
        for (size_t k = i + 1; k < small->columns; ++k)
            y[i] -= small->h[k][i] * y[k];
        y[i] /= small->h[i][i];
    }
}

struct solver {
    cl_kernel residual, scale, add_directions;
    struct sparse_matrix a;
    cl_mem x, b, w;
    cl_mem basis, directions[RESTART + 1]; /* one buffer and its parts */
    cl_mem factors;
    size_t pitch; /* from one direction to the next, in elements */
};

static struct solver create_solver(struct app *app, const struct sparse_system *system) {
    const size_t bytes = system->rows * sizeof(float);
    const size_t alignment = app_sub_buffer_alignment(app);
    const size_t slice = divide_up(bytes, alignment) * alignment;
    struct solver solver = {
        .residual = app_kernel(app, "residual"),
        .scale = app_kernel(app, "scale"),
        .add_directions = app_kernel(app, "add_directions"),
        .a = sparse_create(app, system),
        .x = app_buffer(app, CL_MEM_READ_WRITE, bytes, NULL),
        .b = app_buffer(app, CL_MEM_READ_ONLY, bytes, NULL),
        .w = app_buffer(app, CL_MEM_READ_WRITE, bytes, NULL),
        .basis = app_buffer(app, CL_MEM_READ_WRITE, (RESTART + 1) * slice, NULL),
        .factors = app_buffer(app, CL_MEM_READ_ONLY, RESTART * sizeof(float), NULL),
        .pitch = slice / sizeof(float),
    };
    for (size_t i = 0; i <= RESTART; ++i)
        solver.directions[i] = app_sub_buffer(app, solver.basis, i * slice, bytes);
    return solver;
}

static void upload(struct app *app, const struct solver *solver, const struct sparse_host *host) {
    const float zero = 0;
    const size_t bytes = solver->a.rows * sizeof(float);
    sparse_upload(app, &solver->a, host);
    app_write(app, solver->b, bytes, host->right_side);
    app_fill(app, solver->x, bytes, &zero);
}

/* target += sign * (the first directions times these factors) */
static void add_directions(struct app *app, const struct solver *solver, double sign,
                           const double *factors, cl_uint count, cl_mem target) {
    float signed_factors[RESTART];
    for (size_t i = 0; i < count; ++i)
        signed_factors[i] = (float)(sign * factors[i]);
    app_write(app, solver->factors, count * sizeof(float), signed_factors);
    app_launch(app, solver->add_directions, over(solver->a.rows), ARG(solver->basis),
               ARG(solver->pitch), ARG(solver->factors), ARG(count), ARG(target),
               ARG(solver->a.rows));
}

/* Makes w a direction of length 1; returns its length before. */
static double normalize(struct app *app, const struct solver *solver, size_t direction) {
    const double norm = sqrt(sparse_dot(app, &solver->a, solver->w, solver->w));
    const float factor = (float)(1 / norm);
    app_launch(app, solver->scale, over(solver->a.rows), ARG(solver->w),
               ARG(solver->directions[direction]), ARG(factor), ARG(solver->a.rows));
    return norm;
}

static void restart(struct app *app, const struct solver *solver, struct least_squares *small) {
    sparse_multiply(app, &solver->a, solver->x, solver->w);
    app_launch(app, solver->residual, over(solver->a.rows), ARG(solver->b), ARG(solver->w),
               ARG(solver->a.rows));
    small->columns = 0;
    small->right_side[0] = normalize(app, solver, 0);
}

/* One direction more; returns the norm of the residual. */
static double advance(struct app *app, const struct solver *solver, struct least_squares *small) {
    const cl_uint last = small->columns;
    double *column = small->h[last];
    sparse_multiply(app, &solver->a, solver->directions[last], solver->w);
    for (size_t i = 0; i <= last; ++i)
        column[i] = sparse_dot(app, &solver->a, solver->directions[i], solver->w);
    add_directions(app, solver, -1, column, last + 1, solver->w);
    column[last + 1] = normalize(app, solver, last + 1);
    return add_column(small);
}

static void solve(struct app *app, const struct solver *solver) {
    struct least_squares small;
    const double enough =
        sqrt(sparse_converged * sparse_dot(app, &solver->a, solver->b, solver->b));
    double residual = INFINITY;
    for (size_t i = 0; i < app->work.iterations && residual > enough;) {
        restart(app, solver, &small);
        for (; i < app->work.iterations && small.columns < RESTART && residual > enough; ++i) {
            residual = advance(app, solver, &small);
            app_end_iteration(app);
        }
        double y[RESTART];
        solve_least_squares(&small, y);
        add_directions(app, solver, 1, y, small.columns, solver->x);
    }
}

/* The solver's vectors in double precision. */
struct reference {
    size_t rows;
    double *x, *w, *directions[RESTART + 1];
};

static void reference_add(const struct reference *at, double factor, size_t direction,
                          double *target) {
    for (size_t i = 0; i < at->rows; ++i)
        target[i] += factor * at->directions[direction][i];
}

static double reference_normalize(const struct reference *at, size_t direction) {
    const double norm = sqrt(sparse_reference_dot(at->w, at->w, at->rows));
    for (size_t i = 0; i < at->rows; ++i)
        at->directions[direction][i] = at->w[i] / norm;
    return norm;
}

static void reference_restart(const struct sparse_system *system, const struct reference *at,
                              struct least_squares *small) {
    sparse_reference_multiply(system, at->x, at->w);
    for (size_t i = 0; i < at->rows; ++i)
        at->w[i] = (double)sparse_right_side(system, i) - at->w[i];
    small->columns = 0;
    small->right_side[0] = reference_normalize(at, 0);
}

static double reference_advance(const struct sparse_system *system, const struct reference *at,
                                struct least_squares *small) {
    const size_t last = small->columns;
    double *column = small->h[last];
    sparse_reference_multiply(system, at->directions[last], at->w);
    for (size_t i = 0; i <= last; ++i)
        column[i] = sparse_reference_dot(at->directions[i], at->w, at->rows);
    for (size_t i = 0; i <= last; ++i)
        reference_add(at, -column[i], i, at->w);
    column[last + 1] = reference_normalize(at, last + 1);
    return add_column(small);
}

static void reference_solve(const struct sparse_system *system, size_t iterations,
                            const struct reference *at) {
    struct least_squares small;
    double enough = 0;
    double residual = INFINITY;
    for (size_t i = 0; i < iterations && residual > enough;) {
        reference_restart(system, at, &small);
        if (i == 0)
            enough = sqrt(sparse_converged) * small.right_side[0];
        for (; i < iterations && small.columns < RESTART && residual > enough; ++i)
            residual = reference_advance(system, at, &small);
        double y[RESTART];
        solve_least_squares(&small, y);
        for (size_t k = 0; k < small.columns; ++k)
            reference_add(at, y[k], k, at->x);
    }
}

static void check_solution(struct app *app, const struct sparse_system *system,
                           const float *got_x) {
    struct reference at = {
        .rows = system->rows,
        .x = host_array(system->rows, sizeof(double)),
        .w = host_array(system->rows, sizeof(double)),
    };
    for (size_t i = 0; i <= RESTART; ++i)
        at.directions[i] = host_array(system->rows, sizeof(double));
    reference_solve(system, app->work.iterations, &at);
    sparse_check(&app->work, got_x, at.x, system->rows);
    for (size_t i = 0; i <= RESTART; ++i)
        free(at.directions[i]);
    free(at.w);
    free(at.x);
}

int main(int argc, char **argv) {
    struct app app;
    app_open(&app, &program, argc, argv);

    const size_t vectors = RESTART + 1 + 3; /* directions; x, b and w */
    const struct sparse_system system = sparse_choose(app.work.size, vectors, false, app.work.seed);
    struct sparse_host host = sparse_make_host(&system);
    struct solver solver = create_solver(&app, &system);

    app_start_clock(&app);
    upload(&app, &solver, &host);
    sparse_free_host(&host);
    solve(&app, &solver);
    const float *x = app_download(&app, solver.x, system.rows * sizeof(float));
    app_stop_clock(&app);
    sparse_free(&solver.a);

    if (app.work.check)
        check_solution(&app, &system, x);
    return app_close(&app);
}
