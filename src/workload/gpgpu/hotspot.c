/* Rodinia's hotspot as UVMSmart ran it (benchmarks/Managed/hotspot): temperatures of an n x n grid.
 *
 * A CTA of 16x16 threads loads its square of temperatures and powers, goes `pyramid` steps forward
 * in shared memory, and stores the middle of the square, which shrinks by one on every side and
 * step. Squares overlap so that the middles tile the grid. The host reads the result at the end. */
#include "workload/model.h"

#define SIDE 16

enum { TEMPERATURE_0, TEMPERATURE_1, POWER, ARRAYS };
enum { N, PYRAMID, DEPTH, SOURCE }; /* DEPTH: steps this launch goes forward */

struct hotspot {
    uint64_t n, pyramid, steps;
};

static uint64_t bytes(const struct ff__workload *workload, const int64_t *params, uint64_t n) {
    (void)workload, (void)params;
    return ARRAYS * n * n * 4;
}

/* Rows [top, bottom) and columns [left, right) of the grid, in lanes of the warp's two rows. */
struct grid_window {
    int64_t top, bottom, left, right;
};

static inline int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static inline int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* What the warp covers of the CTA's square, `margin` away from its edges, inside the grid. */
static inline bool find_window(const struct ff__kernel *kernel, uint32_t cta, uint32_t warp,
                               int64_t margin, struct grid_window *out) {
    int64_t n = (int64_t)kernel->argument[N], pyramid = (int64_t)kernel->argument[PYRAMID];
    /* a launch that goes fewer steps has larger middles, as in the program */
    int64_t middle = SIDE - 2 * (int64_t)kernel->argument[DEPTH];
    uint32_t width = (uint32_t)((n + SIDE - 2 * pyramid - 1) / (SIDE - 2 * pyramid));
    int64_t y = middle * (cta / width) - pyramid, x = middle * (cta % width) - pyramid;
    out->top = larger(larger(y + 2 * (int64_t)warp, y + margin), 0);
    out->bottom = smaller(smaller(y + 2 * (int64_t)warp + 2, y + SIDE - margin), n);
    out->left = larger(x + margin, 0);
    out->right = smaller(x + SIDE - margin, n);
    return out->top < out->bottom && out->left < out->right;
}

static inline bool touch(struct ff__step *out, enum ff__direction direction, uint32_t place,
                         uint32_t instructions, const struct ff__array *array,
                         const struct ff__kernel *kernel, const struct grid_window *window) {
    uint64_t n = kernel->argument[N];
    return ff__step_rows(out, direction, ff__pc(1, place), instructions, array,
                         ((uint64_t)window->top * n + (uint64_t)window->left) * 4,
                         (uint64_t)(window->right - window->left) * 4,
                         (uint32_t)(window->bottom - window->top), n * 4);
}

/* 219 instructions a thread for two steps in the published log. */
static bool step(const struct ff__workload *workload, const struct ff__kernel *kernel, uint32_t cta,
                 uint32_t warp, uint32_t index, struct ff__step *out) {
    const struct ff__array *arrays = workload->arrays;
    uint64_t source = kernel->argument[SOURCE];
    uint32_t instructions = 60 * (uint32_t)kernel->argument[DEPTH];
    struct grid_window window;
    if (index < 2) {
        if (!find_window(kernel, cta, warp, 0, &window))
            return index == 0 && ff__step_compute(out, ff__pc(1, 3), 219);
        return index == 0 ? touch(out, FF__LOAD, 0, 60, &arrays[source], kernel, &window)
                          : touch(out, FF__LOAD, 1, 8, &arrays[POWER], kernel, &window);
    }
    if (index == 2 && find_window(kernel, cta, warp, 0, &window))
        return ff__step_compute(out, ff__pc(1, 4), 30 + instructions);
    return index == 3 &&
           find_window(kernel, cta, warp, (int64_t)kernel->argument[DEPTH], &window) &&
           touch(out, FF__STORE, 2, 1, &arrays[1 - source], kernel, &window);
}

static void launch(const struct hotspot *model, uint64_t which, struct ff__action *out) {
    uint64_t width = ff__ceil_div(model->n, SIDE - 2 * model->pyramid);
    uint64_t left = model->steps - which * model->pyramid;
    out->kind = FF__ACTION_LAUNCH;
    ff__kernel_set(&out->kernel, "calculate_temp", width * width, 8, step);
    out->kernel.argument[N] = model->n;
    out->kernel.argument[PYRAMID] = model->pyramid;
    out->kernel.argument[DEPTH] = left < model->pyramid ? left : model->pyramid;
    out->kernel.argument[SOURCE] = which % 2;
    out->kernel.known = ff__known_strided(ARRAYS);
    ff__kernel_seal(&out->kernel);
}

static bool action(const struct ff__workload *workload, uint64_t index, struct ff__action *out) {
    const struct hotspot *model = workload->data;
    uint64_t launches = ff__ceil_div(model->steps, model->pyramid), which;
    struct ff__script script = ff__script_begin(workload, index, out);
    ff__script_allocate_all(&script);
    ff__script_write_all(&script, TEMPERATURE_0);
    ff__script_write_all(&script, POWER);
    if (ff__script_turn(&script, launches, &which))
        launch(model, which, out);
    ff__script_synchronize(&script);
    ff__script_read_all(&script, launches % 2);
    ff__script_free_all(&script);
    return script.found;
}

static int open(struct ff__workload *workload, const int64_t *params, const char *file,
                struct ff_error *error) {
    uint64_t n;
    (void)file;
    uint64_t most = (uint64_t)(SIDE - 2 * params[2]) * UINT16_MAX; /* CTAs are counted in 32 bits */
    int status = ff__model_size(workload, params, bytes, (uint64_t)params[1], 1, most, &n, error);
    if (status)
        return status;
    const struct hotspot model = {n, (uint64_t)params[2], (uint64_t)params[3]};
    status = ff__model_keep(workload, &model, sizeof model, error);
    if (status)
        return status;
    const struct ff__array_spec specs[ARRAYS] = {[TEMPERATURE_0] = {"temperature0", n * n * 4},
                                                 [TEMPERATURE_1] = {"temperature1", n * n * 4},
                                                 [POWER] = {"power", n * n * 4}};
    return ff__model_arrays(workload, specs, ARRAYS, error);
}

static const struct ff_param params[] = {
    FF__PARAM_SIZE,
    {"n", FF_PARAM_INT, 1024, 1, 1 << 20, "rows and columns"},
    {"pyramid", FF_PARAM_INT, 2, 1, 7, "time steps of one launch"},
    {"steps", FF_PARAM_INT, 8, 1, 100000, "time steps"},
    {NULL, FF_PARAM_INT, 0, 0, 0, NULL},
};

const struct ff__workload_type ff__workload_hotspot = {
    .name = "hotspot",
    .summary = "chip temperature (Rodinia): regular, a stencil in shared memory",
    .params = params,
    .open = open,
    .action = action,
};
