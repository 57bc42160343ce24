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

/* Which elements of a square matrix there are: those of a triangle stand for others, or alone. */
enum ff__blas_form { FF_BLAS_FULL, FF_BLAS_SYMMETRIC, FF_BLAS_HERMITIAN, FF_BLAS_TRIANGULAR };

/* A matrix in the memory of a program; a vector is one of one column. */
struct ff__blas_matrix {
    char *data;          /* the element of row 0 and column 0 */
    int64_t row, column; /* elements from a row to the next, from a column to the next */
    enum ff__blas_type type;
    bool conjugate; /* its elements' conjugates are meant */
    enum ff__blas_form form;
    bool is_upper; /* the triangle that is stored: with columns at or behind the row */
    bool is_unit;  /* 1 is meant by each element of the diagonal */
};

/* So many elements further; a matrix that is not read may be NULL. */
static inline char *ff__blas_shift(const void *data, enum ff__blas_type type, int64_t elements) {
    return (char *)((uintptr_t)data + (uintptr_t)(elements * (int64_t)ff__blas_size(type)));
}

static inline char *ff__blas_at(const struct ff__blas_matrix *matrix, int64_t i, int64_t j) {
    return ff__blas_shift(matrix->data, matrix->type, i * matrix->row + j * matrix->column);
}
/* From row i and column j on; of a triangle, from an element of the diagonal on. */
static inline struct ff__blas_matrix ff__blas_from(const struct ff__blas_matrix *matrix, int64_t i,
                                                   int64_t j) {
    struct ff__blas_matrix part = *matrix;
    part.data = ff__blas_at(matrix, i, j);
    return part;
}
/* The rows [*first, *end) of those from i on, `count`, that are stored in column j. */
static inline void ff__blas_stored(const struct ff__blas_matrix *matrix, int64_t i, int64_t j,
                                   int64_t count, int64_t *first, int64_t *end) {
    int64_t diagonal = j - i, behind = diagonal + 1;
    *first = 0;
    *end = count;
    if (matrix->form != FF_BLAS_FULL && matrix->is_upper)
        *end = behind < 0 ? 0 : behind < count ? behind : count;
    else if (matrix->form != FF_BLAS_FULL)
        *first = diagonal < 0 ? 0 : diagonal < count ? diagonal : count;
}
static inline struct ff__blas_matrix ff__blas_transposed(const struct ff__blas_matrix *matrix) {
    struct ff__blas_matrix other = *matrix;
    other.row = matrix->column;
    other.column = matrix->row;
    other.is_upper = !matrix->is_upper;
    return other;
}

/* Numbers to compute with are floats, or doubles if `wide`; as many parts as the elements have.
 *
 * `count` elements from row i of column j on, and the other way round, rounded to the nearest:
 * only those that are stored. */
void ff__blas_load(const struct ff__blas_matrix *matrix, int64_t i, int64_t j, int64_t count,
                   bool wide, void *numbers);
void ff__blas_store(const struct ff__blas_matrix *matrix, int64_t i, int64_t j, int64_t count,
                    bool wide, const void *numbers);

/* A number that a program gives: its value, or where the device has it. */
struct ff__blas_scalar {
    const void *device; /* NULL: it is `value` */
    enum ff__blas_type type;
    _Alignas(double) char value[16];
};
struct ff__blas_number {
    double re, im;
};
struct ff__blas_number ff__blas_number(const struct ff__blas_scalar *scalar);
struct ff__blas_scalar ff__blas_constant(double value);

#endif
