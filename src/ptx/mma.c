#include "ptx/mma.h"

#include "ptx/device/half.h"
#include <stdbool.h>
#include <string.h>

enum { LANES = FF_PTX_WARP, ROWS = 16, COLUMNS = 8, REAL_DEPTH = 16, INTEGER_DEPTH = 32 };

/* Types of elements: what a register of 32 bits holds one, two or four of. */
enum element { F16, BF16, TF32, S8, U8 };

static const struct shape {
    uint8_t depth; /* columns of A, rows of B */
    uint8_t a, b;  /* enum element */
    bool halves;   /* C and D are f16 */
} shapes[] = {
    [FF_PTX_M16N8K8_F16] = {8, F16, F16, true},
    [FF_PTX_M16N8K8_F16_F32] = {8, F16, F16, false},
    [FF_PTX_M16N8K16_F16] = {16, F16, F16, true},
    [FF_PTX_M16N8K16_F16_F32] = {16, F16, F16, false},
    [FF_PTX_M16N8K8_BF16] = {8, BF16, BF16, false},
    [FF_PTX_M16N8K16_BF16] = {16, BF16, BF16, false},
    [FF_PTX_M16N8K4_TF32] = {4, TF32, TF32, false},
    [FF_PTX_M16N8K8_TF32] = {8, TF32, TF32, false},
    [FF_PTX_M16N8K16_S8] = {16, S8, S8, false},
    [FF_PTX_M16N8K16_U8] = {16, U8, U8, false},
    [FF_PTX_M16N8K16_S8_U8] = {16, S8, U8, false},
    [FF_PTX_M16N8K16_U8_S8] = {16, U8, S8, false},
    [FF_PTX_M16N8K32_S8] = {32, S8, S8, false},
    [FF_PTX_M16N8K32_U8] = {32, U8, U8, false},
    [FF_PTX_M16N8K32_S8_U8] = {32, S8, U8, false},
    [FF_PTX_M16N8K32_U8_S8] = {32, U8, S8, false},
};

/* ---- places ----
 *
 * Lanes are eight groups of four. A register has `packed` neighbours along the depth, so a group
 * spans 4 * packed of it, and the next register but one (of A; of B the next) goes on there. */

struct place {
    uint32_t line, depth; /* row of A or column of B; of the first element */
};

static struct place place_in_a(uint32_t lane, uint32_t reg, uint32_t packed) {
    return (struct place){lane / 4 + reg % 2 * 8, (reg / 2 * 4 + lane % 4) * packed};
}

static struct place place_in_b(uint32_t lane, uint32_t reg, uint32_t packed) {
    return (struct place){lane / 4, (reg * 4 + lane % 4) * packed};
}

/* Elements 0 to 3 of a lane in C and D. */
static uint32_t row_of(uint32_t lane, uint32_t element) {
    return lane / 4 + element / 2 * 8;
}

static uint32_t column_of(uint32_t lane, uint32_t element) {
    return lane % 4 * 2 + element % 2;
}

/* ---- real numbers ---- */

static uint32_t packed_reals(enum element type) {
    return type == TF32 ? 1 : 2;
}

/* The elements of one register in all lanes. */
static void read_reals(enum element type, const uint32_t *words, float values[2][LANES]) {
    for (uint32_t l = 0; type == F16 && l < LANES; l++) {
        values[0][l] = cvt_f32_f16(words[l] & 0xffff);
        values[1][l] = cvt_f32_f16((uint16_t)(words[l] >> 16));
    }
    for (uint32_t l = 0; type == BF16 && l < LANES; l++) {
        values[0][l] = as_f32(words[l] << 16);
        values[1][l] = as_f32(words[l] & 0xffff0000u);
    }
    for (uint32_t l = 0; type == TF32 && l < LANES; l++)
        values[0][l] = as_f32(words[l] & 0xffffe000u);
}

static uint32_t read_a(const struct shape *shape, const uint32_t *words,
                       double a[ROWS][REAL_DEPTH]) {
    uint32_t packed = packed_reals(shape->a), count = shape->depth / packed / 2;
    for (uint32_t reg = 0; reg < count; reg++) {
        float values[2][LANES];
        read_reals(shape->a, words + reg * LANES, values);
        for (uint32_t l = 0; l < LANES; l++) {
            struct place place = place_in_a(l, reg, packed);
            for (uint32_t i = 0; i < packed; i++)
                a[place.line][place.depth + i] = values[i][l];
        }
    }
    return count;
}

static uint32_t read_b(const struct shape *shape, const uint32_t *words,
                       double b[REAL_DEPTH][COLUMNS]) {
    uint32_t packed = packed_reals(shape->b), count = shape->depth / packed / 4;
    for (uint32_t reg = 0; reg < count; reg++) {
        float values[2][LANES];
        read_reals(shape->b, words + reg * LANES, values);
        for (uint32_t l = 0; l < LANES; l++) {
            struct place place = place_in_b(l, reg, packed);
            for (uint32_t i = 0; i < packed; i++)
                b[place.depth + i][place.line] = values[i][l];
        }
    }
    return count;
}

static void read_c(const struct shape *shape, const uint32_t *words, double c[ROWS][COLUMNS]) {
    for (uint32_t i = 0; i < 4; i++)
        for (uint32_t l = 0; l < LANES; l++)
            c[row_of(l, i)][column_of(l, i)] =
                shape->halves ? cvt_f32_f16(words[i / 2 * LANES + l] >> i % 2 * 16 & 0xffff)
                              : as_f32(words[i * LANES + l]);
}

static uint32_t as_single(double value) {
    return value == value ? as_u32((float)value) : 0x7fffffff;
}

static void write_d(const struct shape *shape, double d[ROWS][COLUMNS], uint32_t *words) {
    for (uint32_t i = 0; i < 4; i += shape->halves ? 2 : 1, words += LANES)
        for (uint32_t l = 0; l < LANES; l++) {
            const double *from = &d[row_of(l, i)][column_of(l, i)];
            words[l] = shape->halves ? cvt_f16_f64(from[0]) | (uint32_t)cvt_f16_f64(from[1]) << 16
                                     : as_single(from[0]);
        }
}

static void multiply_reals(const struct shape *shape, const uint32_t *in, uint32_t *out) {
    double a[ROWS][REAL_DEPTH], b[REAL_DEPTH][COLUMNS], c[ROWS][COLUMNS];
    in += read_a(shape, in, a) * LANES;
    in += read_b(shape, in, b) * LANES;
    read_c(shape, in, c);
    for (uint32_t row = 0; row < ROWS; row++)
        for (uint32_t k = 0; k < shape->depth; k++)
            for (uint32_t column = 0; column < COLUMNS; column++)
                c[row][column] += a[row][k] * b[k][column];
    write_d(shape, c, out);
}

/* ---- integers ---- */

static int16_t integer_at(enum element type, uint32_t word, uint32_t index) {
    uint32_t byte = word >> 8 * index & 0xff;
    return (int16_t)(type == S8 ? (int8_t)byte : (int32_t)byte);
}

static void multiply_integers(const struct shape *shape, bool saturates, const uint32_t *in,
                              uint32_t *out) {
    int16_t a[ROWS][INTEGER_DEPTH] = {0}, b[COLUMNS][INTEGER_DEPTH] = {0};
    for (uint32_t reg = 0; reg < shape->depth / 8u; reg++, in += LANES)
        for (uint32_t l = 0; l < LANES; l++) {
            struct place place = place_in_a(l, reg, 4);
            for (uint32_t i = 0; i < 4; i++)
                a[place.line][place.depth + i] = integer_at(shape->a, in[l], i);
        }
    for (uint32_t reg = 0; reg < shape->depth / 16u; reg++, in += LANES)
        for (uint32_t l = 0; l < LANES; l++) {
            struct place place = place_in_b(l, reg, 4);
            for (uint32_t i = 0; i < 4; i++)
                b[place.line][place.depth + i] = integer_at(shape->b, in[l], i);
        }
    for (uint32_t i = 0; i < 4; i++)
        for (uint32_t l = 0; l < LANES; l++) {
            const int16_t *x = a[row_of(l, i)], *y = b[column_of(l, i)];
            int32_t products = 0;
            for (uint32_t k = 0; k < INTEGER_DEPTH; k++)
                products += x[k] * y[k];
            int64_t sum = (int64_t)(int32_t)in[i * LANES + l] + products;
            if (saturates)
                sum = sum < INT32_MIN ? INT32_MIN : sum > INT32_MAX ? INT32_MAX : sum;
            out[i * LANES + l] = (uint32_t)sum;
        }
}

void ff__ptx_mma(uint32_t shape, struct ff_ptx_lanes *lanes) {
    const struct shape *found = &shapes[shape % FF_PTX_MMA_SATURATE];
    if (found->a == S8 || found->a == U8)
        multiply_integers(found, shape >= FF_PTX_MMA_SATURATE, lanes->in, lanes->out);
    else
        multiply_reals(found, lanes->in, lanes->out);
}

/* ---- loads ---- */

static uint32_t half_at(uint64_t address, uint32_t index) {
    uint16_t half;
    memcpy(&half, (const uint8_t *)(uintptr_t)address + index * sizeof half, sizeof half);
    return half;
}

/* Eight rows of eight halves each: lane 8 * m + r has the address of row r of matrix m. */
void ff__ptx_ldmatrix(uint32_t shape, struct ff_ptx_lanes *lanes) {
    for (uint32_t matrix = 0; matrix < shape % 8; matrix++) {
        uint64_t rows[8];
        for (uint32_t i = 0; i < 8; i++)
            rows[i] = lanes->in[matrix * 8 + i] | (uint64_t)lanes->in[LANES + matrix * 8 + i] << 32;
        for (uint32_t l = 0; l < LANES; l++) {
            uint32_t line = l / 4, at = l % 4 * 2;
            lanes->out[matrix * LANES + l] =
                shape >= 8 ? half_at(rows[at], line) | half_at(rows[at + 1], line) << 16
                           : half_at(rows[line], at) | half_at(rows[line], at + 1) << 16;
        }
    }
}
