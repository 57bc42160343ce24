/* Instructions for matrices in whole kernels: each product of wmma with what loads and stores its
 * matrices, against plain loops; mma of doubles; stmatrix, movmatrix. */
#include "ptx/bench.h"

#include "ptx/device/half.h"
#include "ptx/folder.h"
#include "ptx/mma.h"

enum { LANES = 32, PLACE = 8192, WORDS = 5 * PLACE / 4, EXTENT = 32 };

#define HEAD ".version 7.8\n.target sm_90\n.address_size 64\n"
#define ENTRY(name)                                                                                \
    ".visible .entry " name "(.param .u64 out, .param .u32 n)\n{\n"                                \
    ".reg .b32 %r<9>; .reg .b64 %p, %q; .reg .f64 %f<4>;\n"                                        \
    "ld.param.u64 %p, [out]; mov.u32 %r0, %laneid;\n"

/* ---- the text ---- */

/* How matrices lie in memory, by the number of a kernel: by rows or columns, with lines that are as
 * long as they have to be, or longer. */
static bool by_rows(uint32_t number, enum ff__ptx_matrix which) {
    return (number >> which & 1) != 0;
}

static uint32_t rows_of(const struct ff__ptx_mma *mma, enum ff__ptx_matrix which) {
    return which == FF__PTX_B ? mma->depth : mma->rows;
}

static uint32_t columns_of(const struct ff__ptx_mma *mma, enum ff__ptx_matrix which) {
    return which == FF__PTX_A ? mma->depth : mma->columns;
}

static uint32_t stride_of(const struct ff__ptx_mma *mma, uint32_t number,
                          enum ff__ptx_matrix which) {
    uint32_t least = by_rows(number, which) ? columns_of(mma, which) : rows_of(mma, which);
    return number % 3 == 0 ? least : least + 16;
}

static const char *type_of(const struct ff__ptx_mma *mma, enum ff__ptx_matrix which) {
    return ff__ptx_type_name(mma->types[which]);
}

static uint32_t registers_of(const struct ff__ptx_mma *mma, enum ff__ptx_matrix which) {
    return ff__ptx_mma_words(mma, which) / (mma->types[which] == FF__PTX_F64 ? 2 : 1);
}

static const char *layout_of(uint32_t number, enum ff__ptx_matrix which) {
    return by_rows(number, which) ? "row" : "col";
}

static void write_registers(FILE *out, const struct ff__ptx_mma *mma, enum ff__ptx_matrix which) {
    for (uint32_t i = 0; i < registers_of(mma, which); i++)
        fprintf(out, "%s%%%c%u", i == 0 ? "{" : ", ", "dabc"[which], i);
    fprintf(out, "}");
}

static void write_access(FILE *out, const struct ff__ptx_mma *mma, uint32_t number,
                         enum ff__ptx_matrix which) {
    const char *space = number % 2 == 0 ? ".global" : "";
    fprintf(out, "wmma.%s.%c.sync.aligned.%s.%s%s.%s ", which == FF__PTX_D ? "store" : "load",
            "dabc"[which], layout_of(number, which), ff__ptx_modifier_name(mma->shape), space,
            type_of(mma, which));
    if (which == FF__PTX_D)
        fprintf(out, "[%%p + %u], ", which * PLACE);
    write_registers(out, mma, which);
    if (which != FF__PTX_D)
        fprintf(out, ", [%%p + %u]", which * PLACE);
    if (number % 3 != 0)
        fprintf(out, ", %u", stride_of(mma, number, which));
    fprintf(out, ";\n");
}

static void write_kernel(FILE *out, uint32_t number) {
    const struct ff__ptx_mma *mma = &ff__ptx_mmas[number];
    fprintf(out, ".visible .entry w%u(.param .u64 out, .param .u32 n)\n{\n.reg .b64 %%p;\n",
            number);
    for (enum ff__ptx_matrix which = 0; which < FF__PTX_MATRICES; which++)
        fprintf(out, ".reg .%s %%%c<9>;\n",
                mma->types[which] == FF__PTX_F64   ? "f64"
                : mma->types[which] == FF__PTX_F32 ? "f32"
                                                   : "b32",
                "dabc"[which]);
    fprintf(out, "ld.param.u64 %%p, [out];\n");
    for (enum ff__ptx_matrix which = FF__PTX_A; which <= FF__PTX_C; which++)
        write_access(out, mma, number, which);
    fprintf(out, "wmma.mma.sync.aligned.%s.%s.%s.%s", layout_of(number, FF__PTX_A),
            layout_of(number, FF__PTX_B), ff__ptx_modifier_name(mma->shape),
            type_of(mma, FF__PTX_D));
    if (mma->types[FF__PTX_A] != FF__PTX_F16)
        fprintf(out, ".%s.%s", type_of(mma, FF__PTX_A), type_of(mma, FF__PTX_B));
    fprintf(out, ".%s ", type_of(mma, FF__PTX_C));
    for (enum ff__ptx_matrix which = 0; which < FF__PTX_MATRICES; which++) {
        write_registers(out, mma, which);
        fprintf(out, which == FF__PTX_C ? ";\n" : ", ");
    }
    write_access(out, mma, number, FF__PTX_D);
    fprintf(out, "ret;\n}\n");
}

static const char others[] =
    ENTRY("doubles") /* A is 8 x 4, B 4 x 8: a lane has one of each, and two of C */
    "mul.wide.u32 %q, %r0, 8; add.u64 %p, %p, %q; ld.global.f64 %f0, [%p];\n"
    "ld.global.f64 %f1, [%p + 256]; add.u64 %p, %p, %q; ld.global.v2.f64 {%f2, %f3}, [%p + 512];\n"
    "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%f2, %f3}, {%f0}, {%f1}, {%f2, %f3};\n"
    "st.global.v2.f64 [%p + 1024], {%f2, %f3};\nret;\n}\n" /**/
    ENTRY("moves") "mul.wide.u32 %q, %r0, 4; add.u64 %p, %p, %q;\n"
                   "mul.lo.u32 %r1, %r0, 0x20002; add.u32 %r1, %r1, 0x10000;\n"
                   "movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r1;\nst.global.u32 [%p], "
                   "%r2;\nret;\n}\n"                   /**/
    ENTRY("stores") ".shared .align 16 .b8 s[1024];\n" /* two of 8 x 8, then two transposed */
                    "mov.u32 %r5, s; shl.b32 %r6, %r0, 4; add.u32 %r5, %r5, %r6;\n"
                    "mul.lo.u32 %r1, %r0, 0x20002; add.u32 %r1, %r1, 0x10000; add.u32 %r2, %r1, "
                    "0x400040;\n"
                    "stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r5], {%r1, %r2};\n"
                    "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%r5 + 256], {%r1, %r2};\n"
                    "mul.wide.u32 %q, %r0, 16; add.u64 %p, %p, %q; bar.warp.sync -1;\n"
                    "ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [%r5];\n"
                    "st.global.v4.u32 [%p], {%r1, %r2, %r3, %r4};\nret;\n}\n";

static int open_all(void **state) {
    static struct bench bench;
    if (make_folder(state) != 0)
        return -1;
    FILE *out = fopen(in_folder("matrix.ptx"), "w");
    assert_non_null(out);
    fprintf(out, HEAD "%s", others);
    for (uint32_t i = 0; i < ff__ptx_mma_count; i++)
        if (ff__ptx_mmas[i].wmma)
            write_kernel(out, i);
    assert_int_equal(fclose(out), 0);
    bench = open_bench(in_folder("matrix.ptx"), WORDS);
    *state = &bench;
    return 0;
}

static int close_all(void **state) {
    close_bench(*state);
    return remove_folder(state);
}

static void run_warp(struct bench *bench, const char *name) {
    struct shape shape = {.grid = {1, 1, 1}, .block = {LANES, 1, 1}};
    struct ff_error error = {0};
    if (run_kernel(bench, name, &shape, 0, &error) != 0)
        fail_msg("%s", error.message);
}

/* ---- products ---- */

/* Small numbers, so that every sum is exact in every type. */
static int value_at(enum ff__ptx_matrix which, uint32_t row, uint32_t column) {
    return (int)((row * 7 + column * 3 + which) % 4);
}

static uint64_t encoded(uint8_t type, double value) {
    uint64_t bits = (uint64_t)(int64_t)value;
    float narrow = (float)value;
    switch (type) {
    case FF__PTX_F16:
        return cvt_f16_f64(value);
    case FF__PTX_BF16:
        return cvt_bf16_f64(value);
    case FF__PTX_TF32:
    case FF__PTX_F32:
        return as_u32(narrow);
    case FF__PTX_F64:
        return as_u64(value);
    default:
        return bits;
    }
}

static uint8_t *element(struct bench *bench, uint32_t number, enum ff__ptx_matrix which,
                        uint32_t row, uint32_t column) {
    const struct ff__ptx_mma *mma = &ff__ptx_mmas[number];
    uint32_t stride = stride_of(mma, number, which);
    uint32_t at = by_rows(number, which) ? row * stride + column : column * stride + row;
    return (uint8_t *)bench->out + which * PLACE + at * ff__ptx_mma_bits(mma->types[which]) / 8;
}

static void fill(struct bench *bench, uint32_t number) {
    const struct ff__ptx_mma *mma = &ff__ptx_mmas[number];
    memset(bench->out, 0xff, bench->words * 4);
    for (enum ff__ptx_matrix which = FF__PTX_A; which <= FF__PTX_C; which++)
        for (uint32_t row = 0; row < rows_of(mma, which); row++)
            for (uint32_t column = 0; column < columns_of(mma, which); column++) {
                uint64_t bits = encoded(mma->types[which], value_at(which, row, column));
                memcpy(element(bench, number, which, row, column), &bits,
                       ff__ptx_mma_bits(mma->types[which]) / 8);
            }
}

static void equals(struct bench *bench, uint32_t number) {
    const struct ff__ptx_mma *mma = &ff__ptx_mmas[number];
    for (uint32_t row = 0; row < mma->rows; row++)
        for (uint32_t column = 0; column < mma->columns; column++) {
            int sum = value_at(FF__PTX_C, row, column);
            for (uint32_t k = 0; k < mma->depth; k++)
                sum += value_at(FF__PTX_A, row, k) * value_at(FF__PTX_B, k, column);
            uint64_t found = 0, expected = encoded(mma->types[FF__PTX_D], sum);
            memcpy(&found, element(bench, number, FF__PTX_D, row, column),
                   ff__ptx_mma_bits(mma->types[FF__PTX_D]) / 8);
            if (found != expected)
                fail_msg("w%u: [%u][%u] is %llx, not %llx", number, row, column,
                         (unsigned long long)found, (unsigned long long)expected);
        }
}

static void wmma_multiplies(void **state) {
    struct bench *bench = *state;
    for (uint32_t i = 0; i < ff__ptx_mma_count; i++) {
        char name[16];
        if (!ff__ptx_mmas[i].wmma)
            continue;
        snprintf(name, sizeof name, "w%u", i);
        fill(bench, i);
        run_warp(bench, name);
        equals(bench, i);
    }
}

static void doubles_are_multiplied(void **state) {
    struct bench *bench = *state;
    double *a = (double *)bench->out, *b = a + 32, *c = a + 64, *d = a + 128;
    for (int i = 0; i < 64; i++) {
        a[i] = 1.0 / (i + 3); /* B behind it, by columns */
        c[i] = i * 0x1p-30;
    }
    run_warp(bench, "doubles");
    for (int row = 0; row < 8; row++)
        for (int column = 0; column < 8; column++) {
            double sum = c[row * 8 + column];
            for (int k = 0; k < 4; k++)
                sum += a[row * 4 + k] * b[column * 4 + k];
            assert_true(d[row * 8 + column] == sum);
        }
}

/* Element (r, c) of a matrix of 8 x 8 is 8 * r + c. */
static void movmatrix_transposes(void **state) {
    struct bench *bench = *state;
    uint16_t *halves = (uint16_t *)bench->out;
    run_warp(bench, "moves");
    for (int row = 0; row < 8; row++)
        for (int column = 0; column < 8; column++)
            assert_int_equal(halves[row * 8 + column], column * 8 + row);
}

static void stmatrix_stores(void **state) {
    struct bench *bench = *state;
    uint16_t *halves = (uint16_t *)bench->out;
    run_warp(bench, "stores");
    for (int matrix = 0; matrix < 4; matrix++)
        for (int row = 0; row < 8; row++)
            for (int column = 0; column < 8; column++) {
                int expected = matrix < 2 ? row * 8 + column : column * 8 + row;
                assert_int_equal(halves[matrix * 64 + row * 8 + column],
                                 expected + matrix % 2 * 64);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wmma_multiplies), cmocka_unit_test(doubles_are_multiplied),
        cmocka_unit_test(movmatrix_transposes), cmocka_unit_test(stmatrix_stores)};
    return cmocka_run_group_tests(tests, open_all, close_all);
}
