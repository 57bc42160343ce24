#include "cuda/blas/elements.h"

#include <string.h>

size_t ff__blas_size(enum ff__blas_type type) {
    static const uint8_t sizes[] = {2, 2, 4, 8, 1, 4};
    return (size_t)sizes[type & 7] * ff__blas_parts(type);
}

/* ---- parts in 16 bits ---- */

static inline float float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
static inline uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float get_16f(uint16_t bits) {
    uint32_t size = bits & 0x7fffu, sign = (bits & 0x8000u) << 16;
    float x = size >= 0x7c00 ? float_of(0x7f800000u | (size & 0x3ff) << 13)
                             : float_of(size << 13) * 0x1p112f;
    return float_of(bits_of(x) | sign);
}

static inline uint16_t put_16f(float x) {
    uint32_t all = bits_of(x), sign = all >> 16 & 0x8000, size = all & 0x7fffffff;
    if (size > 0x7f800000) /* not a number */
        return 0x7fff;
    if (size >= 0x477ff000) /* rounds to 65536 or more */
        return (uint16_t)(sign | 0x7c00);
    if (size < 0x38800000) /* below the normal ones: the sum's last bits are multiples of 2^-24 */
        return (uint16_t)(sign | (bits_of(float_of(size) + 0.5f) - 0x3f000000));
    return (uint16_t)(sign | ((size + 0xfff + (size >> 13 & 1) - 0x38000000) >> 13));
}

static inline float get_16bf(uint16_t bits) {
    return float_of((uint32_t)bits << 16);
}

static inline uint16_t put_16bf(float x) {
    uint32_t all = bits_of(x);
    if ((all & 0x7fffffff) > 0x7f800000)
        return 0x7fff;
    return (uint16_t)((all + 0x7fff + (all >> 16 & 1)) >> 16);
}

/* ---- integers: a sum that is too large loses its upper bits ---- */

static inline int32_t put_32i(double x) {
    return (int32_t)(uint32_t)(int64_t)x;
}

/* ---- lines of elements ---- */

/* Parts that lie one after the other are one loop, which compilers turn into vectors. */
#define LOAD(name, type, number, get)                                                              \
    static void load_##name(const char *from, int64_t stride, int64_t count, int64_t parts,        \
                            void *to) {                                                            \
        const type *in = (const type *)(const void *)from;                                         \
        number *out = to;                                                                          \
        if (stride == 1)                                                                           \
            for (int64_t i = 0; i < count * parts; i++)                                            \
                out[i] = (number)get(in[i]);                                                       \
        else                                                                                       \
            for (int64_t i = 0; i < count; i++)                                                    \
                for (int64_t p = 0; p < parts; p++)                                                \
                    out[i * parts + p] = (number)get(in[i * stride * parts + p]);                  \
    }
#define STORE(name, type, number, narrow, put)                                                     \
    static void store_##name(char *to, int64_t stride, int64_t count, int64_t parts,               \
                             const void *from) {                                                   \
        type *out = (type *)(void *)to;                                                            \
        const number *in = from;                                                                   \
        if (stride == 1)                                                                           \
            for (int64_t i = 0; i < count * parts; i++)                                            \
                out[i] = (type)put((narrow)in[i]);                                                 \
        else                                                                                       \
            for (int64_t i = 0; i < count; i++)                                                    \
                for (int64_t p = 0; p < parts; p++)                                                \
                    out[i * stride * parts + p] = (type)put((narrow)in[i * parts + p]);            \
    }
#define BOTH(name, type, narrow, get, put)                                                         \
    LOAD(name##_float, type, float, get)                                                           \
    LOAD(name##_double, type, double, get)                                                         \
    STORE(name##_float, type, float, narrow, put)                                                  \
    STORE(name##_double, type, double, narrow, put)

BOTH(16f, uint16_t, float, get_16f, put_16f)
BOTH(16bf, uint16_t, float, get_16bf, put_16bf)
BOTH(32f, float, float, , )
BOTH(64f, double, double, , )
BOTH(8i, int8_t, double, , )
BOTH(32i, int32_t, double, , put_32i)

static const struct {
    void (*load[2])(const char *from, int64_t stride, int64_t count, int64_t parts, void *to);
    void (*store[2])(char *to, int64_t stride, int64_t count, int64_t parts, const void *from);
} lines[] = {
#define LINES(name)                                                                                \
    {                                                                                              \
        {load_##name##_float, load_##name##_double}, {                                             \
            store_##name##_float, store_##name##_double                                            \
        }                                                                                          \
    }
    LINES(16f), LINES(16bf), LINES(32f), LINES(64f), LINES(8i), LINES(32i),
};

static void negate_second(void *numbers, int64_t count, bool wide) {
    for (int64_t i = 0; i < count; i++)
        if (wide)
            ((double *)numbers)[2 * i + 1] *= -1;
        else
            ((float *)numbers)[2 * i + 1] *= -1;
}

/* Elements that are stored. */
static void load(const struct ff__blas_matrix *matrix, int64_t i, int64_t j, int64_t count,
                 bool wide, void *numbers) {
    lines[matrix->type & 7].load[wide](ff__blas_at(matrix, i, j), matrix->row, count,
                                       ff__blas_parts(matrix->type), numbers);
    if (matrix->conjugate)
        negate_second(numbers, count, wide);
}

/* Elements that are not stored: those that mirror them, or 0. */
static void mirror(const struct ff__blas_matrix *matrix, int64_t i, int64_t j, int64_t count,
                   bool wide, char *numbers, size_t size) {
    struct ff__blas_matrix other = ff__blas_transposed(matrix);
    if (matrix->form == FF_BLAS_HERMITIAN)
        other.conjugate = !other.conjugate;
    if (count > 0 && matrix->form == FF_BLAS_TRIANGULAR)
        memset(numbers, 0, (size_t)count * size);
    else if (count > 0)
        load(&other, i, j, count, wide, numbers);
}

static void set_part(void *numbers, int64_t part, bool wide, float value) {
    if (wide)
        ((double *)numbers)[part] = (double)value;
    else
        ((float *)numbers)[part] = value;
}

/* A diagonal of ones, or without imaginary parts. */
static void set_diagonal(const struct ff__blas_matrix *matrix, int64_t at, bool wide,
                         void *numbers) {
    int64_t parts = ff__blas_parts(matrix->type);
    if (matrix->is_unit)
        set_part(numbers, at * parts, wide, 1);
    if (parts == 2 && (matrix->is_unit || matrix->form == FF_BLAS_HERMITIAN))
        set_part(numbers, at * parts + 1, wide, 0);
}

void ff__blas_load(const struct ff__blas_matrix *matrix, int64_t i, int64_t j, int64_t count,
                   bool wide, void *numbers) {
    size_t size = (wide ? sizeof(double) : sizeof(float)) * ff__blas_parts(matrix->type);
    int64_t first, end;
    ff__blas_stored(matrix, i, j, count, &first, &end);
    mirror(matrix, i, j, first, wide, numbers, size);
    load(matrix, i + first, j, end - first, wide, (char *)numbers + (size_t)first * size);
    mirror(matrix, i + end, j, count - end, wide, (char *)numbers + (size_t)end * size, size);
    if (matrix->form != FF_BLAS_FULL && j >= i && j < i + count)
        set_diagonal(matrix, j - i, wide, numbers);
}

void ff__blas_store(const struct ff__blas_matrix *matrix, int64_t i, int64_t j, int64_t count,
                    bool wide, const void *numbers) {
    size_t size = (wide ? sizeof(double) : sizeof(float)) * ff__blas_parts(matrix->type);
    int64_t first, end;
    ff__blas_stored(matrix, i, j, count, &first, &end);
    lines[matrix->type & 7].store[wide](ff__blas_at(matrix, i + first, j), matrix->row, end - first,
                                        ff__blas_parts(matrix->type),
                                        (const char *)numbers + (size_t)first * size);
    if (matrix->form == FF_BLAS_HERMITIAN && j >= i && j < i + count) /* its diagonal is real */
        lines[matrix->type & 7].store[wide](
            ff__blas_at(matrix, j, j) + ff__blas_size(matrix->type) / 2, 1, 1, 1, &(double){0});
}

struct ff__blas_number ff__blas_number(const struct ff__blas_scalar *scalar) {
    const void *at = scalar->device != NULL ? scalar->device : scalar->value;
    double parts[2] = {0, 0};
    lines[scalar->type & 7].load[true](at, 1, 1, ff__blas_parts(scalar->type), parts);
    return (struct ff__blas_number){parts[0], parts[1]};
}

struct ff__blas_scalar ff__blas_constant(double value) {
    struct ff__blas_scalar scalar = {.type = FF_BLAS_64F};
    memcpy(scalar.value, &value, sizeof value);
    return scalar;
}
