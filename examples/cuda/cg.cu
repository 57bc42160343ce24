/*
 * Conjugate gradient on a sparse symmetric positive definite system in CSR form. The vectors are
 * parts of one workspace, and dot products are partial sums on the device which the host adds up.
 */
#include "common.h"

#include "host/cg.h"

__global__ void multiply(const uint64_t *offsets, const unsigned *columns, const float *values,
                         const float *x, float *y, size_t rows) {
    const size_t row = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float sum = 0;
    for (uint64_t i = offsets[row]; i < offsets[row + 1]; i++)
        sum += values[i] * x[columns[i]];
    y[row] = sum;
}

__global__ void dot_product(const float *x, const float *y, float *partial_sums, size_t count) {
    __shared__ float sums[SPARSE_LANES];
    const unsigned lane = threadIdx.x;
    const size_t first = blockIdx.x * (size_t)SPARSE_ELEMENTS_PER_GROUP;
    const size_t end = min(first + SPARSE_ELEMENTS_PER_GROUP, count);
    float sum = 0;
    for (size_t i = first + lane; i < end; i += SPARSE_LANES)
        sum += x[i] * y[i];
    sums[lane] = sum;
    __syncthreads();
    for (unsigned reach = SPARSE_LANES / 2; reach > 0; reach /= 2) {
        if (lane < reach)
            sums[lane] += sums[lane + reach];
        __syncthreads();
    }
    if (lane == 0)
        partial_sums[blockIdx.x] = sums[0];
}

__global__ void advance_solution(float *x, float *r, const float *p, const float *q, float alpha,
                                 size_t rows) {
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= rows)
        return;
    x[i] += alpha * p[i];
    r[i] -= alpha * q[i];
}

__global__ void advance_direction(float *p, const float *r, float beta, size_t rows) {
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < rows)
        p[i] = r[i] + beta * p[i];
}

struct solver {
    uint64_t *offsets;
    unsigned *columns;
    float *values, *workspace, *partial_sums, *host_sums;
    float *x, *r, *p, *q; /* solution, residual, direction, and matrix times direction */
    size_t rows, groups;
};

static struct solver create_solver(struct work *work, const struct sparse_system *system) {
    struct solver solver;
    const size_t rows = solver.rows = system->rows;
    solver.groups = divide_up(rows, SPARSE_ELEMENTS_PER_GROUP);
    solver.offsets = device_array<uint64_t>(work, rows + 1);
    solver.columns = device_array<unsigned>(work, system->nonzeros);
    solver.values = device_array<float>(work, system->nonzeros);
    solver.partial_sums = device_array<float>(work, solver.groups);
    solver.workspace = device_array<float>(work, CG_VECTORS * rows);
    solver.x = solver.workspace;
    solver.r = solver.x + rows;
    solver.p = solver.r + rows;
    solver.q = solver.p + rows;
    solver.host_sums = (float *)host_array(solver.groups, sizeof(float));
    return solver;
}

static void destroy_solver(struct solver *solver) {
    void *const all[] = {solver->workspace, solver->partial_sums, solver->values, solver->columns,
                         solver->offsets};
    free(solver->host_sums);
    for (void *array : all)
        CHECK(cudaFree(array));
}

static void upload_system(const struct solver *solver, const struct sparse_host *host) {
    const size_t rows = solver->rows, bytes = rows * sizeof(float);
    upload(solver->offsets, host->offsets, rows + 1);
    upload(solver->columns, host->columns, host->offsets[rows]);
    upload(solver->values, host->values, host->offsets[rows]);
    upload(solver->r, host->right_side, rows);
    CHECK(cudaMemset(solver->x, 0, bytes));
    CHECK(cudaMemcpy(solver->p, solver->r, bytes, cudaMemcpyDeviceToDevice));
}

static double dot(const struct solver *solver, const float *x, const float *y) {
    dot_product<<<(unsigned)solver->groups, SPARSE_LANES>>>(x, y, solver->partial_sums,
                                                            solver->rows);
    CHECK(cudaMemcpy(solver->host_sums, solver->partial_sums, solver->groups * sizeof(float),
                     cudaMemcpyDeviceToHost));
    double sum = 0;
    for (size_t i = 0; i < solver->groups; i++)
        sum += (double)solver->host_sums[i];
    return sum;
}

static void solve(struct work *work, const struct solver *solver) {
    const unsigned grid = blocks(solver->rows);
    const double first_residual = dot(solver, solver->r, solver->r);
    double residual = first_residual;
    for (size_t i = 0; i < work->iterations && residual > sparse_converged * first_residual; i++) {
        multiply<<<grid, THREADS>>>(solver->offsets, solver->columns, solver->values, solver->p,
                                    solver->q, solver->rows);
        const float alpha = (float)(residual / dot(solver, solver->p, solver->q));
        advance_solution<<<grid, THREADS>>>(solver->x, solver->r, solver->p, solver->q, alpha,
                                            solver->rows);
        const double next_residual = dot(solver, solver->r, solver->r);
        const float beta = (float)(next_residual / residual);
        advance_direction<<<grid, THREADS>>>(solver->p, solver->r, beta, solver->rows);
        residual = next_residual;
        end_iteration(work);
    }
}

int main(int argc, char **argv) {
    struct work work;
    work_open(&work, &cg_problem, NULL, argc, argv);
    const struct sparse_system system = cg_system(&work);
    struct sparse_host host = sparse_make_host(&system);
    struct solver solver = create_solver(&work, &system);

    work_start_clock(&work);
    upload_system(&solver, &host);
    sparse_free_host(&host);
    solve(&work, &solver);
    float *x = download(solver.x, system.rows);
    float *r = download(solver.r, system.rows);
    stop_clock(&work);

    if (work.check)
        cg_check(&work, x, r);
    free(r);
    free(x);
    destroy_solver(&solver);
    return work_close(&work);
}
