/* Matrices of a warp: fragments as the PTX ISA's formulas place them, against plain loops. */
#include "base/cases.h"

#include "base/random.h"
#include "ptx/device/half.h"
#include "ptx/mma.h"

enum { LANES = FF_PTX_WARP };

/* Elements as numbers of their type's bits; [row][column], B too. */
struct matrices {
    uint32_t a[16][64], b[64][8], c[16][8];
};

struct form {
    int shape, rows, depth, a_bits, c_bits; /* bits: of an element */
    char a, b;                              /* h: f16, b: bf16, t: tf32, s, u: integers */
};

/* With bytes, or integers of four bits. */
#define INTEGERS(shape, rows, depth, bits)                                                         \
    {shape, rows, depth, bits, 32, 's', 's'}, {shape, rows, depth, bits, 32, 's', 'u'},            \
        {shape, rows, depth, bits, 32, 'u', 's'}, {                                                \
        shape, rows, depth, bits, 32, 'u', 'u'                                                     \
    }

static const struct form forms[] = {
    {FF__PTX_M_M16N8K8, 16, 8, 16, 16, 'h', 'h'},   {FF__PTX_M_M16N8K8, 16, 8, 16, 32, 'h', 'h'},
    {FF__PTX_M_M16N8K16, 16, 16, 16, 16, 'h', 'h'}, {FF__PTX_M_M16N8K16, 16, 16, 16, 32, 'h', 'h'},
    {FF__PTX_M_M16N8K8, 16, 8, 16, 32, 'b', 'b'},   {FF__PTX_M_M16N8K16, 16, 16, 16, 32, 'b', 'b'},
    {FF__PTX_M_M16N8K4, 16, 4, 32, 32, 't', 't'},   {FF__PTX_M_M16N8K8, 16, 8, 32, 32, 't', 't'},
    INTEGERS(FF__PTX_M_M8N8K16, 8, 16, 8),          INTEGERS(FF__PTX_M_M16N8K16, 16, 16, 8),
    INTEGERS(FF__PTX_M_M16N8K32, 16, 32, 8),        INTEGERS(FF__PTX_M_M8N8K32, 8, 32, 4),
    INTEGERS(FF__PTX_M_M16N8K32, 16, 32, 4),        INTEGERS(FF__PTX_M_M16N8K64, 16, 64, 4)};
enum { FORMS = sizeof forms / sizeof *forms };

static uint8_t type_of(const struct form *form, char letter) {
    switch (letter) {
    case 'h':
        return FF__PTX_F16;
    case 'b':
        return FF__PTX_BF16;
    case 't':
        return FF__PTX_TF32;
    case 's':
        return form->a_bits == 4 ? FF__PTX_S4 : FF__PTX_S8;
    default:
        return form->a_bits == 4 ? FF__PTX_U4 : FF__PTX_U8;
    }
}

static bool is_whole(const struct form *form) {
    return form->a_bits <= 8;
}

/* Its number in the table. */
static uint32_t number_of(const struct form *form) {
    uint8_t c = is_whole(form) ? FF__PTX_S32 : form->c_bits == 16 ? FF__PTX_F16 : FF__PTX_F32;
    const uint8_t types[] = {c, type_of(form, form->a), type_of(form, form->b), c};
    uint32_t i = 0;
    while (i < ff__ptx_mma_count && (ff__ptx_mmas[i].wmma || ff__ptx_mmas[i].shape != form->shape ||
                                     memcmp(ff__ptx_mmas[i].types, types, sizeof types) != 0))
        i++;
    assert_true(i < ff__ptx_mma_count);
    return i;
}

/* ---- fragments: element i of a lane ---- */

static void place_a(const struct form *form, int lane, int i, int *row, int *column) {
    int group = lane / 4, in_group = lane % 4;
    bool upper = false; /* rows 0 to 7 */
    switch (form->a_bits) {
    case 32:
        upper = i == 0 || i == 2;
        *column = i < 2 ? in_group : in_group + 4;
        break;
    case 16:
        upper = i < 2 || (4 <= i && i < 6);
        *column = in_group * 2 + (i & 1) + (i < 4 ? 0 : 8);
        break;
    case 8:
        upper = i < 4 || (8 <= i && i < 12) || form->rows == 8;
        *column = in_group * 4 + (i & 3) + (i < 8 ? 0 : 16);
        break;
    default:
        upper = i < 8 || (16 <= i && i < 24) || form->rows == 8;
        *column = in_group * 8 + (i & 7) + (i < 16 ? 0 : 32);
    }
    *row = upper ? group : group + 8;
}

static void place_b(const struct form *form, int lane, int i, int *row, int *column) {
    int in_group = lane % 4;
    *column = lane / 4;
    switch (form->a_bits) {
    case 32:
        *row = i == 0 ? in_group : in_group + 4;
        break;
    case 16:
        *row = in_group * 2 + (i & 1) + (i < 2 ? 0 : 8);
        break;
    case 8:
        *row = in_group * 4 + (i & 3) + (i < 4 ? 0 : 16);
        break;
    default:
        *row = in_group * 8 + (i & 7) + (i < 8 ? 0 : 32);
    }
}

static void place_c(int lane, int i, int *row, int *column) {
    *row = i < 2 ? lane / 4 : lane / 4 + 8;
    *column = lane % 4 * 2 + (i & 1);
}

static void put(uint32_t *row, int lane, int bits, int i, uint32_t value) {
    row[i * bits / 32 * LANES + lane] |= value << i * bits % 32;
}

static void lay_out(const struct form *form, const struct matrices *m,
                    uint32_t in[FF_PTX_IN][LANES]) {
    int row, column, rows_a = form->rows * form->depth * form->a_bits / 1024;
    int rows_b = form->depth * form->a_bits / 128;
    memset(in, 0, sizeof(uint32_t) * FF_PTX_IN * LANES);
    for (int lane = 0; lane < LANES; lane++) {
        for (int i = 0; i < rows_a * 32 / form->a_bits; i++) {
            place_a(form, lane, i, &row, &column);
            put(in[0], lane, form->a_bits, i, m->a[row][column]);
        }
        for (int i = 0; i < rows_b * 32 / form->a_bits; i++) {
            place_b(form, lane, i, &row, &column);
            put(in[rows_a], lane, form->a_bits, i, m->b[row][column]);
        }
        for (int i = 0; i < form->rows / 4; i++) {
            place_c(lane, i, &row, &column);
            put(in[rows_a + rows_b], lane, form->c_bits, i, m->c[row][column]);
        }
    }
}

static void multiply(const struct form *form, const struct matrices *m, uint32_t added,
                     uint32_t d[16][8]) {
    uint32_t in[FF_PTX_IN][LANES], out[FF_PTX_OUT][LANES];
    struct ff_ptx_lanes lanes = {.in = *in, .out = *out, .count = LANES};
    lay_out(form, m, in);
    memset(out, 0xa5, sizeof out);
    ff__ptx_mma(number_of(form) + added, &lanes);
    for (int lane = 0; lane < LANES; lane++)
        for (int i = 0; i < form->rows / 4; i++) {
            int row, column;
            place_c(lane, i, &row, &column);
            d[row][column] =
                form->c_bits == 32 ? out[i][lane] : out[i / 2][lane] >> i % 2 * 16 & 0xffff;
        }
    for (int row = form->rows * form->c_bits / 128; row < FF_PTX_OUT; row++)
        for (int lane = 0; lane < LANES; lane++)
            assert_int_equal(out[row][lane], 0xa5a5a5a5u);
}

/* ---- integers ---- */

static int64_t whole_value(const struct form *form, char type, uint32_t bits) {
    int64_t sign = INT64_C(1) << (form->a_bits - 1);
    return type == 's' ? ((int64_t)bits ^ sign) - sign : (int64_t)bits;
}

static void check_integers(const struct form *form, const struct matrices *m, bool saturate) {
    uint32_t d[16][8];
    multiply(form, m, saturate ? FF__PTX_SATURATE : 0, d);
    for (int row = 0; row < form->rows; row++)
        for (int column = 0; column < 8; column++) {
            int64_t sum = (int32_t)m->c[row][column];
            for (int k = 0; k < form->depth; k++)
                sum += whole_value(form, form->a, m->a[row][k]) *
                       whole_value(form, form->b, m->b[k][column]);
            if (saturate && sum > INT32_MAX)
                sum = INT32_MAX;
            if (saturate && sum < INT32_MIN)
                sum = INT32_MIN;
            if (d[row][column] != (uint32_t)sum)
                fail_msg("form %d, %d: [%d][%d] is %08x, not %08x", form->shape, saturate, row,
                         column, d[row][column], (uint32_t)sum);
        }
}

static void integers(void **state) {
    (void)state;
    struct ff__random random = ff__random_seeded(1);
    for (unsigned long i = 0; i < scaled_cases(40, 8); i++)
        for (const struct form *form = forms; form < forms + FORMS; form++) {
            if (!is_whole(form))
                continue;
            struct matrices m;
            uint32_t top = 1u << (form->a_bits - 1);
            for (int row = 0; row < 16; row++)
                for (int k = 0; k < form->depth; k++)
                    m.a[row][k] = i % 4 == 0 ? top : ff__random_below(&random, 2 * top);
            for (int k = 0; k < form->depth; k++)
                for (int column = 0; column < 8; column++)
                    m.b[k][column] = i % 4 == 0 ? top : ff__random_below(&random, 2 * top);
            for (int row = 0; row < 16; row++)
                for (int column = 0; column < 8; column++)
                    m.c[row][column] =
                        i % 2 == 0 ? (row % 2 ? 0x7fffffffu : 0x80000000u) - (uint32_t)column
                                   : (uint32_t)ff__random_next(&random);
            check_integers(form, &m, false);
            check_integers(form, &m, true);
        }
}

/* ---- real numbers ---- */

/* What an element stands for, by its parts. */
static double part_value(uint32_t bits, int exponent_bits, int fraction_bits) {
    int bias = (1 << (exponent_bits - 1)) - 1;
    uint32_t fraction = bits & ((1u << fraction_bits) - 1);
    int exponent = (int)(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
    double sign = bits >> (exponent_bits + fraction_bits) & 1 ? -1 : 1;
    if (exponent == (1 << exponent_bits) - 1)
        return fraction ? NAN : sign * INFINITY;
    if (exponent == 0)
        return sign * ldexp(fraction, 1 - bias - fraction_bits);
    return sign * ldexp(fraction + (1u << fraction_bits), exponent - bias - fraction_bits);
}

static double real_value(char type, uint32_t bits) {
    return type == 'h'   ? part_value(bits, 5, 10)
           : type == 'b' ? part_value(bits, 8, 7)
           : type == 't' ? part_value(bits >> 13, 8, 10)
                         : part_value(bits, 8, 23);
}

static uint32_t random_real(struct ff__random *random, char type) {
    uint32_t bits = (uint32_t)(ff__random_next(random) >> 32);
    if (bits % 16 == 0)
        return 0;
    uint32_t sign = bits & 0x80000000u, fraction = bits >> 1 & 0x7fffff;
    uint32_t near = 127 - 8 + ff__random_below(random, 12);
    switch (type) {
    case 'h': /* with the smallest ones */
        return sign >> 16 | (bits % 8 == 1 ? 0 : near - 127 + 15) << 10 | fraction >> 13;
    case 'b':
        return sign >> 16 | (near + bits % 2 * 40) << 7 | fraction >> 16;
    default:
        return sign | near << 23 | fraction;
    }
}

static void fill_reals(const struct form *form, struct matrices *m, struct ff__random *random) {
    for (int row = 0; row < 16; row++)
        for (int k = 0; k < form->depth; k++)
            m->a[row][k] = random_real(random, form->a);
    for (int k = 0; k < form->depth; k++)
        for (int column = 0; column < 8; column++)
            m->b[k][column] = random_real(random, form->b);
    for (int row = 0; row < 16; row++)
        for (int column = 0; column < 8; column++)
            m->c[row][column] = random_real(random, form->c_bits == 16 ? 'h' : 'f');
}

/* Half a unit in the last place of D, and what 17 sums in double precision lose. */
static void check_reals(const struct form *form, const struct matrices *m) {
    char type = form->c_bits == 16 ? 'h' : 'f';
    uint32_t d[16][8];
    multiply(form, m, 0, d);
    for (int row = 0; row < 16; row++)
        for (int column = 0; column < 8; column++) {
            long double sum = real_value(type, m->c[row][column]), size = fabsl(sum);
            for (int k = 0; k < form->depth; k++) {
                long double product = (long double)real_value(form->a, m->a[row][k]) *
                                      (long double)real_value(form->b, m->b[k][column]);
                sum += product;
                size += fabsl(product);
            }
            int exponent;
            frexpl(sum, &exponent);
            long double unit =
                type == 'h' ? fmaxl(ldexpl(1, exponent - 11), 0x1p-24L) : ldexpl(1, exponent - 24);
            long double got = real_value(type, d[row][column]);
            if (type == 'h' && fabsl(sum) >= 65520)
                assert_true(got == (sum > 0 ? INFINITY : -INFINITY));
            else if (!(fabsl(got - sum) <= unit / 2 + size * 0x1p-48L))
                fail_msg("form %d: [%d][%d] is %La, not %La", form->shape, row, column, got, sum);
        }
}

static void reals(void **state) {
    (void)state;
    struct ff__random random = ff__random_seeded(2);
    for (unsigned long i = 0; i < scaled_cases(40, 8); i++)
        for (const struct form *form = forms; form < forms + FORMS; form++) {
            if (is_whole(form))
                continue;
            struct matrices m;
            fill_reals(form, &m, &random);
            check_reals(form, &m);
        }
}

/* NaN and infinity go where they belong, and to no other row. */
static void special_reals(void **state) {
    (void)state;
    struct ff__random random = ff__random_seeded(3);
    static const struct {
        char type;
        uint32_t nan, infinity, one;
    } specials[] = {{'h', 0xfe01, 0xfc00, 0x3c00},
                    {'b', 0xff81, 0xff80, 0x3f80},
                    {'t', 0xff812345, 0xff800000, 0x3f800000}};
    for (const struct form *form = forms; form < forms + FORMS; form++)
        for (size_t i = 0; i < 3; i++) {
            if (specials[i].type != form->a)
                continue;
            struct matrices m;
            uint32_t d[16][8], without[16][8], width = (uint32_t)form->c_bits;
            fill_reals(form, &m, &random);
            for (int column = 0; column < 8; column++)
                m.b[2][column] = specials[i].one;
            multiply(form, &m, 0, without);
            m.a[3][2] = specials[i].nan;
            m.a[12][2] = specials[i].infinity;
            multiply(form, &m, 0, d);
            for (int row = 0; row < 16; row++)
                for (int column = 0; column < 8; column++)
                    assert_int_equal(d[row][column], row == 3 ? (width == 16 ? 0x7fff : 0x7fffffff)
                                                     : row == 12
                                                         ? (width == 16 ? 0xfc00 : 0xff800000)
                                                         : without[row][column]);
        }
}

/* Each of them, what lies between neighbours, and just beside that. */
static void halves(void **state) {
    (void)state;
    for (uint32_t half = 0; half < 0x10000; half++) {
        double value = real_value('h', half), got = cvt_f32_f16((u16)half);
        if (value != value) {
            assert_true(got != got);
            assert_int_equal(cvt_f16_f64(got), 0x7fff);
            continue;
        }
        assert_true(got == value && signbit(got) == signbit(value));
        assert_int_equal(cvt_f16_f64(value), half);
        if ((half & 0x7fff) >= 0x7c00)
            continue;
        double next =
            (half & 0x7fff) == 0x7bff ? copysign(65536, value) : real_value('h', half + 1);
        double middle = (value + next) / 2;
        assert_int_equal(cvt_f16_f64(middle), half + (half & 1));
        assert_int_equal(cvt_f16_f64(nextafter(middle, value)), half);
        assert_int_equal(cvt_f16_f64(nextafter(middle, next)), half + 1);
    }
}

/* ---- loads ---- */

static void loads_of_matrices(void **state) {
    (void)state;
    struct ff__random random = ff__random_seeded(4);
    static uint16_t memory[64][8] __attribute__((aligned(16)));
    for (int i = 0; i < 64 * 8; i++)
        memory[i / 8][i % 8] = (uint16_t)(i * 0x4321);
    for (uint32_t shape = 1; shape <= 12; shape++) {
        uint32_t count = shape % 8, in[FF_PTX_IN][LANES] = {{0}}, out[FF_PTX_OUT][LANES];
        const uint16_t *rows[LANES];
        if (count != 1 && count != 2 && count != 4)
            continue;
        memset(out, 0xa5, sizeof out);
        for (uint32_t l = 0; l < count * 8; l++) {
            rows[l] = memory[ff__random_below(&random, 64)];
            in[0][l] = (uint32_t)(uintptr_t)rows[l];
            in[1][l] = (uint32_t)((uintptr_t)rows[l] >> 32);
        }
        struct ff_ptx_lanes lanes = {.in = *in, .out = *out, .count = LANES};
        ff__ptx_ldmatrix(shape, &lanes);
        for (uint32_t matrix = 0; matrix < FF_PTX_OUT; matrix++)
            for (uint32_t l = 0; l < LANES; l++)
                for (uint32_t i = 0; i < 2; i++) {
                    uint32_t row = l / 4, column = l % 4 * 2 + i, expected = 0xa5a5;
                    if (matrix < count && shape < 8)
                        expected = rows[matrix * 8 + row][column];
                    else if (matrix < count)
                        expected = rows[matrix * 8 + column][row];
                    assert_int_equal(out[matrix][l] >> 16 * i & 0xffff, expected);
                }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers),          cmocka_unit_test(reals),
        cmocka_unit_test(special_reals),     cmocka_unit_test(halves),
        cmocka_unit_test(loads_of_matrices),
    };
    return cmocka_run_group_tests_name("ptx.mma", tests, NULL, NULL);
}
