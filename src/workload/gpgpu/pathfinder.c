/* Rodinia's pathfinder as UVMSmart ran it (benchmarks/Managed/pathfinder): the cheapest way over a
 * grid, row by row. A launch goes `pyramid` rows further: CTAs of 256 threads load a piece of the
 * row before, read their piece of each new row, one thread less on either side every time, and
 * store what is left in the middle. */
#include "workload/model.h"

#define CTA_THREADS 256

enum { RESULT_0, RESULT_1, WALL, ARRAYS };
enum { COLUMNS, PYRAMID, DEPTH, ROW, SOURCE };

struct pathfinder {
    uint64_t size, columns, rows, pyramid; /* the parameters */
};

static uint32_t arrays(const struct ff__workload_type *type, const void *values,
                       struct ff__array_spec *out) {
    const struct pathfinder *model = values;
    const uint64_t row = model->columns * 4;
    (void)type;
    out[RESULT_0] = (struct ff__array_spec){"gpuResult0", row};
    out[RESULT_1] = (struct ff__array_spec){"gpuResult1", row};
    out[WALL] = (struct ff__array_spec){"gpuWall", row * (model->rows - 1)};
    return ARRAYS;
}

/* Columns of the warp that are at least `margin` threads inside of the CTA, and inside of the grid.
 */
static inline bool find_columns(const struct ff__kernel *kernel, uint32_t cta, uint32_t warp,
                                int64_t margin, int64_t *left, int64_t *right) {
    int64_t depth = (int64_t)kernel->argument[DEPTH], columns = (int64_t)kernel->argument[COLUMNS];
    int64_t begin = (CTA_THREADS - 2 * depth) * (int64_t)cta - (int64_t)kernel->argument[PYRAMID];
    int64_t first = begin + (int64_t)warp * FF__WARP, last = first + FF__WARP;
    *left = first > begin + margin ? first : begin + margin;
    *right = last < begin + CTA_THREADS - margin ? last : begin + CTA_THREADS - margin;
    *left = *left > 0 ? *left : 0;
    *right = *right < columns ? *right : columns;
    return *left < *right;
}

static bool step(const struct ff__workload *workload, const struct ff__kernel *kernel, uint32_t cta,
                 uint32_t warp, uint32_t index, struct ff__step *out) {
    const struct ff__array *arrays = workload->arrays;
    uint32_t depth = (uint32_t)kernel->argument[DEPTH];
    uint64_t source = kernel->argument[SOURCE];
    int64_t left, right, margin = index > depth ? depth : index;
    if (index > depth + 1)
        return false;
    if (!find_columns(kernel, cta, warp, margin, &left, &right))
        return ff__step_compute(out, ff__pc(1, 3), 20);
    uint64_t at = (uint64_t)left * 4, length = (uint64_t)(right - left) * 4;
    if (index == 0)
        return ff__step_coalesced(out, FF__LOAD, ff__pc(1, 0), 30, &arrays[source], at, length);
    if (index > depth)
        return ff__step_coalesced(out, FF__STORE, ff__pc(1, 2), 6, &arrays[1 - source], at, length);
    uint64_t row = kernel->argument[ROW] + index - 1;
    return ff__step_coalesced(out, FF__LOAD, ff__pc(1, 1), 28, &arrays[WALL],
                              row * kernel->argument[COLUMNS] * 4 + at, length);
}

static void launch(const struct pathfinder *model, uint64_t which, struct ff__action *out) {
    uint64_t row = which * model->pyramid, left = model->rows - 1 - row;
    out->kind = FF__ACTION_LAUNCH;
    ff__kernel_set(&out->kernel, "dynproc_kernel",
                   ff__ceil_div(model->columns, CTA_THREADS - 2 * model->pyramid),
                   CTA_THREADS / FF__WARP, step);
    out->kernel.argument[COLUMNS] = model->columns;
    out->kernel.argument[PYRAMID] = model->pyramid;
    out->kernel.argument[DEPTH] = left < model->pyramid ? left : model->pyramid;
    out->kernel.argument[ROW] = row;
    out->kernel.argument[SOURCE] = which % 2;
    out->kernel.known = ff__known_strided(ARRAYS);
    ff__kernel_seal(&out->kernel);
}

static bool action(const struct ff__workload *workload, uint64_t index, struct ff__action *out) {
    const struct pathfinder *model = workload->data;
    uint64_t launches = ff__ceil_div(model->rows - 1, model->pyramid), which;
    struct ff__script script = ff__script_begin(workload, index, out);
    ff__script_allocate_all(&script);
    ff__script_write_all(&script, RESULT_0);
    ff__script_write_all(&script, WALL);
    if (ff__script_turn(&script, launches, &which))
        launch(model, which, out);
    ff__script_synchronize(&script);
    ff__script_read_all(&script, launches % 2);
    ff__script_free_all(&script);
    return script.found;
}

static const struct ff_param params[] = {
    FF__PARAM_SIZE,
    {"columns", FF_PARAM_INT, 50000, 1, INT64_C(1) << 36, "columns; scaled by size"},
    {"rows", FF_PARAM_INT, 200, 2, 1 << 20, "rows"},
    {"pyramid", FF_PARAM_INT, 10, 1, 100, "rows of one launch"},
    {NULL, FF_PARAM_INT, 0, 0, 0, NULL},
};

const struct ff__workload_type ff__workload_pathfinder = {
    .name = "pathfinder",
    .summary = "shortest path through a grid (Rodinia): streaming, a few rows per launch",
    .params = params,
    .open = ff__model_open,
    .shape = &(const struct ff__model_shape){1, 1, UINT64_C(1) << 36, arrays},
    .action = action,
};
