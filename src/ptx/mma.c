#include "ptx/mma.h"

#include "ptx/device/half.h"
#include <string.h>

enum { LANES = FF_PTX_WARP, LINES = 32, REAL_DEPTH = 16, INTEGER_DEPTH = 64, PANEL = 8 };

const struct ff__ptx_mma ff__ptx_mmas[] = {
#define FF_PTX_MMA(shape, rows, columns, depth, wmma, d, a, b, c)                                  \
    {FF__PTX_M_##shape,                                                                            \
     rows,                                                                                         \
     columns,                                                                                      \
     depth,                                                                                        \
     wmma,                                                                                         \
     {FF__PTX_##d, FF__PTX_##a, FF__PTX_##b, FF__PTX_##c}},
#include "ptx/mma.def"
};
const uint32_t ff__ptx_mma_count = sizeof ff__ptx_mmas / sizeof *ff__ptx_mmas;

uint32_t ff__ptx_mma_bits(uint8_t type) {
    return type >= FF__PTX_TYPES ? 4 : 8 * ff__ptx_type_size(type);
}

uint32_t ff__ptx_mma_elements(const struct ff__ptx_mma *mma, enum ff__ptx_matrix which) {
    uint32_t rows = which == FF__PTX_B ? mma->depth : mma->rows;
    uint32_t columns = which == FF__PTX_A ? mma->depth : mma->columns;
    return rows * columns / LANES;
}

uint32_t ff__ptx_mma_words(const struct ff__ptx_mma *mma, enum ff__ptx_matrix which) {
    uint8_t type = mma->types[which];
    if (mma->wmma && type == FF__PTX_F16 && (which == FF__PTX_A || which == FF__PTX_B))
        return 8;
    return ff__ptx_mma_elements(mma, which) * ff__ptx_mma_bits(type) / 32;
}

/* ---- places ----
 *
 * Lanes of mma are eight groups of four. A register has `packed` neighbours along the depth, so a
 * group spans 4 * packed of it, and the next register but one (of A with 16 rows; of others the
 * next) goes on there. Who calls these has constants for `layout` and `packed`. */

enum fragment_layout { BY_GROUPS, BY_HALVES, IN_TURN };

#define INLINE static inline __attribute__((always_inline))

static enum fragment_layout layout_of(const struct ff__ptx_mma *mma, enum ff__ptx_matrix which) {
    if (mma->wmma)
        return IN_TURN;
    return which == FF__PTX_A && mma->rows == 16 ? BY_HALVES : BY_GROUPS;
}

/* All extents are powers of two. */
static uint32_t shift_of(uint32_t extent) {
    return (uint32_t)__builtin_ctz(extent);
}

struct place {
    uint32_t line, depth; /* row of A or column of B; of the first element */
};

INLINE struct place place_in(enum fragment_layout layout, uint32_t elements, uint32_t shift,
                             uint32_t lane, uint32_t reg, uint32_t packed) {
    uint32_t at = lane * elements + reg * packed;
    if (layout == IN_TURN)
        return (struct place){at >> shift, at & ((1u << shift) - 1)};
    if (layout == BY_HALVES)
        return (struct place){lane / 4 + reg % 2 * 8, (reg / 2 * 4 + lane % 4) * packed};
    return (struct place){lane / 4, (reg * 4 + lane % 4) * packed};
}

/* An element of a lane in C and D. */
INLINE struct place place_of_sum(bool wmma, uint32_t elements, uint32_t shift, uint32_t lane,
                                 uint32_t element) {
    uint32_t at = lane * elements + element;
    if (wmma)
        return (struct place){at >> shift, at & ((1u << shift) - 1)};
    return (struct place){lane / 4 + element / 2 * 8, lane % 4 * 2 + element % 2};
}

/* ---- real numbers ---- */

static double wide(const uint32_t *words, uint32_t lane) {
    return as_f64(words[lane] | (uint64_t)words[LANES + lane] << 32);
}

static uint32_t reals_packed(uint8_t type) {
    return type == FF__PTX_F16 || type == FF__PTX_BF16 ? 2 : 1;
}

static uint32_t words_of_register(uint8_t type) {
    return type == FF__PTX_F64 ? 2 : 1;
}

/* The elements of one register in all lanes. */
static void read_reals(uint8_t type, const uint32_t *words, double values[2][LANES]) {
    for (uint32_t l = 0; type == FF__PTX_F16 && l < LANES; l++) {
        values[0][l] = cvt_f32_f16(words[l] & 0xffff);
        values[1][l] = cvt_f32_f16((uint16_t)(words[l] >> 16));
    }
    for (uint32_t l = 0; type == FF__PTX_BF16 && l < LANES; l++) {
        values[0][l] = as_f32(words[l] << 16);
        values[1][l] = as_f32(words[l] & 0xffff0000u);
    }
    for (uint32_t l = 0; type == FF__PTX_TF32 && l < LANES; l++)
        values[0][l] = as_f32(words[l] & 0xffffe000u);
    for (uint32_t l = 0; type == FF__PTX_F32 && l < LANES; l++)
        values[0][l] = as_f32(words[l]);
    for (uint32_t l = 0; type == FF__PTX_F64 && l < LANES; l++)
        values[0][l] = wide(words, l);
}

INLINE void place_reals(enum fragment_layout layout, uint32_t packed, const struct ff__ptx_mma *mma,
                        enum ff__ptx_matrix which, const uint32_t *words,
                        double lines[LINES][REAL_DEPTH]) {
    uint8_t type = mma->types[which];
    uint32_t elements = ff__ptx_mma_elements(mma, which), shift = shift_of(mma->depth);
    for (uint32_t reg = 0; reg * packed < elements; reg++) {
        double values[2][LANES];
        read_reals(type, words + reg * words_of_register(type) * LANES, values);
        for (uint32_t l = 0; l < LANES; l++) {
            struct place place = place_in(layout, elements, shift, l, reg, packed);
            for (uint32_t k = 0; k < packed; k++)
                lines[place.line][place.depth + k] = values[k][l];
        }
    }
}

/* A and B: a line is a row of A or a column of B. */
static void read_lines(const struct ff__ptx_mma *mma, enum ff__ptx_matrix which,
                       const uint32_t *words, double lines[LINES][REAL_DEPTH]) {
    bool two = reals_packed(mma->types[which]) == 2;
    switch (layout_of(mma, which)) {
    case IN_TURN:
        place_reals(IN_TURN, two ? 2 : 1, mma, which, words, lines);
        return;
    case BY_HALVES:
        if (two)
            place_reals(BY_HALVES, 2, mma, which, words, lines);
        else
            place_reals(BY_HALVES, 1, mma, which, words, lines);
        return;
    default:
        if (two)
            place_reals(BY_GROUPS, 2, mma, which, words, lines);
        else
            place_reals(BY_GROUPS, 1, mma, which, words, lines);
    }
}

INLINE void read_sums(bool wmma, const struct ff__ptx_mma *mma, const uint32_t *words,
                      double c[LINES][LINES]) {
    uint8_t type = mma->types[FF__PTX_C];
    uint32_t elements = ff__ptx_mma_elements(mma, FF__PTX_C), packed = reals_packed(type);
    uint32_t shift = shift_of(mma->columns);
    for (uint32_t i = 0; i < elements; i += packed, words += words_of_register(type) * LANES) {
        double values[2][LANES];
        read_reals(type, words, values);
        for (uint32_t k = 0; k < packed; k++)
            for (uint32_t l = 0; l < LANES; l++) {
                struct place place = place_of_sum(wmma, elements, shift, l, i + k);
                c[place.line][place.depth] = values[k][l];
            }
    }
}

static uint32_t as_single(double value) {
    return value == value ? as_u32((float)value) : 0x7fffffff;
}

static void write_wide(double value, uint32_t *words, uint32_t lane) {
    uint64_t bits = value == value ? as_u64(value) : 0x7fffffffffffffff;
    words[lane] = (uint32_t)bits;
    words[LANES + lane] = (uint32_t)(bits >> 32);
}

INLINE void write_sums(bool wmma, const struct ff__ptx_mma *mma, double d[LINES][LINES],
                       uint32_t *words) {
    uint8_t type = mma->types[FF__PTX_D];
    uint32_t elements = ff__ptx_mma_elements(mma, FF__PTX_D), packed = reals_packed(type);
    uint32_t shift = shift_of(mma->columns);
    for (uint32_t i = 0; i < elements; i += packed, words += words_of_register(type) * LANES)
        for (uint32_t l = 0; l < LANES; l++) {
            struct place place = place_of_sum(wmma, elements, shift, l, i);
            const double *from = &d[place.line][place.depth];
            if (type == FF__PTX_F64)
                write_wide(*from, words, l);
            else if (type == FF__PTX_F16)
                words[l] = cvt_f16_f64(from[0]) | (uint32_t)cvt_f16_f64(from[1]) << 16;
            else
                words[l] = as_single(*from);
        }
}

/* Sums of eight neighbours in a row. */
static void add_products(uint32_t depth, const double *a, double b[REAL_DEPTH][LINES],
                         uint32_t first, double *c) {
    double sums[PANEL];
    memcpy(sums, c + first, sizeof sums);
    for (uint32_t k = 0; k < depth; k++)
        for (uint32_t i = 0; i < PANEL; i++)
            sums[i] += a[k] * b[k][first + i];
    memcpy(c + first, sums, sizeof sums);
}

INLINE void multiply_reals(bool wmma, const struct ff__ptx_mma *mma, const uint32_t *in,
                           uint32_t *out) {
    double a[LINES][REAL_DEPTH], columns[LINES][REAL_DEPTH];
    double b[REAL_DEPTH][LINES], c[LINES][LINES];
    read_lines(mma, FF__PTX_A, in, a);
    in += ff__ptx_mma_words(mma, FF__PTX_A) * LANES;
    read_lines(mma, FF__PTX_B, in, columns);
    in += ff__ptx_mma_words(mma, FF__PTX_B) * LANES;
    read_sums(wmma, mma, in, c);
    for (uint32_t column = 0; column < mma->columns; column++)
        for (uint32_t k = 0; k < mma->depth; k++)
            b[k][column] = columns[column][k];
    for (uint32_t row = 0; row < mma->rows; row++)
        for (uint32_t first = 0; first < mma->columns; first += PANEL)
            add_products(mma->depth, a[row], b, first, c[row]);
    write_sums(wmma, mma, c, out);
}

/* ---- integers ---- */

INLINE void place_whole(enum fragment_layout layout, uint32_t bits, const struct ff__ptx_mma *mma,
                        enum ff__ptx_matrix which, const uint32_t *words,
                        int16_t lines[LINES][INTEGER_DEPTH]) {
    uint8_t type = mma->types[which];
    uint32_t elements = ff__ptx_mma_elements(mma, which), shift = shift_of(mma->depth);
    int32_t sign = type == FF__PTX_S8 || type == FF__PTX_S4 ? 1 << (bits - 1) : 0;
    for (uint32_t reg = 0; reg * 32 / bits < elements; reg++, words += LANES)
        for (uint32_t l = 0; l < LANES; l++) {
            struct place place = place_in(layout, elements, shift, l, reg, 32 / bits);
            for (uint32_t i = 0; i < 32 / bits; i++) {
                int32_t value = (int32_t)(words[l] >> i * bits & ((1u << bits) - 1));
                lines[place.line][place.depth + i] = (int16_t)((value ^ sign) - sign);
            }
        }
}

static void read_integers(const struct ff__ptx_mma *mma, enum ff__ptx_matrix which,
                          const uint32_t *words, int16_t lines[LINES][INTEGER_DEPTH]) {
    bool bytes = ff__ptx_mma_bits(mma->types[which]) == 8;
    switch (layout_of(mma, which)) {
    case IN_TURN: /* of bytes alone */
        place_whole(IN_TURN, 8, mma, which, words, lines);
        return;
    case BY_HALVES:
        if (bytes)
            place_whole(BY_HALVES, 8, mma, which, words, lines);
        else
            place_whole(BY_HALVES, 4, mma, which, words, lines);
        return;
    default:
        if (bytes)
            place_whole(BY_GROUPS, 8, mma, which, words, lines);
        else
            place_whole(BY_GROUPS, 4, mma, which, words, lines);
    }
}

static int32_t product(const int16_t *x, const int16_t *y, uint32_t depth) {
    int32_t sum = 0;
    for (; depth != 0; depth -= 2 * PANEL, x += 2 * PANEL, y += 2 * PANEL)
        for (uint32_t k = 0; k < 2 * PANEL; k++)
            sum += x[k] * y[k];
    return sum;
}

static void multiply_integers(const struct ff__ptx_mma *mma, bool saturates, const uint32_t *in,
                              uint32_t *out) {
    int16_t a[LINES][INTEGER_DEPTH], b[LINES][INTEGER_DEPTH];
    uint32_t elements = ff__ptx_mma_elements(mma, FF__PTX_D), shift = shift_of(mma->columns);
    read_integers(mma, FF__PTX_A, in, a);
    in += ff__ptx_mma_words(mma, FF__PTX_A) * LANES;
    read_integers(mma, FF__PTX_B, in, b);
    in += ff__ptx_mma_words(mma, FF__PTX_B) * LANES;
    for (uint32_t i = 0; i < elements; i++)
        for (uint32_t l = 0; l < LANES; l++) {
            struct place place = place_of_sum(mma->wmma, elements, shift, l, i);
            int64_t sum = (int64_t)(int32_t)in[i * LANES + l] +
                          product(a[place.line], b[place.depth], mma->depth);
            if (saturates)
                sum = sum < INT32_MIN ? INT32_MIN : sum > INT32_MAX ? INT32_MAX : sum;
            out[i * LANES + l] = (uint32_t)sum;
        }
}

void ff__ptx_mma(uint32_t shape, struct ff_ptx_lanes *lanes) {
    const struct ff__ptx_mma *mma = &ff__ptx_mmas[shape % FF__PTX_SATURATE];
    if (mma->types[FF__PTX_D] == FF__PTX_S32)
        multiply_integers(mma, shape >= FF__PTX_SATURATE, lanes->in, lanes->out);
    else if (mma->wmma)
        multiply_reals(true, mma, lanes->in, lanes->out);
    else
        multiply_reals(false, mma, lanes->in, lanes->out);
}

/* ---- loads, stores, transposition ----
 *
 * Of matrices of eight rows of eight halves. Each lane has two neighbours of a row, lane 4 * r + p
 * those at 2 * p of row r. Lane 8 * m + r has the address of row r of matrix m. */

static void rows_of(const struct ff_ptx_lanes *lanes, uint32_t matrix, uint64_t rows[8]) {
    for (uint32_t i = 0; i < 8; i++)
        rows[i] = lanes->in[matrix * 8 + i] | (uint64_t)lanes->in[LANES + matrix * 8 + i] << 32;
}

static uint8_t *place_of(uint64_t row, uint32_t index) {
    return (uint8_t *)(uintptr_t)row + index * sizeof(uint16_t);
}

static uint32_t half_at(uint64_t row, uint32_t index) {
    uint16_t half;
    memcpy(&half, place_of(row, index), sizeof half);
    return half;
}

static void put_half(uint64_t row, uint32_t index, uint32_t word) {
    uint16_t half = (uint16_t)word;
    memcpy(place_of(row, index), &half, sizeof half);
}

void ff__ptx_ldmatrix(uint32_t shape, struct ff_ptx_lanes *lanes) {
    for (uint32_t matrix = 0; matrix < shape % 8; matrix++) {
        uint64_t rows[8];
        rows_of(lanes, matrix, rows);
        for (uint32_t l = 0; l < LANES; l++) {
            uint32_t line = l / 4, at = l % 4 * 2;
            lanes->out[matrix * LANES + l] =
                shape >= 8 ? half_at(rows[at], line) | half_at(rows[at + 1], line) << 16
                           : half_at(rows[line], at) | half_at(rows[line], at + 1) << 16;
        }
    }
}

void ff__ptx_stmatrix(uint32_t shape, struct ff_ptx_lanes *lanes) {
    for (uint32_t matrix = 0; matrix < shape % 8; matrix++) {
        uint64_t rows[8];
        rows_of(lanes, matrix, rows);
        for (uint32_t i = 0; i < 2 * LANES; i++) {
            uint32_t l = i / 2, line = l / 4, at = l % 4 * 2 + i % 2;
            uint32_t half = lanes->in[(2 + matrix) * LANES + l] >> i % 2 * 16;
            put_half(rows[shape >= 8 ? at : line], shape >= 8 ? line : at, half);
        }
    }
}

void ff__ptx_movmatrix(struct ff_ptx_lanes *lanes) {
    for (uint32_t l = 0; l < LANES; l++) {
        uint32_t word = 0;
        for (uint32_t i = 0; i < 2;
             i++) { /* its element (l / 4, at) is (at, l / 4) of the source */
            uint32_t at = l % 4 * 2 + i, column = l / 4;
            word |= (lanes->in[at * 4 + column / 2] >> column % 2 * 16 & 0xffff) << 16 * i;
        }
        lanes->out[l] = word;
    }
}
