/* Rodinia's srad_v2 as UVMSmart ran it (benchmarks/Managed/srad_v2): noise out of an image. Two
 * kernels an iteration over CTAs of 16x16 points; before each, the host reads a corner of the image
 * of 128x128 points. UVMSmart has only the image in managed memory; the coefficient and the four
 * derivatives are cudaMalloc's, and do not appear here unless all=1 is asked for. */
#include "workload/model.h"

#define SIDE   16
#define CORNER 128

enum { IMAGE, COEFFICIENT, EAST, WEST, NORTH, SOUTH, ARRAYS };
enum { N };

struct srad_v2 {
    uint64_t size, n, iterations, all; /* the parameters */
};

static uint32_t arrays(const struct ff__workload_type *type, const void *values,
                       struct ff__array_spec *out) {
    static const char *const names[ARRAYS] = {"J", "C", "E_C", "W_C", "N_C", "S_C"};
    const struct srad_v2 *model = values;
    (void)type;
    for (int i = 0; i < ARRAYS; i++)
        out[i] = (struct ff__array_spec){names[i], model->n * model->n * 4};
    return model->all ? ARRAYS : 1;
}

/* Where the warp is: its CTA's first point, and its own two rows'. */
struct srad_v2_warp {
    uint64_t n, x, y, cta, rows;
    bool left, right, top, bottom; /* the CTA is at this edge of the image */
};

static inline struct srad_v2_warp find_place(const struct ff__kernel *kernel, uint32_t cta,
                                             uint32_t warp) {
    uint64_t n = kernel->argument[N];
    uint32_t width = (uint32_t)(n / SIDE), x = cta % width, y = cta / width;
    uint64_t corner = (uint64_t)y * SIDE * n + (uint64_t)x * SIDE;
    return (struct srad_v2_warp){.n = n,
                                 .x = x,
                                 .y = y,
                                 .cta = corner,
                                 .rows = corner + 2 * warp * n,
                                 .left = x == 0,
                                 .right = x + 1 == width,
                                 .top = y == 0,
                                 .bottom = y + 1 == width};
}

/* 16 points from `point` on, or one in each of two rows, or 16 in each of them. Arrays that are not
 * managed cost instructions only. */
static bool touch(const struct ff__workload *workload, struct ff__step *out,
                  enum ff__direction direction, uint32_t pc, uint32_t instructions, uint32_t array,
                  uint64_t point, uint64_t points, uint32_t rows, uint64_t n) {
    if (array >= workload->array_count)
        return ff__step_compute(out, pc, instructions);
    return ff__step_rows(out, direction, pc, instructions, &workload->arrays[array], point * 4,
                         points * 4, rows, n * 4);
}

/* Derivatives and coefficient. The neighbours beyond the CTA are loaded by everyone: the row above,
 * the row below, the columns on either side, where there are any, and else the edge itself. */
static bool derive(const struct ff__workload *workload, const struct ff__kernel *kernel,
                   uint32_t cta, uint32_t warp, uint32_t index, struct ff__step *out) {
    static const uint8_t stored[] = {COEFFICIENT, EAST, WEST, SOUTH, NORTH};
    struct srad_v2_warp place = find_place(kernel, cta, warp);
    uint64_t n = place.n, last_row = place.cta + (SIDE - 1) * n, last_column = SIDE - 1;
    uint32_t pc = ff__pc(1, index);
    switch (index) {
    case 0:
        return touch(workload, out, FF__LOAD, pc, 40, IMAGE, place.top ? place.cta : place.cta - n,
                     SIDE, 1, n);
    case 1:
        return touch(workload, out, FF__LOAD, pc, 10, IMAGE, place.bottom ? last_row : last_row + n,
                     SIDE, 1, n);
    case 2:
        return touch(workload, out, FF__LOAD, pc, 12, IMAGE,
                     place.left ? place.rows : place.rows - 1, 1, 2, n);
    case 3:
        return touch(workload, out, FF__LOAD, pc, 10, IMAGE,
                     place.rows + (place.right ? last_column : last_column + 1), 1, 2, n);
    case 4:
        return touch(workload, out, FF__LOAD, pc, 8, IMAGE, place.rows, SIDE, 2, n);
    default:
        return index < 10 && touch(workload, out, FF__STORE, pc, index == 5 ? 110 : 2,
                                   stored[index - 5], place.rows, SIDE, 2, n);
    }
}

/* The image moves on. */
static bool diffuse(const struct ff__workload *workload, const struct ff__kernel *kernel,
                    uint32_t cta, uint32_t warp, uint32_t index, struct ff__step *out) {
    static const uint8_t loaded[] = {NORTH, SOUTH, WEST, EAST};
    struct srad_v2_warp place = find_place(kernel, cta, warp);
    uint64_t n = place.n, last_row = place.cta + (SIDE - 1) * n, last_column = SIDE - 1;
    uint32_t pc = ff__pc(2, index);
    switch (index) {
    case 0:
        return touch(workload, out, FF__LOAD, pc, 36, IMAGE, place.rows, SIDE, 2, n);
    case 1:
        return touch(workload, out, FF__LOAD, pc, 8, COEFFICIENT,
                     place.bottom ? last_row : last_row + n, SIDE, 1, n);
    case 2:
        return touch(workload, out, FF__LOAD, pc, 8, COEFFICIENT,
                     place.rows + (place.right ? last_column : last_column + 1), 1, 2, n);
    case 3:
        return touch(workload, out, FF__LOAD, pc, 6, COEFFICIENT, place.rows, SIDE, 2, n);
    case 8:
        return touch(workload, out, FF__STORE, pc, 16, IMAGE, place.rows, SIDE, 2, n);
    default:
        return index < 8 && touch(workload, out, FF__LOAD, pc, index == 4 ? 24 : 3,
                                  loaded[index - 4], place.rows, SIDE, 2, n);
    }
}

static void launch(const struct ff__workload *workload, uint64_t which, struct ff__action *out) {
    const struct srad_v2 *model = workload->data;
    uint64_t width = model->n / SIDE;
    out->kind = FF__ACTION_LAUNCH;
    ff__kernel_set(&out->kernel, which ? "srad_cuda_2" : "srad_cuda_1", width * width, 8,
                   which ? diffuse : derive);
    out->kernel.argument[N] = model->n;
    out->kernel.known = ff__known_strided(workload->array_count);
    ff__kernel_seal(&out->kernel);
}

/* The host reads its corner row by row, launches, and waits. */
static void iterate(struct ff__script *script, const struct srad_v2 *model) {
    uint64_t corner = model->n < CORNER ? model->n : CORNER, each = corner + 3, which;
    if (!ff__script_turn(script, model->iterations * each, &which))
        return;
    uint64_t turn = which % each;
    struct ff__action *out = script->out;
    if (turn < corner) {
        out->kind = FF__ACTION_HOST_READ;
        out->array = IMAGE;
        out->offset = turn * model->n * 4;
        out->bytes = corner * 4;
    } else if (turn < corner + 2) {
        launch(script->workload, turn - corner, out);
    } else {
        out->kind = FF__ACTION_SYNCHRONIZE;
    }
}

static bool action(const struct ff__workload *workload, uint64_t index, struct ff__action *out) {
    struct ff__script script = ff__script_begin(workload, index, out);
    ff__script_allocate_all(&script);
    ff__script_write_all(&script, IMAGE);
    iterate(&script, workload->data);
    ff__script_read_all(&script, IMAGE);
    ff__script_free_all(&script);
    return script.found;
}

static const struct ff_param params[] = {
    FF__PARAM_SIZE,
    {"n", FF_PARAM_INT, 1024, SIDE, 1 << 20, "rows and columns, in multiples of 16"},
    {"iterations", FF_PARAM_INT, 4, 1, 100000, "iterations, of two kernels each"},
    {"all", FF_PARAM_BOOL, 0, 0, 1, "all six arrays are managed, not the image alone"},
    {NULL, FF_PARAM_INT, 0, 0, 0, NULL},
};

const struct ff__workload_type ff__workload_srad_v2 = {
    .name = "srad_v2",
    .summary = "diffusion over an image (Rodinia): regular, host and device alternate",
    .params = params,
    .open = ff__model_open,
    .shape = &(const struct ff__model_shape){1, SIDE, 1 << 20, arrays},
    .action = action,
};
