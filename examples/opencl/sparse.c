#include "sparse.h"

#include <stdlib.h>

/* Streams of random strengths: of a node's coupling to the east and to the south, or to the
 * four sides and far away where no two directions are the same. */
enum { EAST, SOUTH, WEST, NORTH, FAR, DIRECTIONS };

struct sparse_system sparse_choose(size_t bytes, size_t vectors, bool symmetric, uint64_t seed) {
    const size_t entry = sizeof(cl_uint) + sizeof(float);
    const size_t most = symmetric ? SPARSE_MOST_PER_ROW - 1 : SPARSE_MOST_PER_ROW;
    const size_t per_row = most * entry + sizeof(cl_ulong) + vectors * sizeof(float);
    const size_t side = square_side(bytes, per_row, 0);
    return (struct sparse_system){
        .symmetric = symmetric,
        .side = side,
        .rows = side * side,
        .nonzeros = most * side * side - 4 * side, /* the grid's edge has no neighbours */
        .coupling_key = random_key(seed, 'e'),
        .far_key = random_key(seed, 'f'),
        .right_side_key = random_key(seed, 'b'),
    };
}

static float coupling(const struct sparse_system *system, size_t node, size_t direction) {
    return 0.5f + random_unit(system->coupling_key, node * DIRECTIONS + direction);
}

static void add_neighbour(struct sparse_row *row, size_t column, float strength) {
    row->columns[row->count] = column;
    row->values[row->count++] = -strength;
    row->values[0] += strength;
}

struct sparse_row sparse_make_row(const struct sparse_system *system, size_t node) {
    const bool symmetric = system->symmetric;
    const size_t side = system->side;
    const size_t x = node % side;
    const size_t y = node / side;
    struct sparse_row row = {.count = 1, .columns = {node}, .values = {1.0f}};
    if (y > 0)
        add_neighbour(&row, node - side,
                      symmetric ? coupling(system, node - side, SOUTH)
                                : coupling(system, node, NORTH));
    if (x > 0)
        add_neighbour(&row, node - 1,
                      symmetric ? coupling(system, node - 1, EAST) : coupling(system, node, WEST));
    if (x + 1 < side)
        add_neighbour(&row, node + 1, coupling(system, node, EAST));
    if (y + 1 < side)
        add_neighbour(&row, node + side, coupling(system, node, SOUTH));
    if (!symmetric)
        add_neighbour(&row, random_bits(system->far_key, node) % system->rows,
                      coupling(system, node, FAR));
    return row;
}

float sparse_right_side(const struct sparse_system *system, size_t node) {
    return random_unit(system->right_side_key, node) - 0.5f;
}

struct sparse_host sparse_make_host(const struct sparse_system *system) {
    struct sparse_host host = {
        .offsets = host_pages((system->rows + 1) * sizeof(cl_ulong)),
        .columns = host_pages(system->nonzeros * sizeof(cl_uint)),
        .values = host_pages(system->nonzeros * sizeof(float)),
        .right_side = host_pages(system->rows * sizeof(float)),
    };
    size_t used = 0;
    for (size_t node = 0; node < system->rows; ++node) {
        const struct sparse_row row = sparse_make_row(system, node);
        host.offsets[node] = used;
        for (size_t i = 0; i < row.count; ++i, ++used) {
            host.columns[used] = (cl_uint)row.columns[i];
            host.values[used] = row.values[i];
        }
        host.right_side[node] = sparse_right_side(system, node);
    }
    host.offsets[system->rows] = used;
    return host;
}

void sparse_free_host(struct sparse_host *host) {
    free(host->right_side);
    free(host->values);
    free(host->columns);
    free(host->offsets);
}

struct sparse_matrix sparse_create(struct app *app, const struct sparse_system *system) {
    const size_t rows = system->rows;
    const size_t nonzeros = system->nonzeros;
    const size_t groups = divide_up(rows, SPARSE_ELEMENTS_PER_GROUP);
    return (struct sparse_matrix){
        .multiply = app_kernel(app, "multiply"),
        .dot_product = app_kernel(app, "dot_product"),
        .offsets = app_buffer(app, CL_MEM_READ_ONLY, (rows + 1) * sizeof(cl_ulong), NULL),
        .columns = app_buffer(app, CL_MEM_READ_ONLY, nonzeros * sizeof(cl_uint), NULL),
        .values = app_buffer(app, CL_MEM_READ_ONLY, nonzeros * sizeof(float), NULL),
        .partial_sums = app_buffer(app, CL_MEM_READ_WRITE, groups * sizeof(float), NULL),
        .rows = rows,
        .groups = groups,
        .host_sums = host_array(groups, sizeof(float)),
    };
}

void sparse_upload(struct app *app, const struct sparse_matrix *matrix,
                   const struct sparse_host *host) {
    const size_t rows = matrix->rows;
    const size_t nonzeros = host->offsets[rows];
    app_write(app, matrix->offsets, (rows + 1) * sizeof(cl_ulong), host->offsets);
    app_write(app, matrix->columns, nonzeros * sizeof(cl_uint), host->columns);
    app_write(app, matrix->values, nonzeros * sizeof(float), host->values);
}

void sparse_free(struct sparse_matrix *matrix) {
    free(matrix->host_sums);
}

void sparse_multiply(struct app *app, const struct sparse_matrix *matrix, cl_mem x, cl_mem y) {
    app_launch(app, matrix->multiply, over(matrix->rows), ARG(matrix->offsets),
               ARG(matrix->columns), ARG(matrix->values), ARG(x), ARG(y), ARG(matrix->rows));
}

double sparse_dot(struct app *app, const struct sparse_matrix *matrix, cl_mem x, cl_mem y) {
    app_launch(app, matrix->dot_product, over_groups(matrix->groups, SPARSE_LANES), ARG(x), ARG(y),
               ARG(matrix->partial_sums), ARG(matrix->rows));
    app_read(app, matrix->partial_sums, matrix->groups * sizeof(float), matrix->host_sums);
    double sum = 0;
    for (size_t i = 0; i < matrix->groups; ++i)
        sum += (double)matrix->host_sums[i];
    return sum;
}

double sparse_reference_dot(const double *x, const double *y, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; ++i)
        sum += x[i] * y[i];
    return sum;
}

void sparse_reference_multiply(const struct sparse_system *system, const double *x, double *y) {
    for (size_t node = 0; node < system->rows; ++node) {
        const struct sparse_row row = sparse_make_row(system, node);
        y[node] = 0;
        for (size_t i = 0; i < row.count; ++i)
            y[node] += (double)row.values[i] * x[row.columns[i]];
    }
}

void sparse_check(struct app *app, const float *got, const double *wanted, size_t rows) {
    const double tolerance = 1e-5; /* the right-hand side goes from -0.5 to 0.5 */
    for (size_t i = 0; i < rows; ++i)
        app_expect(app, i, (double)got[i], wanted[i], tolerance);
}
