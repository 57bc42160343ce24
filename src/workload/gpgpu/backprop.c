/* Rodinia's backprop as UVMSmart ran it (benchmarks/Managed/backprop): one training step of a
 * network of n inputs, 16 hidden units and one output.
 *
 * CTAs of 16x16 threads, one for 16 inputs. forward: products of 16 inputs with their weights,
 * summed in shared memory. adjust: new weights from old ones. The forward kernel uses one set of
 * weights, the second kernel a copy of it and the momentum array, so that together they touch three
 * sets: 6785 pages at n = 131056, which is what the published on-demand run faults. (UVMSmart's
 * 17.56 MB are the second kernel's arrays alone.) */
#include "workload/model.h"

#define HIDDEN 16
#define ROW    ((HIDDEN + 1) * 4) /* bytes of one input's weights */
#define SMALL  ((HIDDEN + 1) * 4)

/* In the order of the program's allocations. */
enum {
    INPUT_UNITS,
    HIDDEN_UNITS,
    OUTPUT_UNITS,
    HIDDEN_DELTA,
    OUTPUT_DELTA,
    TARGET,
    INPUT_WEIGHTS,
    INPUT_WEIGHTS_COPY,
    HIDDEN_WEIGHTS,
    INPUT_PREVIOUS,
    HIDDEN_PREVIOUS,
    OUTPUT_HIDDEN,
    PARTIAL_SUM,
    ARRAYS
};

static uint32_t arrays(const struct ff__workload_type *type, const void *values,
                       struct ff__array_spec *out) {
    const uint64_t n = ((const struct ff__sized *)values)->n;
    const struct ff__array_spec all[ARRAYS] = {
        [INPUT_UNITS] = {"input_units", (n + 1) * 4},
        [HIDDEN_UNITS] = {"hidden_units", SMALL},
        [OUTPUT_UNITS] = {"output_units", 2 * 4},
        [HIDDEN_DELTA] = {"hidden_delta", SMALL},
        [OUTPUT_DELTA] = {"output_delta", 2 * 4},
        [TARGET] = {"target", 2 * 4},
        [INPUT_WEIGHTS] = {"input_weights", (n + 1) * ROW},
        [INPUT_WEIGHTS_COPY] = {"input_weights2", (n + 1) * ROW},
        [HIDDEN_WEIGHTS] = {"hidden_weights", (HIDDEN + 1) * 2 * 4},
        [INPUT_PREVIOUS] = {"input_prev_weights", (n + 1) * ROW},
        [HIDDEN_PREVIOUS] = {"hidden_prev_weights", (HIDDEN + 1) * 2 * 4},
        [OUTPUT_HIDDEN] = {"output_hidden", SMALL},
        [PARTIAL_SUM] = {"hidden_partial_sum", n * 4}, /* n/16 CTAs, 16 sums each */
    };
    (void)type;
    memcpy(out, all, sizeof all);
    return ARRAYS;
}

/* A warp is two rows of 16 lanes; its weights are the same two rows of the array, behind the
 * thresholds' row and column. 107 instructions a thread in the published log. */
static bool forward(const struct ff__workload *workload, const struct ff__kernel *kernel,
                    uint32_t cta, uint32_t warp, uint32_t index, struct ff__step *out) {
    const struct ff__array *arrays = workload->arrays;
    uint64_t input = (uint64_t)cta * 16 + warp * 2;
    uint64_t weights = (input + 1) * ROW + 4;
    (void)kernel;
    switch (index) {
    case 0:
        return ff__step_coalesced(out, FF__LOAD, ff__pc(1, 0), 18, &arrays[INPUT_UNITS],
                                  (input + 1) * 4, 8);
    case 1:
        return ff__step_rows(out, FF__LOAD, ff__pc(1, 1), 8, &arrays[INPUT_WEIGHTS], weights, 64, 2,
                             ROW);
    case 2:
        return ff__step_rows(out, FF__STORE, ff__pc(1, 2), 68, &arrays[INPUT_WEIGHTS], weights, 64,
                             2, ROW);
    case 3:
        return ff__step_coalesced(out, FF__STORE, ff__pc(1, 3), 12, &arrays[PARTIAL_SUM], input * 4,
                                  8);
    case 4:
        return ff__step_compute(out, ff__pc(1, 4), 1);
    default:
        return false;
    }
}

/* The thresholds' own weights, done by the first warp; only its row 0 takes part. */
static bool adjust_thresholds(const struct ff__array *arrays, uint32_t index,
                              struct ff__step *out) {
    static const struct {
        uint8_t array, direction;
    } body[] = {{HIDDEN_DELTA, FF__LOAD},       {INPUT_PREVIOUS, FF__LOAD},
                {INPUT_WEIGHTS_COPY, FF__LOAD}, {INPUT_WEIGHTS_COPY, FF__STORE},
                {HIDDEN_DELTA, FF__LOAD},       {INPUT_PREVIOUS, FF__LOAD},
                {INPUT_PREVIOUS, FF__STORE}};
    if (index >= sizeof body / sizeof body[0])
        return false;
    return ff__step_coalesced(out, (enum ff__direction)body[index].direction, ff__pc(2, 16 + index),
                              4, &arrays[body[index].array], 4, 64);
}

/* 54 instructions a thread in the published log. The second statement loads again what the first
 * one's store might have changed. */
static bool adjust(const struct ff__workload *workload, const struct ff__kernel *kernel,
                   uint32_t cta, uint32_t warp, uint32_t index, struct ff__step *out) {
    const struct ff__array *arrays = workload->arrays;
    uint64_t input = (uint64_t)cta * 16 + warp * 2;
    uint64_t weights = (input + 1) * ROW + 4;
    uint32_t pc = ff__pc(2, index);
    (void)kernel;
    switch (index) {
    case 0:
        return ff__step_coalesced(out, FF__LOAD_AHEAD, pc, 18, &arrays[HIDDEN_DELTA], 4, 64);
    case 5:
        return ff__step_coalesced(out, FF__LOAD_AHEAD, pc, 3, &arrays[HIDDEN_DELTA], 4, 64);
    case 1:
    case 6:
        return ff__step_coalesced(out, FF__LOAD_AHEAD, pc, 3, &arrays[INPUT_UNITS], (input + 1) * 4,
                                  8);
    case 2:
    case 7:
        return ff__step_rows(out, index == 2 ? FF__LOAD_AHEAD : FF__LOAD, pc, 3,
                             &arrays[INPUT_PREVIOUS], weights, 64, 2, ROW);
    case 3:
        return ff__step_rows(out, FF__LOAD, pc, 3, &arrays[INPUT_WEIGHTS_COPY], weights, 64, 2,
                             ROW);
    case 4:
        return ff__step_rows(out, FF__STORE, pc, 8, &arrays[INPUT_WEIGHTS_COPY], weights, 64, 2,
                             ROW);
    case 8:
        return ff__step_rows(out, FF__STORE, pc, 8, &arrays[INPUT_PREVIOUS], weights, 64, 2, ROW);
    case 9:
        return ff__step_compute(out, pc, 2);
    default:
        return cta == 0 && warp == 0 && adjust_thresholds(arrays, index - 10, out);
    }
}

static void launch(const struct ff__workload *workload, uint32_t which, struct ff__action *out) {
    uint64_t n = workload->arrays[PARTIAL_SUM].bytes / 4;
    struct ff__kernel *kernel = &out->kernel;
    out->kind = FF__ACTION_LAUNCH;
    if (which == 0)
        ff__kernel_set(kernel, "bpnn_layerforward_CUDA", n / 16, 8, forward);
    else
        ff__kernel_set(kernel, "bpnn_adjust_weights_cuda", n / 16, 8, adjust);
    kernel->argument[0] = n;
    kernel->known = ff__known_strided(ARRAYS);
    ff__kernel_seal(kernel);
}

/* The host makes the network, ... */
static void initialize(struct ff__script *script) {
    static const uint8_t written[] = {INPUT_WEIGHTS,  INPUT_WEIGHTS_COPY, HIDDEN_WEIGHTS,
                                      INPUT_PREVIOUS, HIDDEN_PREVIOUS,    TARGET,
                                      INPUT_UNITS};
    for (size_t i = 0; i < sizeof written; i++)
        ff__script_write_all(script, written[i]);
}

/* ... adds up the forward kernel's sums and does the small layers itself. */
static void between(struct ff__script *script) {
    ff__script_synchronize(script);
    ff__script_read_all(script, PARTIAL_SUM);
    ff__script_read(script, INPUT_WEIGHTS, 4, 64);
    ff__script_write_all(script, HIDDEN_UNITS);
    ff__script_write_all(script, OUTPUT_UNITS);
    ff__script_read_all(script, TARGET);
    ff__script_write_all(script, OUTPUT_DELTA);
    ff__script_write_all(script, HIDDEN_DELTA);
    ff__script_write_all(script, HIDDEN_WEIGHTS);
    ff__script_write_all(script, HIDDEN_PREVIOUS);
}

static bool action(const struct ff__workload *workload, uint64_t index, struct ff__action *out) {
    struct ff__script script = ff__script_begin(workload, index, out);
    uint64_t which;
    ff__script_allocate_all(&script);
    initialize(&script);
    if (ff__script_turn(&script, 1, &which))
        launch(workload, 0, out);
    between(&script);
    if (ff__script_turn(&script, 1, &which))
        launch(workload, 1, out);
    ff__script_synchronize(&script);
    ff__script_read_all(&script, INPUT_UNITS);
    ff__script_read_all(&script, INPUT_WEIGHTS_COPY);
    ff__script_free_all(&script);
    return script.found;
}

static const struct ff_param params[] = {
    FF__PARAM_SIZE,
    {"inputs", FF_PARAM_INT, 131056, 16, INT64_C(16) * UINT32_MAX,
     "input units, in multiples of 16"},
    {NULL, FF_PARAM_INT, 0, 0, 0, NULL},
};

const struct ff__workload_type ff__workload_backprop = {
    .name = "backprop",
    .summary = "training step of a neural network (Rodinia): streaming",
    .params = params,
    .open = ff__model_open,
    .shape = &(const struct ff__model_shape){1, 16, UINT64_C(16) * UINT32_MAX, arrays},
    .action = action,
};
