/* Calls of a library of graph analytics on one device: PageRank, weakly connected components, BFS and Louvain, as cuGraph
 * 21.12 runs them. A call gets a list of edges, renumbers its vertices, builds compressed rows from it, and only then
 * iterates. Kernels are in bulk: what matters is which bytes are read and written, in which order. Where each edge leads
 * is not: arrays are gone through as a whole, or at random.
 *
 * Numbers of vertices and edges are 64 bits wide, as cudf reads them from text. Of each edge there are 16 bytes in each of
 * three arrays: the list that the program keeps, the list that is worked on, and the other buffer of the sort. */
#include "workload/model.h"

#include <math.h>
#include <stdlib.h>

#define ID       8u        /* bytes of a number */
#define PAIR     (2u * ID) /* both ends of an edge */
#define DIGITS   8u        /* passes of a radix sort of numbers: a byte each */
#define BUCKETS  256u
#define STREAK   65536u /* bytes that a pass of the sort writes to one bucket at a time; ours */
#define KERNELS  512u
#define OPERANDS (4u * KERNELS)

enum { EDGES, PAIRS, BUFFER, VERTICES, ARRAYS };

/* Of a vertex: where its row begins, two values, and one that is gathered from. */
#define OF_VERTEX (4u * ID)

enum kind { PAGERANK, WCC, BFS, LOUVAIN };

struct step {
    const char *name;
    uint32_t first, count; /* operands */
    double traffic;
    bool ends_iteration;
};

struct call {
    uint64_t vertices, edges;
    uint32_t step_count, operand_count;
    struct step steps[KERNELS];
    struct ff__operand operands[OPERANDS];
};

/* ---- kernels ---- */

static void begin(struct call *call, const char *name) {
    if (call->step_count < KERNELS)
        call->steps[call->step_count++] = (struct step){.name = name, .first = call->operand_count};
}

static void use(struct call *call, uint32_t array, bool write, struct ff__operand operand) {
    struct step *step = &call->steps[call->step_count - 1];
    if (call->operand_count == OPERANDS || operand.run == 0)
        return;
    operand.array = array;
    operand.write = write;
    call->operands[call->operand_count++] = operand;
    step->count++;
    step->traffic += (double)operand.run * (double)ff__operand_runs(&operand);
}

static void stream(struct call *call, uint32_t array, bool write, uint64_t bytes) {
    use(call, array, write, ff__operand_of(0, bytes));
}

/* A pass of a radix sort writes to all buckets in turn. */
static struct ff__operand to_buckets(uint64_t bytes) {
    uint64_t bucket = bytes / BUCKETS, rounds = ff__ceil_div(bucket, STREAK);
    uint64_t streak = bucket / (rounds ? rounds : 1);
    if (streak == 0)
        return ff__operand_of(0, bytes);
    struct ff__operand operand = ff__operand_of(0, streak);
    operand.loop[FF__LOOPS - 2].count = rounds;
    operand.loop[FF__LOOPS - 2].stride = streak;
    operand.loop[FF__LOOPS - 1].count = BUCKETS;
    operand.loop[FF__LOOPS - 1].stride = bucket;
    return operand;
}

static void sort(struct call *call, uint64_t of_edge) {
    uint64_t bytes = call->edges * of_edge;
    for (uint32_t digit = 0; digit < DIGITS; digit++) {
        begin(call, of_edge == PAIR ? "sort_pairs" : "sort_numbers");
        stream(call, digit % 2 ? BUFFER : PAIRS, false, bytes);
        use(call, digit % 2 ? PAIRS : BUFFER, true, to_buckets(bytes));
    }
}

/* Renumbering sorts either end of the edges to find the vertices, and looks each end up; building rows sorts the pairs. */
static void build(struct call *call) {
    uint64_t pairs = call->edges * PAIR, vertices = call->vertices * ID;
    begin(call, "copy");
    stream(call, EDGES, false, pairs);
    stream(call, PAIRS, true, pairs);
    sort(call, ID);
    sort(call, ID);
    begin(call, "renumber");
    stream(call, EDGES, false, pairs);
    stream(call, VERTICES, false, vertices);
    stream(call, PAIRS, true, pairs);
    sort(call, PAIR);
    begin(call, "rows");
    stream(call, PAIRS, false, pairs);
    stream(call, BUFFER, true, call->edges * ID);
    stream(call, VERTICES, true, vertices);
}

/* ---- iterations ---- */

/* Every row once; values of both ends. */
static void sweep(struct call *call, const char *name) {
    begin(call, name);
    stream(call, BUFFER, false, call->edges * ID);
    stream(call, VERTICES, false, call->vertices * ID * 3);
    use(call, VERTICES, true, ff__operand_of(call->vertices * ID * 3, call->vertices * ID));
    call->steps[call->step_count - 1].ends_iteration = true;
}

/* A level of the search: the rows of a share of the vertices, which lie apart. */
static void level(struct call *call, double share) {
    uint64_t bytes = call->edges * ID, run = FF__PAGE_BYTES;
    uint64_t stride = (uint64_t)((double)run / share) / run * run;
    uint64_t count = bytes / stride;
    struct ff__operand rows = ff__operand_of(0, run);
    rows.loop[FF__LOOPS - 1].count = count ? count : 1;
    rows.loop[FF__LOOPS - 1].stride = stride;
    begin(call, "level");
    use(call, BUFFER, false, rows);
    stream(call, VERTICES, false, call->vertices * ID);
    use(call, VERTICES, true, ff__operand_of(call->vertices * ID, call->vertices * ID));
    call->steps[call->step_count - 1].ends_iteration = true;
}

/* Shares of a bell, which add up to about one. */
static void search(struct call *call, uint32_t levels) {
    double middle = levels / 2.0, width = levels / 5.0;
    for (uint32_t i = 0; i < levels; i++) {
        double x = ((double)i - middle) / width, share = exp(-x * x / 2) / (width * 2.5066);
        level(call, share > 1 ? 1 : share < 1e-3 ? 1e-3 : share);
    }
}

static void iterate(struct call *call, enum kind kind, uint32_t iterations) {
    if (kind == BFS) {
        search(call, iterations);
        return;
    }
    for (uint32_t i = 0; i < iterations; i++)
        sweep(call, kind == PAGERANK ? "pagerank" : kind == WCC ? "components" : "louvain");
}

/* ---- the workload ---- */

enum { SIZE, NODES, ARCS, SCALE, ITERATIONS };

static uint64_t bytes_of(const struct call *call) {
    return call->edges * PAIR * 3 + call->vertices * OF_VERTEX;
}

static int open_call(struct ff__workload *workload, const int64_t *params, enum kind kind,
                     struct ff_error *error) {
    struct call *call = calloc(1, sizeof *call);
    if (!call)
        return ff__fail(error, -ENOMEM, "no memory for a workload");
    call->vertices = (uint64_t)params[NODES] / (uint64_t)params[SCALE];
    call->edges = (uint64_t)params[ARCS] / (uint64_t)params[SCALE];
    if (params[SIZE] > 0) { /* the same graph, larger or smaller */
        double ratio = (double)params[SIZE] / (double)bytes_of(call);
        call->vertices = (uint64_t)((double)call->vertices * ratio);
        call->edges = (uint64_t)((double)call->edges * ratio);
    }
    int status = call->vertices > 0 && call->edges >= BUCKETS
                     ? 0
                     : ff__fail(error, -EINVAL, "%s: less than a vertex is left", workload->name);
    const struct ff__array_spec specs[ARRAYS] = {
        [EDGES] = {"edges", call->edges * PAIR},
        [PAIRS] = {"pairs", call->edges * PAIR},
        [BUFFER] = {"buffer", call->edges * PAIR},
        [VERTICES] = {"vertices", call->vertices * OF_VERTEX},
    };
    if (!status)
        status = ff__model_arrays(workload, specs, ARRAYS, error);
    if (!status) {
        build(call);
        iterate(call, kind, (uint32_t)params[ITERATIONS]);
        status = ff__model_keep(workload, call, sizeof *call, error);
    }
    free(call);
    return status;
}

static bool action(const struct ff__workload *workload, uint64_t index, struct ff__action *out) {
    const struct call *call = workload->data;
    struct ff__script script = ff__script_begin(workload, index, out);
    uint64_t which = 0;
    ff__script_allocate_all(&script);
    ff__script_write_all(&script, EDGES);
    if (ff__script_turn(&script, call->step_count, &which)) {
        const struct step *step = &call->steps[which];
        out->kind = FF__ACTION_LAUNCH;
        ff__kernel_set(&out->kernel, step->name, 1, 1, NULL);
        out->kernel.operands = &call->operands[step->first];
        out->kernel.operand_count = step->count;
        out->kernel.traffic = step->traffic;
        out->kernel.argument[0] = step->ends_iteration ? 0 : which;
        ff__kernel_seal(&out->kernel);
    }
    ff__script_synchronize(&script);
    ff__script_free_all(&script);
    return script.found;
}

/* The graph by default: soc-twitter-2010 (Network Repository), its edges in both directions. */
#define TWITTER_NODES 21297772
#define TWITTER_ARCS  530051618

#define CALL(id, text, kind, count, counts, says)                                                  \
    static const struct ff_param id##_params[] = {                                                 \
        FF__PARAM_SIZE,                                                                            \
        {"nodes", FF_PARAM_INT, TWITTER_NODES, 1, INT64_C(1) << 40, "vertices of the graph"},      \
        {"arcs", FF_PARAM_INT, TWITTER_ARCS, 1, INT64_C(1) << 40,                                  \
         "its edges; those that lead both ways count twice"},                                      \
        {"scale", FF_PARAM_INT, 1, 1, 1 << 20, "divides both"},                                    \
        {"iterations", FF_PARAM_INT, count, 1, 400, counts},                                       \
        {NULL, FF_PARAM_INT, 0, 0, 0, NULL},                                                       \
    };                                                                                             \
    static int open_##id(struct ff__workload *workload, const int64_t *params, const char *file,   \
                         struct ff_error *error) {                                                 \
        (void)file;                                                                                \
        return open_call(workload, params, kind, error);                                           \
    }                                                                                              \
    const struct ff__workload_type ff__workload_##id = {                                           \
        .name = text,                                                                              \
        .summary = says,                                                                           \
        .params = id##_params,                                                                     \
        .open = open_##id,                                                                         \
        .action = action,                                                                          \
    };

CALL(pagerank, "pagerank", PAGERANK, 50, "until it converges",
     "PageRank of cuGraph, with the making of its graph")
CALL(wcc, "wcc", WCC, 8, "until no label changes",
     "weakly connected components of cuGraph, with the making of its graph")
CALL(bfs_levels, "bfs-levels", BFS, 20, "levels",
     "breadth-first search of cuGraph, with the making of its graph")
CALL(louvain, "louvain", LOUVAIN, 30, "passes over the edges, of all levels together",
     "Louvain of cuGraph, with the making of its graph")
