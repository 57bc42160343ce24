/* Ours: every warp interprets a program of its own. Which operation comes next is data, and so is
 * how far a warp walks in an operation's array each time: the same for a warp and an operation, and
 * otherwise different. Where an operation goes next can be said only by who remembers how far the
 * warp went when it last had the same one, whenever that was: what attention is made for. */
#include "workload/model.h"

#define OPERATIONS 4u
#define ROUNDS     128u /* operations of a warp */
#define WALK_MOST  8u   /* pages */
#define REGION     256u /* pages of a warp in an operation's array */

enum { PROGRAM, DESCRIPTORS, FIRST_DATA, ARRAYS = FIRST_DATA + OPERATIONS };

static uint32_t arrays(const struct ff__workload_type *type, const void *values,
                       struct ff__array_spec *out) {
    static const char *const names[ARRAYS] = {"program", "descriptors", "a", "b", "c", "d"};
    uint64_t warps = ((const struct ff__sized *)values)->n;
    (void)type;
    for (uint32_t i = 0; i < ARRAYS; i++)
        out[i] = (struct ff__array_spec){names[i],
                                         warps * (i < FIRST_DATA ? 1 : REGION) * FF__PAGE_BYTES};
    return ARRAYS;
}

static uint32_t operation(const struct ff__workload *workload, uint64_t warp, uint32_t round) {
    return (uint32_t)(ff__mix(workload->seed ^ ff__mix(warp * ROUNDS + round)) % OPERATIONS);
}

static uint64_t walk(const struct ff__workload *workload, uint64_t warp, uint32_t which) {
    return 1 + ff__mix(~workload->seed ^ ff__mix(warp * OPERATIONS + which)) % WALK_MOST;
}

/* Three loads a round: what to do, on what, and the data. */
static bool step(const struct ff__workload *workload, const struct ff__kernel *kernel, uint32_t cta,
                 uint32_t warp, uint32_t index, struct ff__step *out) {
    const struct ff__array *arrays = workload->arrays;
    uint64_t me = cta;
    uint32_t round = index / 3, which, before = 0;
    (void)kernel, (void)warp;
    if (round >= ROUNDS)
        return false;
    which = operation(workload, me, round);
    if (index % 3 == 0)
        return ff__step_coalesced(out, FF__LOAD, ff__pc(1, 1), 10, &arrays[PROGRAM],
                                  me * FF__PAGE_BYTES, 32);
    if (index % 3 == 1)
        return ff__step_coalesced(out, FF__LOAD, ff__pc(2, which), 10, &arrays[DESCRIPTORS],
                                  me * FF__PAGE_BYTES, 32);
    for (uint32_t i = 0; i < round; i++)
        before += operation(workload, me, i) == which;
    return ff__step_coalesced(
        out, FF__LOAD, ff__pc(3, which), 20, &arrays[FIRST_DATA + which],
        (me * REGION + before * walk(workload, me, which) % REGION) * FF__PAGE_BYTES, 128);
}

static bool action(const struct ff__workload *workload, uint64_t index, struct ff__action *out) {
    struct ff__script script = ff__script_begin(workload, index, out);
    uint64_t which;
    ff__script_allocate_all(&script);
    for (uint32_t i = 0; i < ARRAYS; i++)
        ff__script_write_all(&script, i);
    if (ff__script_turn(&script, 1, &which)) {
        out->kind = FF__ACTION_LAUNCH;
        ff__kernel_set(&out->kernel, "interpret", ((const struct ff__sized *)workload->data)->n, 1,
                       step);
        ff__kernel_seal(&out->kernel);
    }
    ff__script_synchronize(&script);
    ff__script_free_all(&script);
    return script.found;
}

static const struct ff_param params[] = {
    FF__PARAM_SIZE,
    {"n", FF_PARAM_INT, 512, 1, 1 << 16, "warps"},
    {NULL, FF_PARAM_INT, 0, 0, 0, NULL},
};

const struct ff__workload_type ff__workload_vm = {
    .name = "vm",
    .summary = "a virtual machine: every warp interprets operations of its own",
    .params = params,
    .open = ff__model_open,
    .shape = &(const struct ff__model_shape){1, 1, 1 << 16, arrays},
    .action = action,
};
