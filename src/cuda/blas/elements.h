/* Elements of matrices and vectors as programs have them, and as numbers to compute with. */
#ifndef FF_BLAS_ELEMENTS_H
#define FF_BLAS_ELEMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the parts of an element are; FF_BLAS_COMPLEX: it has two, else one. */
enum ff__blas_type {
    FF_BLAS_16F,
    FF_BLAS_16BF,
    FF_BLAS_32F,
    FF_BLAS_64F,
    FF_BLAS_8I,
    FF_BLAS_32I,
    FF_BLAS_COMPLEX = 8
};

size_t ff__blas_size(enum ff__blas_type type); /* bytes of an element */
static inline unsigned ff__blas_parts(enum ff__blas_type type) {
    return (type & FF_BLAS_COMPLEX) != 0 ? 2 : 1;
}

/* Whether to compute with doubles: so that sums of integers are exact, too. */
static inline bool ff__blas_is_wide(enum ff__blas_type type) {
    return (type & 7) == FF_BLAS_64F || (type & 7) == FF_BLAS_8I;
}

/* A matrix in the memory of a program; a vector is one of one column. */
struct ff__blas_matrix {
    char *data;          /* the element of row 0 and column 0 */
    int64_t row, column; /* elements from a row to the next, from a column to the next */
    enum ff__blas_type type;
    bool conjugate; /* its elements' conjugates are meant */
};

static inline char *ff__blas_at(const struct ff__blas_matrix *matrix, int64_t i, int64_t j) {
    return matrix->data +
           (i * matrix->row + j * matrix->column) * (int64_t)ff__blas_size(matrix->type);
}
static inline struct ff__blas_matrix ff__blas_from(const struct ff__blas_matrix *matrix, int64_t i,
                                                   int64_t j) {
    struct ff__blas_matrix part = *matrix;
    part.data = ff__blas_at(matrix, i, j);
    return part;
}
static inline struct ff__blas_matrix ff__blas_transposed(const struct ff__blas_matrix *matrix) {
    struct ff__blas_matrix other = *matrix;
    other.row = matrix->column;
    other.column = matrix->row;
    return other;
}

/* Numbers to compute with are floats, or doubles if `wide`; as many parts as the elements have.
 *
 * `count` elements from row i of column j on, and the other way round, rounded to the nearest. */
void ff__blas_load(const struct ff__blas_matrix *matrix, int64_t i, int64_t j, int64_t count,
                   bool wide, void *numbers);
void ff__blas_store(const struct ff__blas_matrix *matrix, int64_t i, int64_t j, int64_t count,
                    bool wide, const void *numbers);

/* A number that a program gives: its value, or where the device has it. */
struct ff__blas_scalar {
    const void *device; /* NULL: it is `value` */
    enum ff__blas_type type;
    char value[16];
};
struct ff__blas_number {
    double re, im;
};
struct ff__blas_number ff__blas_number(const struct ff__blas_scalar *scalar);

#endif
