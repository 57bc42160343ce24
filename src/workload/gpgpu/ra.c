/* UVMSmart's ra, random access (benchmarks/Managed/ra): every 100th thread looks up a random place
 * of a table and writes there, in another array. The host draws the places; here they are a
 * function of the seed and the thread. */
#include "workload/model.h"

#define EVERY 100

enum { INPUT, OUTPUT, TABLE, ARRAYS };

static uint32_t arrays(const struct ff__workload_type *type, const void *values,
                       struct ff__array_spec *out) {
    static const char *const names[ARRAYS] = {"input", "output", "table"};
    (void)type;
    for (int i = 0; i < ARRAYS; i++)
        out[i] = (struct ff__array_spec){names[i], ((const struct ff__sized *)values)->n * 4};
    return ARRAYS;
}

/* 20 instructions a thread without a look-up in the published log, 37 with one. */
static bool step(const struct ff__workload *workload, const struct ff__kernel *kernel, uint32_t cta,
                 uint32_t warp, uint32_t index, struct ff__step *out) {
    const struct ff__array *arrays = workload->arrays;
    uint64_t n = kernel->argument[0];
    uint64_t first = (uint64_t)cta * FF__ELEMENT_CTA + warp * FF__WARP;
    uint64_t active = ff__ceil_div(first, EVERY) * EVERY; /* at most one in a warp */
    if (active >= n || active >= first + FF__WARP)
        return index == 0 && ff__step_compute(out, ff__pc(1, 0), 20);
    uint64_t place = ff__mix(workload->seed ^ ff__mix(active)) % n;
    switch (index) {
    case 0:
        return ff__step_coalesced(out, FF__LOAD, ff__pc(1, 1), 18, &arrays[INPUT], active * 4, 4);
    case 1:
        return ff__step_coalesced(out, FF__LOAD, ff__pc(1, 2), 14, &arrays[TABLE], place * 4, 4);
    case 2:
        return ff__step_coalesced(out, FF__STORE, ff__pc(1, 3), 4, &arrays[OUTPUT], place * 4, 4);
    case 3:
        return ff__step_compute(out, ff__pc(1, 4), 1);
    default:
        return false;
    }
}

static bool action(const struct ff__workload *workload, uint64_t index, struct ff__action *out) {
    struct ff__script script = ff__script_begin(workload, index, out);
    ff__script_allocate_all(&script);
    ff__script_write_all(&script, INPUT);
    ff__script_write_all(&script, TABLE);
    ff__script_elements(&script, "kernel", workload->arrays[INPUT].bytes / 4, step);
    ff__script_synchronize(&script);
    ff__script_read_all(&script, OUTPUT);
    ff__script_free_all(&script);
    return script.found;
}

static const struct ff_param params[] = {
    FF__PARAM_SIZE,
    {"n", FF_PARAM_INT, 1 << 20, 1, FF__VECTOR_LENGTH, "elements"},
    {NULL, FF_PARAM_INT, 0, 0, 0, NULL},
};

const struct ff__workload_type ff__workload_ra = {
    .name = "ra",
    .summary = "random reads and writes: each on another page",
    .params = params,
    .open = ff__model_open,
    .shape = &(const struct ff__model_shape){1, 1, FF__VECTOR_LENGTH, arrays},
    .action = action,
};
