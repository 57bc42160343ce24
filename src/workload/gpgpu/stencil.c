/* Parboil's stencil as UVMSmart ran it (benchmarks/Managed/stencil): seven points of a grid,
 * through all planes in one launch, two arrays in turn. CTAs of 32x4 threads; a thread has two
 * points of each plane, 32 apart, and keeps those of the planes below and above in registers and
 * shared memory. What lies beyond the CTA's 64x4 points comes from memory. */
#include "workload/model.h"

#define CTA_ROWS 4
#define HEAD     4 /* steps before the loop over planes */

enum { ARRAY_0, ARRAY_1, ARRAYS };
enum { NX, NY, NZ, SOURCE };

struct stencil {
    uint64_t size, nx, ny, nz, steps; /* the parameters */
};

static uint32_t arrays(const struct ff__workload_type *type, const void *values,
                       struct ff__array_spec *out) {
    const struct stencil *model = values;
    const uint64_t array = model->nx * model->ny * model->nz * 4;
    (void)type;
    out[0] = (struct ff__array_spec){"A0", array};
    out[1] = (struct ff__array_spec){"Anext", array};
    return ARRAYS;
}

/* One of the warp's two pieces of a row. */
struct half_row {
    uint64_t left, lanes;             /* in the grid: these read the plane above */
    uint64_t inner_left, inner_lanes; /* not on its border: these compute */
};

static inline struct half_row find_piece(uint64_t nx, uint64_t left, bool inside) {
    struct half_row piece = {.left = left, .lanes = ff__lanes(nx, left)};
    piece.inner_left = left > 0 ? left : 1;
    if (inside && piece.lanes > 0)
        piece.inner_lanes =
            (left + piece.lanes < nx ? left + piece.lanes : nx - 1) - piece.inner_left;
    if (piece.inner_lanes > FF__WARP)
        piece.inner_lanes = 0; /* below zero */
    return piece;
}

static bool touch(struct ff__step *out, enum ff__direction direction, uint32_t place,
                  uint32_t instructions, const struct ff__array *array, uint64_t point,
                  uint64_t lanes) {
    if (lanes == 0)
        return ff__step_compute(out, ff__pc(1, place), instructions);
    return ff__step_coalesced(out, direction, ff__pc(1, place), instructions, array, point * 4,
                              lanes * 4);
}

/* The loop's body for one piece. Place 0: the plane above; 1: the next row beyond the CTA, for its
 * first and last row; 2: the next column beyond it; 3: the result. `row` is the row's first point
 * in its plane; `beside` the column beyond. */
static bool body(const struct ff__workload *workload, const struct ff__kernel *kernel,
                 uint32_t warp, const struct half_row *piece, uint64_t row, uint64_t plane,
                 uint64_t beside, uint32_t place, uint32_t pc_place, struct ff__step *out) {
    const struct ff__array *from = &workload->arrays[kernel->argument[SOURCE]];
    const struct ff__array *to = &workload->arrays[1 - kernel->argument[SOURCE]];
    uint64_t nx = kernel->argument[NX], area = nx * kernel->argument[NY];
    uint64_t here = plane * area + row;
    switch (place) {
    case 0:
        return touch(out, FF__LOAD, pc_place, 8, from, here + area + piece->left, piece->lanes);
    case 1:
        return touch(out, FF__LOAD, pc_place, 4, from,
                     (warp == 0 ? here - nx : here + nx) + piece->inner_left, piece->inner_lanes);
    case 2:
        return touch(out, FF__LOAD, pc_place, 6, from, here + beside,
                     beside < nx && piece->inner_lanes > 0);
    default:
        return touch(out, FF__STORE, pc_place, 14, to, here + piece->inner_left,
                     piece->inner_lanes);
    }
}

static bool step(const struct ff__workload *workload, const struct ff__kernel *kernel, uint32_t cta,
                 uint32_t warp, uint32_t index, struct ff__step *out) {
    const struct ff__array *from = &workload->arrays[kernel->argument[SOURCE]];
    uint64_t nx = kernel->argument[NX], ny = kernel->argument[NY];
    uint32_t width = (uint32_t)((nx + 63) / 64);
    uint64_t y = (uint64_t)(cta / width) * CTA_ROWS + warp, x = (uint64_t)(cta % width) * 64;
    if (y >= ny)
        return index == 0 && ff__step_compute(out, ff__pc(1, 0), 20);
    bool inside = y > 0 && y + 1 < ny;
    if (index < HEAD) { /* planes 0 and 1 of either piece */
        struct half_row piece = find_piece(nx, x + index / 2 * 32, inside);
        return touch(out, FF__LOAD, 1 + index, index == 0 ? 40 : 4, from,
                     (index % 2 * ny + y) * nx + piece.left, piece.lanes);
    }
    bool edge = warp == 0 || warp == CTA_ROWS - 1;
    uint32_t half = edge ? 4 : 3, at = (index - HEAD) % (2 * half);
    uint64_t plane = (index - HEAD) / (2 * half) + 1;
    if (plane + 1 >= kernel->argument[NZ])
        return false;
    bool second = at >= half;
    uint32_t place = second ? at - half : at;
    place += !edge && place > 0; /* rows in the middle find their neighbours in shared memory */
    struct half_row piece = find_piece(nx, second ? x + 32 : x, inside);
    uint64_t beside = second ? x + 64 : x > 0 ? x - 1 : nx;
    return body(workload, kernel, warp, &piece, y * nx, plane, beside, place,
                (second ? 12 : 8) + place, out);
}

static void launch(const struct stencil *model, uint64_t which, struct ff__action *out) {
    out->kind = FF__ACTION_LAUNCH;
    ff__kernel_set(&out->kernel, "block2D_hybrid_coarsen_x",
                   ff__ceil_div(model->nx, 64) * ff__ceil_div(model->ny, CTA_ROWS), CTA_ROWS, step);
    out->kernel.argument[NX] = model->nx;
    out->kernel.argument[NY] = model->ny;
    out->kernel.argument[NZ] = model->nz;
    out->kernel.argument[SOURCE] = which % 2;
    out->kernel.known = ff__known_strided(ARRAYS);
    ff__kernel_seal(&out->kernel);
}

static bool action(const struct ff__workload *workload, uint64_t index, struct ff__action *out) {
    const struct stencil *model = workload->data;
    struct ff__script script = ff__script_begin(workload, index, out);
    uint64_t which;
    ff__script_allocate_all(&script);
    ff__script_write_all(&script, ARRAY_0);
    ff__script_write_all(&script, ARRAY_1);
    if (ff__script_turn(&script, model->steps, &which))
        launch(model, which, out);
    ff__script_synchronize(&script);
    ff__script_read_all(&script, model->steps % 2);
    ff__script_free_all(&script);
    return script.found;
}

static const struct ff_param params[] = {
    FF__PARAM_SIZE,
    {"nx", FF_PARAM_INT, 512, 3, 1 << 16, "columns"},
    {"ny", FF_PARAM_INT, 512, 3, 1 << 16, "rows"},
    {"nz", FF_PARAM_INT, 64, 2, 1 << 28, "planes; scaled by size"},
    {"steps", FF_PARAM_INT, 10, 1, 100000, "launches"},
    {NULL, FF_PARAM_INT, 0, 0, 0, NULL},
};

const struct ff__workload_type ff__workload_stencil = {
    .name = "stencil",
    .summary = "seven-point stencil in three dimensions (Parboil): every array in every launch",
    .params = params,
    .open = ff__model_open,
    .shape = &(const struct ff__model_shape){3, 1, 1 << 28, arrays},
    .action = action,
};
