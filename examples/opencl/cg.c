/*
 * Conjugate gradient on a sparse symmetric positive definite system in CSR form: a grid of nodes,
 * each coupled with random strength to its neighbours. The vectors are sub-buffers of one
 * workspace, and dot products are partial sums on the device which the host adds up.
 */
#include "common.h"

#include <math.h>
#include <stdlib.h>

#define LANES              256
#define ELEMENTS_PER_GROUP 4096

static const char kernels[] = OPENCL_SOURCE(
    __kernel void multiply(__global const ulong *offsets, __global const uint *columns,
                           __global const float *values, __global const float *x, __global float *y,
                           ulong rows) {
        const ulong row = get_global_id(0);
        if (row >= rows)
            return;
        float sum = 0.0f;
        for (ulong i = offsets[row]; i < offsets[row + 1]; ++i)
            sum += values[i] * x[columns[i]];
        y[row] = sum;
    }

    __kernel void dot_product(__global const float *x, __global const float *y,
                              __global float *partial_sums, ulong count) {
        __local float sums[LANES];
        const uint lane = get_local_id(0);
        const ulong first = (ulong)get_group_id(0) * ELEMENTS_PER_GROUP;
        const ulong end = min(first + ELEMENTS_PER_GROUP, count);
        float sum = 0.0f;
        for (ulong i = first + lane; i < end; i += LANES)
            sum += x[i] * y[i];
        sums[lane] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint reach = LANES / 2; reach > 0; reach /= 2) {
            if (lane < reach)
                sums[lane] += sums[lane + reach];
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (lane == 0)
            partial_sums[get_group_id(0)] = sums[0];
    }

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

enum { MOST_PER_ROW = 5 };

/* The solver stops when the squared residual is this small a part of the first one. */
static const double converged = 1e-12;

/* A side x side grid of nodes. Node i is coupled to node i + 1 and to node i + side. */
struct system {
    size_t side, rows, nonzeros;
    uint64_t east_key, south_key, right_side_key;
};

static struct system choose_system(size_t bytes, uint64_t seed) {
    const size_t entry = sizeof(cl_uint) + sizeof(float);
    const size_t vectors = 4 * sizeof(float);
    const size_t side = square_side(bytes, MOST_PER_ROW * entry + sizeof(cl_ulong) + vectors, 0);
    return (struct system){
        .side = side,
        .rows = side * side,
        .nonzeros = MOST_PER_ROW * side * side - 4 * side, /* the grid's edge has no neighbours */
        .east_key = random_key(seed, 'e'),
        .south_key = random_key(seed, 's'),
        .right_side_key = random_key(seed, 'b'),
    };
}

static float coupling(uint64_t key, size_t node) {
    return 0.5f + random_unit(key, node);
}

/* Row `row` of the matrix: the sum of its couplings plus 1 on the diagonal, minus them beside it.
 */
struct row {
    size_t count;
    size_t columns[MOST_PER_ROW];
    float values[MOST_PER_ROW];
};

static void add_neighbour(struct row *row, size_t column, float strength) {
    row->columns[row->count] = column;
    row->values[row->count++] = -strength;
    row->values[0] += strength;
}

static struct row make_row(const struct system *system, size_t node) {
    const size_t side = system->side;
    const size_t x = node % side;
    const size_t y = node / side;
    struct row row = {.count = 1, .columns = {node}, .values = {1.0f}};
    if (y > 0)
        add_neighbour(&row, node - side, coupling(system->south_key, node - side));
    if (x > 0)
        add_neighbour(&row, node - 1, coupling(system->east_key, node - 1));
    if (x + 1 < side)
        add_neighbour(&row, node + 1, coupling(system->east_key, node));
    if (y + 1 < side)
        add_neighbour(&row, node + side, coupling(system->south_key, node));
    return row;
}

static float right_side(const struct system *system, size_t node) {
    return random_unit(system->right_side_key, node) - 0.5f;
}

/* The matrix in host memory, and the right-hand side. */
struct host_data {
    cl_ulong *offsets;
    cl_uint *columns;
    float *values, *right_side;
};

static struct host_data make_host_data(const struct system *system) {
    struct host_data host = {
        .offsets = host_pages((system->rows + 1) * sizeof(cl_ulong)),
        .columns = host_pages(system->nonzeros * sizeof(cl_uint)),
        .values = host_pages(system->nonzeros * sizeof(float)),
        .right_side = host_pages(system->rows * sizeof(float)),
    };
    size_t used = 0;
    for (size_t node = 0; node < system->rows; ++node) {
        const struct row row = make_row(system, node);
        host.offsets[node] = used;
        for (size_t i = 0; i < row.count; ++i, ++used) {
            host.columns[used] = (cl_uint)row.columns[i];
            host.values[used] = row.values[i];
        }
        host.right_side[node] = right_side(system, node);
    }
    host.offsets[system->rows] = used;
    return host;
}

static void free_host_data(struct host_data *host) {
    free(host->right_side);
    free(host->values);
    free(host->columns);
    free(host->offsets);
}

struct solver {
    cl_kernel multiply, dot_product, advance_solution, advance_direction;
    cl_mem offsets, columns, values;
    cl_mem x, r, p, q; /* solution, residual, direction, and matrix times direction */
    cl_mem partial_sums;
    size_t rows, groups;
    float *host_sums;
};

/* The four vectors share one buffer, as slices that start where the device can address them. */
static void create_vectors(struct app *app, struct solver *solver) {
    const size_t bytes = solver->rows * sizeof(float);
    const size_t alignment = app_sub_buffer_alignment(app);
    const size_t slice = divide_up(bytes, alignment) * alignment;
    cl_mem workspace = app_buffer(app, CL_MEM_READ_WRITE, 4 * slice, NULL);
    cl_mem *const vectors[] = {&solver->x, &solver->r, &solver->p, &solver->q};
    for (size_t i = 0; i < 4; ++i)
        *vectors[i] = app_sub_buffer(app, workspace, i * slice, bytes);
}

static struct solver create_solver(struct app *app, const struct system *system) {
    const size_t rows = system->rows;
    const size_t nonzeros = system->nonzeros;
    struct solver solver = {
        .multiply = app_kernel(app, "multiply"),
        .dot_product = app_kernel(app, "dot_product"),
        .advance_solution = app_kernel(app, "advance_solution"),
        .advance_direction = app_kernel(app, "advance_direction"),
        .offsets = app_buffer(app, CL_MEM_READ_ONLY, (rows + 1) * sizeof(cl_ulong), NULL),
        .columns = app_buffer(app, CL_MEM_READ_ONLY, nonzeros * sizeof(cl_uint), NULL),
        .values = app_buffer(app, CL_MEM_READ_ONLY, nonzeros * sizeof(float), NULL),
        .rows = rows,
        .groups = divide_up(rows, ELEMENTS_PER_GROUP),
    };
    create_vectors(app, &solver);
    solver.partial_sums = app_buffer(app, CL_MEM_READ_WRITE, solver.groups * sizeof(float), NULL);
    solver.host_sums = host_array(solver.groups, sizeof(float));
    return solver;
}

static void upload(struct app *app, const struct solver *solver, const struct system *system,
                   const struct host_data *host) {
    const float zero = 0;
    const size_t bytes = system->rows * sizeof(float);
    app_write(app, solver->offsets, (system->rows + 1) * sizeof(cl_ulong), host->offsets);
    app_write(app, solver->columns, system->nonzeros * sizeof(cl_uint), host->columns);
    app_write(app, solver->values, system->nonzeros * sizeof(float), host->values);
    app_write(app, solver->r, bytes, host->right_side);
    app_fill(app, solver->x, bytes, &zero);
    require(clEnqueueCopyBuffer(app->queue, solver->r, solver->p, 0, 0, bytes, 0, NULL, NULL),
            "clEnqueueCopyBuffer");
}

static double dot(struct app *app, const struct solver *solver, cl_mem a, cl_mem b) {
    app_launch(app, solver->dot_product, over_groups(solver->groups, LANES), ARG(a), ARG(b),
               ARG(solver->partial_sums), ARG(solver->rows));
    app_read(app, solver->partial_sums, solver->groups * sizeof(float), solver->host_sums);
    double sum = 0;
    for (size_t i = 0; i < solver->groups; ++i)
        sum += (double)solver->host_sums[i];
    return sum;
}

static void solve(struct app *app, const struct solver *solver) {
    const double first_residual = dot(app, solver, solver->r, solver->r);
    double residual = first_residual;
    for (size_t i = 0; i < app->iterations && residual > converged * first_residual; ++i) {
        app_launch(app, solver->multiply, over(solver->rows), ARG(solver->offsets),
                   ARG(solver->columns), ARG(solver->values), ARG(solver->p), ARG(solver->q),
                   ARG(solver->rows));
        const float alpha = (float)(residual / dot(app, solver, solver->p, solver->q));
        app_launch(app, solver->advance_solution, over(solver->rows), ARG(solver->x),
                   ARG(solver->r), ARG(solver->p), ARG(solver->q), ARG(alpha), ARG(solver->rows));
        const double next_residual = dot(app, solver, solver->r, solver->r);
        const float beta = (float)(next_residual / residual);
        app_launch(app, solver->advance_direction, over(solver->rows), ARG(solver->p),
                   ARG(solver->r), ARG(beta), ARG(solver->rows));
        residual = next_residual;
        app_end_iteration(app);
    }
}

static double reference_dot(const double *a, const double *b, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; ++i)
        sum += a[i] * b[i];
    return sum;
}

static void reference_multiply(const struct system *system, const double *p, double *q) {
    for (size_t node = 0; node < system->rows; ++node) {
        const struct row row = make_row(system, node);
        q[node] = 0;
        for (size_t i = 0; i < row.count; ++i)
            q[node] += (double)row.values[i] * p[row.columns[i]];
    }
}

/* Solves in double precision. The matrix is made again as it is needed, row by row. */
static void reference_solve(const struct system *system, size_t iterations, double *x, double *r) {
    const size_t rows = system->rows;
    double *p = host_array(rows, sizeof(double));
    double *q = host_array(rows, sizeof(double));
    for (size_t i = 0; i < rows; ++i)
        p[i] = r[i] = (double)right_side(system, i);

    const double first_residual = reference_dot(r, r, rows);
    double residual = first_residual;
    for (size_t k = 0; k < iterations && residual > converged * first_residual; ++k) {
        reference_multiply(system, p, q);
        const double alpha = residual / reference_dot(p, q, rows);
        for (size_t i = 0; i < rows; ++i) {
            x[i] += alpha * p[i];
            r[i] -= alpha * q[i];
        }
        const double next_residual = reference_dot(r, r, rows);
        for (size_t i = 0; i < rows; ++i)
            p[i] = r[i] + next_residual / residual * p[i];
        residual = next_residual;
    }
    free(q);
    free(p);
}

static void check_vector(struct app *app, cl_mem vector, const double *wanted, size_t rows) {
    const double tolerance = 1e-5; /* the right-hand side goes from -0.5 to 0.5 */
    float *got = app_download(app, vector, rows * sizeof(float));
    for (size_t i = 0; i < rows; ++i)
        app_expect(app, i, (double)got[i], wanted[i], tolerance);
    free(got);
}

/* The residual is checked too: a mistake in the last product has not reached the solution yet. */
static void check_solution(struct app *app, const struct solver *solver,
                           const struct system *system) {
    double *x = host_array(system->rows, sizeof(double));
    double *r = host_array(system->rows, sizeof(double));
    reference_solve(system, app->iterations, x, r);
    check_vector(app, solver->x, x, system->rows);
    check_vector(app, solver->r, r, system->rows);
    free(r);
    free(x);
}

int main(int argc, char **argv) {
    struct app app;
    app_open(&app, &program, argc, argv);

    const struct system system = choose_system(app.size, app.seed);
    struct host_data host = make_host_data(&system);
    struct solver solver = create_solver(&app, &system);

    app_start_clock(&app);
    upload(&app, &solver, &system, &host);
    free_host_data(&host);
    solve(&app, &solver);
    app_stop_clock(&app);
    free(solver.host_sums);

    if (app.check)
        check_solution(&app, &solver, &system);
    return app_close(&app);
}
