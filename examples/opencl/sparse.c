#include "sparse.h"

#include <stdlib.h>

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
