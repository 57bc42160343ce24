/* PolyBench/GPU's convolutions: every inner point of B from points of A around it. CTAs of 32x8
 * threads: a warp is 32 points of one row. UVMSmart ran 2DCONV (benchmarks/Managed/2DCONV), in one
 * launch; it does not ship 3DCONV, whose size is PolyBench's, with a launch for each inner plane.
 */
#include "workload/model.h"

#define POINTS_MAX 11

enum { A, B, ARRAYS };
enum { N, PLANE };

struct convolution {
    const char *kernel;
    uint64_t n_max;
    bool planes; /* n x n x n points; else n x n */
    uint32_t count;
    uint8_t outside, first, next,
        store; /* instructions of a warp without points, and of its steps */
    struct {
        int8_t plane, row, column;
    } points[POINTS_MAX]; /* away, in the order of the sum */
};

static uint64_t bytes(const struct ff__workload *workload, const int64_t *params, uint64_t n) {
    const struct convolution *description = workload->type->description;
    (void)params;
    return ARRAYS * (description->planes ? n : 1) * n * n * 4;
}

/* 48 instructions a thread of 2DCONV in the published log. */
static bool step(const struct ff__workload *workload, const struct ff__kernel *kernel, uint32_t cta,
                 uint32_t warp, uint32_t index, struct ff__step *out) {
    const struct convolution *description = workload->type->description;
    const struct ff__array *arrays = workload->arrays;
    uint64_t n = kernel->argument[N];
    uint32_t width = (uint32_t)((n + 31) / 32), count = description->count;
    uint64_t row = (uint64_t)(cta / width) * 8 + warp;
    uint64_t left = (uint64_t)(cta % width) * 32, right = left + 32;
    left = left > 0 ? left : 1;
    right = right < n ? right : n - 1;
    if (row == 0 || row + 1 >= n || left >= right)
        return index == 0 && ff__step_compute(out, ff__pc(1, 0), description->outside);
    uint64_t at = (kernel->argument[PLANE] * n + row) * n + left, lanes = right - left;
    uint32_t pc = ff__pc(1, 1 + index);
    if (index < count) {
        int64_t rows =
            description->points[index].plane * (int64_t)n + description->points[index].row;
        int64_t away = rows * (int64_t)n + description->points[index].column;
        return ff__step_coalesced(out, FF__LOAD, pc,
                                  index == 0 ? description->first : description->next, &arrays[A],
                                  (uint64_t)((int64_t)at + away) * 4, lanes * 4);
    }
    if (index == count)
        return ff__step_coalesced(out, FF__STORE, pc, description->store, &arrays[B], at * 4,
                                  lanes * 4);
    return index == count + 1 && ff__step_compute(out, pc, 1);
}

static bool action(const struct ff__workload *workload, uint64_t index, struct ff__action *out) {
    const struct convolution *description = workload->type->description;
    const uint64_t *n = workload->data;
    struct ff__script script = ff__script_begin(workload, index, out);
    uint64_t which;
    ff__script_allocate_all(&script);
    ff__script_write_all(&script, A);
    if (ff__script_turn(&script, description->planes ? *n - 2 : 1, &which)) {
        out->kind = FF__ACTION_LAUNCH;
        ff__kernel_set(&out->kernel, description->kernel,
                       ff__ceil_div(*n, 32) * ff__ceil_div(*n, 8), 8, step);
        out->kernel.argument[N] = *n;
        out->kernel.argument[PLANE] = description->planes ? which + 1 : 0;
        out->kernel.known = ff__known_strided(ARRAYS);
        ff__kernel_seal(&out->kernel);
    }
    ff__script_synchronize(&script);
    ff__script_read_all(&script, B);
    ff__script_free_all(&script);
    return script.found;
}

static int open(struct ff__workload *workload, const int64_t *params, const char *file,
                struct ff_error *error) {
    const struct convolution *description = workload->type->description;
    uint64_t n;
    (void)file;
    int status = ff__model_size(workload, params, bytes, (uint64_t)params[1], 1, description->n_max,
                                &n, error);
    if (!status && description->planes && n < 3)
        status = ff__fail(error, -EINVAL, "3dconv needs at least 3 planes (size=%llu)",
                          (unsigned long long)bytes(workload, params, 3));
    if (!status)
        status = ff__model_keep(workload, &n, sizeof n, error);
    if (status)
        return status;
    const uint64_t array = bytes(workload, params, n) / ARRAYS;
    const struct ff__array_spec specs[ARRAYS] = {{"A", array}, {"B", array}};
    return ff__model_arrays(workload, specs, ARRAYS, error);
}

#define CONVOLUTION(id, text, n_initial, n_min, most, n_help, ...)                                 \
    const struct ff__workload_type ff__workload_##id = {                                           \
        .name = #id,                                                                               \
        .summary = text,                                                                           \
        .params = (const struct ff_param[]){FF__PARAM_SIZE,                                        \
                                            {"n", FF_PARAM_INT, n_initial, n_min, most, n_help},   \
                                            {NULL, FF_PARAM_INT, 0, 0, 0, NULL}},                  \
        .open = open,                                                                              \
        .action = action,                                                                          \
        .description = &(const struct convolution){.n_max = most, __VA_ARGS__},                    \
    };

CONVOLUTION(2dconv, "convolution in two dimensions (PolyBench): streaming", 1024, 1, 1 << 19,
            "rows and columns", .kernel = "Convolution2D_kernel", .count = 9, .outside = 18,
            .first = 20, .next = 3, .store = 3,
            .points = {{0, -1, -1},
                       {0, -1, 0},
                       {0, -1, 1},
                       {0, 0, -1},
                       {0, 0, 0},
                       {0, 0, 1},
                       {0, 1, -1},
                       {0, 1, 0},
                       {0, 1, 1}})
CONVOLUTION(3dconv, "convolution in three dimensions (PolyBench): regular, plane by plane", 256, 3,
            1 << 14, "planes, rows and columns", .kernel = "convolution3D_kernel", .planes = true,
            .count = 11, .outside = 20, .first = 26, .next = 4, .store = 10,
            .points = {{-1, -1, -1},
                       {1, -1, -1},
                       {0, -1, 0},
                       {0, 0, 0},
                       {0, 1, 0},
                       {-1, -1, 1},
                       {1, -1, 1},
                       {-1, 0, 1},
                       {1, 0, 1},
                       {-1, 1, 1},
                       {1, 1, 1}})
