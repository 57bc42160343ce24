/* Calls of RAPIDS on one device: PageRank, weakly connected components, BFS and Louvain of cuGraph
 * 21.12, over dask, as the scripts of HUVM (bench/cugraph, commit 4528f10) make them. dask is lazy,
 * so the first call begins with the text of the edges: cudf reads it, cuGraph numbers the vertices
 * anew and exchanges edges between workers. Every call then builds compressed rows and iterates.
 * Kernels are in bulk: what matters is which bytes are read and written, in which order. Where each
 * edge leads is not: buffers are gone through as a whole, or at random.
 *
 * All memory is of one pool (rmm_managed_memory, rmm_pool_size of the scripts): nothing goes back
 * to the driver before the program ends. Numbers have 32 bits (dtype of the scripts). */
#include "workload/graph/call.h"

#include <math.h>
#include <stdlib.h>

#define ID     4u /* bytes of a number */
#define OFFSET 8u /* bytes of the place of a row of text, in cudf */
/* of the text: for the number of edges, and for the edges (NumberMap.renumber_and_segment) */
#define READS     2u
#define POOL      (UINT64_C(1) << 50)
#define HASH_LOAD 0.7 /* of the table of new numbers (renumber_edgelist_impl.cuh) */
#define SORTED                                                                                     \
    (UINT64_C(80)                                                                                  \
     << 20) /* edges whose rows are sorted at a time: 2^20 for each of 80 SMs (graph_impl.cuh) */

enum graph_algorithm { PAGERANK, WCC, BFS, LOUVAIN };

struct graph {
    uint64_t vertices, edges;
    uint64_t text, chunk; /* bytes: of the text, and of the pieces that it is read in */
    uint64_t sorted;      /* edges whose rows are sorted at a time */
    bool engine;          /* growing buffers are copied by a copy engine */
};

/* Both ends of all edges. */
struct edges {
    struct ff__pool_block source, target;
};

struct program {
    struct ff__call call;
    uint32_t once;    /* kernels of the first call alone; the others are of every call */
    uint64_t calls;   /* how often it calls */
    uint64_t work_ns; /* of the host, in each */
};

static struct edges take_edges(struct ff__call *call, const struct graph *graph) {
    struct edges edges;
    edges.source = ff__call_take(call, graph->edges * ID);
    edges.target = ff__call_take(call, graph->edges * ID);
    return edges;
}

static void give_edges(struct ff__call *call, const struct edges *edges) {
    ff__call_give(call, &edges->source);
    ff__call_give(call, &edges->target);
}

static void use_edges(struct ff__call *call, const struct edges *edges, bool write) {
    ff__call_stream(call, &edges->source, write);
    ff__call_stream(call, &edges->target, write);
}

/* ---- reading (cudf, cpp/src/io/csv/reader_impl.cu, load_data_and_gather_row_offsets) ---- */

/* rmm::device_buffer::resize(): a larger buffer is a new one, and what is in the old one is copied
 * by cudaMemcpyAsync(). Whether that is a kernel of the driver's or a copy engine it does not say.
 */
static void grow(struct ff__call *call, const char *name, const struct graph *graph,
                 struct ff__pool_block *buffer, uint64_t filled, uint64_t bytes) {
    if (bytes <= buffer->bytes)
        return;
    struct ff__pool_block old = *buffer;
    *buffer = ff__call_take(call, bytes);
    if (filled > 0)
        ff__call_copy(call, name, &old, buffer, filled, graph->engine);
    ff__call_give(call, &old);
}

/* Of a range of a file, and dask names one, the text comes in pieces, for each of which the buffers
 * of the text and of its rows grow. */
static void read_pieces(struct ff__call *call, const struct graph *graph,
                        struct ff__pool_block *text, struct ff__pool_block *rows) {
    double of_text = (double)(graph->edges * OFFSET) / (double)graph->text;
    for (uint64_t at = 0, rows_at = 0, next, rows_next; at < graph->text && !call->status;
         at = next, rows_at = rows_next) {
        next = at + graph->chunk < graph->text ? at + graph->chunk : graph->text;
        rows_next = (uint64_t)((double)next * of_text);
        grow(call, "grow_text", graph, text, at, next);
        ff__call_begin(call, "upload");
        ff__call_part(call, text, true, at, next - at);
        ff__call_begin(call, "count_rows");
        ff__call_part(call, text, false, at, next - at);
        grow(call, "grow_rows", graph, rows, rows_at, rows_next);
        ff__call_begin(call, "find_rows");
        ff__call_part(call, text, false, at, next - at);
        ff__call_part(call, rows, true, rows_at, rows_next - rows_at);
    }
}

static struct edges read_text(struct ff__call *call, const struct graph *graph) {
    uint64_t first = 2 * graph->chunk < graph->text ? 2 * graph->chunk : graph->text;
    struct ff__pool_block text = ff__call_take(call, first), rows = {0, 0};
    read_pieces(call, graph, &text, &rows);
    ff__call_begin(call, "blank_rows");
    ff__call_stream(call, &text, false);
    ff__call_stream(call, &rows, false);
    struct edges edges = take_edges(call, graph);
    ff__call_begin(call, "decode");
    ff__call_stream(call, &text, false);
    ff__call_stream(call, &rows, false);
    use_edges(call, &edges, true);
    ff__call_give(call, &text);
    ff__call_give(call, &rows);
    return edges;
}

/* ---- new numbers (cuGraph, cpp/src/structure/renumber_edgelist_impl.cuh) ---- */

/* groupby_and_count(): by the worker that an edge goes to, or by its part of the matrix. */
static void group(struct ff__call *call, const struct graph *graph, const struct edges *edges) {
    const struct ff__pool_block *const ends[] = {&edges->source, &edges->target};
    ff__call_sort_merge(call, "group", ends, 2, graph->edges);
    ff__call_begin(call, "count_groups");
    use_edges(call, edges, false);
}

/* What each worker sends and receives is as much as it has; with one worker it is sent to itself.
 */
static struct edges exchange(struct ff__call *call, const struct graph *graph,
                             const struct edges *own) {
    group(call, graph, own);
    struct edges received = take_edges(call, graph);
    ff__call_begin(call, "exchange");
    use_edges(call, own, false);
    use_edges(call, &received, true);
    group(call, graph, &received);
    return received;
}

/* The different numbers at one end of the edges. */
static void find_vertices(struct ff__call *call, const struct ff__pool_block *end,
                          const struct ff__pool_block *found) {
    struct ff__pool_block sorted = ff__call_take(call, end->bytes);
    ff__call_copy(call, "copy_numbers", end, &sorted, end->bytes, false);
    ff__call_sort_radix(call, "sort_numbers", &sorted);
    ff__call_begin(call, "unique");
    ff__call_stream(call, &sorted, false);
    ff__call_stream(call, found, true);
    ff__call_give(call, &sorted);
}

/* Looks up all numbers at one end of the edges in a hash table, and puts the new ones in their
 * place. */
static void look_up(struct ff__call *call, const struct graph *graph,
                    const struct ff__pool_block *labels, const struct ff__pool_block *end) {
    struct ff__pool_block table =
        ff__call_take(call, (uint64_t)((double)(graph->vertices * 2 * ID) / HASH_LOAD));
    ff__call_begin(call, "insert");
    ff__call_stream(call, labels, false);
    ff__call_scatter(call, &table);
    ff__call_begin(call, "look_up");
    ff__call_stream(call, &table, false);
    ff__call_stream(call, end, false);
    ff__call_stream(call, end, true);
    ff__call_give(call, &table);
}

/* What it finds stays: the numbers by new number, and degrees. */
static void renumber(struct ff__call *call, const struct graph *graph, const struct edges *edges) {
    uint64_t bytes = graph->vertices * ID;
    struct ff__pool_block majors = ff__call_take(call, 2 * bytes); /* and how often each is one */
    find_vertices(call, &edges->source, &majors);
    struct ff__pool_block minors = ff__call_take(call, bytes);
    find_vertices(call, &edges->target, &minors);
    struct ff__pool_block labels = ff__call_take(call, 2 * bytes); /* and degrees */
    ff__call_begin(call, "merge_vertices");
    ff__call_stream(call, &majors, false);
    ff__call_stream(call, &minors, false);
    ff__call_stream(call, &labels, true);
    ff__call_give(call, &majors);
    ff__call_give(call, &minors);
    ff__call_sort_radix(call, "sort_degrees", &labels);
    look_up(call, graph, &labels, &edges->source);
    look_up(call, graph, &labels, &edges->target);
}

static struct edges load(struct ff__call *call, const struct graph *graph) {
    struct edges own = {{0, 0}, {0, 0}};
    for (uint32_t i = 0; i < READS; i++) {
        give_edges(call, &own);
        own = read_text(call, graph);
    }
    struct edges edges = exchange(call, graph, &own);
    renumber(call, graph, &edges);
    give_edges(call, &own);
    return edges;
}

/* ---- a call (cuGraph, cpp/src/structure/graph_impl.cuh; cpp/src/traversal, link_analysis,
 * components, community) ---- */

/* Compressed rows; of Louvain with weights, which are all 1. */
struct rows {
    struct ff__pool_block offsets, indices, weights, values;
};

static void sort_rows(struct ff__call *call, const struct graph *graph, const struct rows *rows) {
    uint64_t edges = graph->edges < graph->sorted ? graph->edges : graph->sorted;
    struct ff__pool_block other = ff__call_take(call, edges * ID);
    ff__call_begin(call, "sort_rows");
    ff__call_stream(call, &rows->indices, false);
    ff__call_stream(call, &other, true);
    ff__call_stream(call, &rows->indices, true);
    ff__call_give(call, &other);
}

static struct rows compress(struct ff__call *call, const struct graph *graph,
                            const struct edges *edges, bool weighted) {
    struct rows rows;
    rows.offsets = ff__call_take(call, (graph->vertices + 1) * ID);
    rows.indices = ff__call_take(call, graph->edges * ID);
    rows.weights = ff__call_take(call, weighted ? graph->edges * ID : 0);
    ff__call_begin(call, "clear_rows");
    ff__call_stream(call, &rows.offsets, true);
    ff__call_stream(call, &rows.indices, true);
    ff__call_begin(call, "count_degrees");
    ff__call_stream(call, &edges->source, false);
    ff__call_stream(call, &rows.offsets, true);
    ff__call_begin(call, "fill_rows");
    use_edges(call, edges, false);
    ff__call_stream(call, &rows.offsets, false);
    ff__call_scatter(call, &rows.indices);
    ff__call_scatter(call, &rows.weights);
    sort_rows(call, graph, &rows);
    rows.values = ff__call_take(call, graph->vertices * 4 * ID);
    return rows;
}

/* Every row once; values of both ends. */
static void sweep(struct ff__call *call, const char *name, const struct graph *graph,
                  const struct rows *rows) {
    uint64_t values = graph->vertices * ID;
    ff__call_begin(call, name);
    ff__call_stream(call, &rows->offsets, false);
    ff__call_stream(call, &rows->indices, false);
    ff__call_stream(call, &rows->weights, false);
    ff__call_part(call, &rows->values, false, 0, 3 * values);
    ff__call_part(call, &rows->values, true, 3 * values, values);
}

/* A level of the search: the rows of a share of the vertices, which lie apart. The buffer of what
 * it finds is as large as if each of their edges led to a new vertex
 * (update_frontier_v_push_if_out_nbr.cuh). */
static void level(struct ff__call *call, const struct graph *graph, const struct rows *rows,
                  double share) {
    uint64_t run = FF__PAGE_BYTES, stride = (uint64_t)((double)run / share) / run * run;
    uint64_t count = rows->indices.bytes / stride, values = graph->vertices * ID;
    uint64_t found = (uint64_t)((double)values * 2 * share);
    struct ff__operand some = ff__operand_of(rows->indices.offset, run);
    some.loop[FF__LOOPS - 1].count = count ? count : 1;
    some.loop[FF__LOOPS - 1].stride = stride;
    struct ff__pool_block pushed =
        ff__call_take(call, (uint64_t)((double)(graph->edges * 2 * ID) * share) + found);
    ff__call_begin(call, "level");
    if (rows->indices.bytes >= run)
        ff__call_use(call, false, some);
    ff__call_stream(call, &rows->offsets, false);
    ff__call_part(call, &pushed, true, 0, found);
    ff__call_part(call, &rows->values, true, 0, values);
    ff__call_give(call, &pushed);
}

/* Shares of a bell, which add up to about one. */
static void search(struct ff__call *call, const struct graph *graph, const struct rows *rows,
                   uint32_t levels) {
    double middle = levels / 2.0, width = levels / 5.0;
    for (uint32_t i = 0; i < levels; i++) {
        double x = ((double)i - middle) / width, share = exp(-x * x / 2) / (width * 2.5066);
        level(call, graph, rows, share > 1 ? 1 : share < 1e-3 ? 1e-3 : share);
    }
}

static void iterate(struct ff__call *call, const struct graph *graph, const struct edges *edges,
                    enum graph_algorithm kind, uint32_t iterations) {
    static const char *const names[] = {"pagerank", "components", "search", "louvain"};
    struct rows rows = compress(call, graph, edges, kind == LOUVAIN);
    if (kind == BFS)
        search(call, graph, &rows, iterations);
    else
        for (uint32_t i = 0; i < iterations; i++)
            sweep(call, names[kind], graph, &rows);
    ff__call_give(call, &rows.values);
    ff__call_give(call, &rows.weights);
    ff__call_give(call, &rows.indices);
    ff__call_give(call, &rows.offsets);
}

/* ---- the workload ---- */

enum { SIZE, NODES, ARCS, SCALE, CHUNK, ITERATIONS, CALLS, ENGINE, EDGE };

/* Decimal digits of a number between 1 and `most`, in the mean. */
static double mean_digits(uint64_t most) {
    double digits = 0;
    for (uint64_t power = 1; power <= most; power *= 10)
        digits += (double)(most - power + 1);
    return digits / (double)most;
}

/* A line has both ends of an edge, a space and a newline. Every vertex is at as many ends: ours. */
static struct graph graph_of(const int64_t *params, double ratio) {
    double line = 2 * mean_digits((uint64_t)params[NODES]) + 2;
    struct graph graph = {.vertices = (uint64_t)((double)params[NODES] * ratio),
                          .edges = (uint64_t)((double)params[ARCS] * ratio),
                          .chunk = (uint64_t)((double)(params[CHUNK] << 20) * ratio),
                          .sorted = (uint64_t)((double)SORTED * ratio),
                          .engine = params[ENGINE] != 0};
    graph.text = (uint64_t)((double)graph.edges * line);
    graph.chunk = graph.chunk ? graph.chunk : 1;
    return graph;
}

static int build(const struct graph *graph, const int64_t *params, enum graph_algorithm kind,
                 struct program *out) {
    ff__pool_init(&out->call.pool, POOL);
    out->call.kernel_count = out->call.operand_count = 0;
    out->call.status = 0;
    struct edges edges = load(&out->call, graph);
    out->once = out->call.kernel_count;
    out->calls = (uint64_t)params[CALLS];
    out->work_ns = graph->edges * (uint64_t)params[EDGE];
    iterate(&out->call, graph, &edges, kind, (uint32_t)params[ITERATIONS]);
    return out->call.status;
}

/* Of a whole size all lengths are in proportion. */
static int build_to_size(const int64_t *params, enum graph_algorithm kind, struct program *out,
                         struct graph *graph) {
    *graph = graph_of(params, 1.0 / (double)params[SCALE]);
    int status = build(graph, params, kind, out);
    if (status || params[SIZE] == 0)
        return status;
    *graph = graph_of(params,
                      (double)params[SIZE] / (double)out->call.pool.peak / (double)params[SCALE]);
    return build(graph, params, kind, out);
}

static int open_program(struct ff__workload *workload, const int64_t *params,
                        enum graph_algorithm kind, struct ff_error *error) {
    struct graph graph;
    struct program *program = calloc(1, sizeof *program);
    if (!program)
        return ff__fail(error, -ENOMEM, "no memory for a workload");
    int status = build_to_size(params, kind, program, &graph);
    if (status)
        status =
            ff__fail(error, -EINVAL, "%s: more than %u kernels: read the text in larger chunks",
                     workload->name, FF__CALL_KERNELS);
    else if (graph.vertices == 0 || graph.edges < 256)
        status = ff__fail(error, -EINVAL, "%s: less than a vertex is left", workload->name);
    const struct ff__array_spec pool = {"pool", program->call.pool.peak};
    if (!status)
        status = ff__model_arrays(workload, &pool, 1, error);
    workload->peak_by = 1; /* the pool */
    if (!status)
        status = ff__model_keep(workload, program, sizeof *program, error);
    free(program);
    return status;
}

static void launch(const struct ff__call *call, uint64_t which, struct ff__action *out) {
    const struct ff__call_kernel *kernel = &call->kernels[which];
    out->kind = FF__ACTION_LAUNCH;
    ff__kernel_set(&out->kernel, kernel->name, 1, 1, NULL);
    out->kernel.operands = &call->operands[kernel->first];
    out->kernel.operand_count = kernel->count;
    out->kernel.traffic = kernel->traffic;
    out->kernel.copies = kernel->copies;
    out->kernel.argument[0] = out->kernel.operands->offset;
    out->kernel.argument[1] = (uint64_t)kernel->traffic;
    ff__kernel_seal(&out->kernel);
}

static bool action(const struct ff__workload *workload, uint64_t index, struct ff__action *out) {
    const struct program *program = workload->data;
    uint64_t each = program->call.kernel_count - program->once, which = 0;
    uint64_t last = each + (program->work_ns > 0 ? 2 : 0); /* of a call */
    struct ff__script script = ff__script_begin(workload, index, out);
    ff__script_allocate_all(&script);
    if (ff__script_turn(&script, program->once, &which))
        launch(&program->call, which, out);
    if (ff__script_turn(&script, (last + 1) * program->calls, &which)) {
        which %= last + 1;
        if (which == last) {
            out->kind = FF__ACTION_ITERATION;
        } else if (which == each) {
            out->kind = FF__ACTION_SYNCHRONIZE;
        } else if (which > each) {
            out->kind = FF__ACTION_WORK;
            out->work_ns = program->work_ns;
        } else {
            launch(&program->call, program->once + which, out);
        }
    }
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
        {"scale", FF_PARAM_INT, 1, 1, 1 << 20, "divides all sizes"},                               \
        {"chunk", FF_PARAM_INT, 64, 1, 1 << 20, "MiB of text that are read at a time"},            \
        {"iterations", FF_PARAM_INT, count, 1, 400, counts},                                       \
        {"calls", FF_PARAM_INT, 1, 1, 1 << 20, "how often it is called"},                          \
        {"engine", FF_PARAM_BOOL, 0, 0, 1, "growing buffers are copied by a copy engine"},         \
        {"edge_ns", FF_PARAM_INT, 0, 0, 1000000, "of the host for an edge, in each call"},         \
        {NULL, FF_PARAM_INT, 0, 0, 0, NULL},                                                       \
    };                                                                                             \
    static int open_##id(struct ff__workload *workload, const int64_t *params, const char *file,   \
                         struct ff_error *error) {                                                 \
        (void)file;                                                                                \
        return open_program(workload, params, kind, error);                                        \
    }                                                                                              \
    const struct ff__workload_type ff__workload_##id = {                                           \
        .name = text,                                                                              \
        .summary = says,                                                                           \
        .params = id##_params,                                                                     \
        .open = open_##id,                                                                         \
        .action = action,                                                                          \
    };

CALL(pagerank, "pagerank", PAGERANK, 50, "until it converges",
     "PageRank of cuGraph, with the reading and making of its graph")
CALL(wcc, "wcc", WCC, 8, "until no label changes",
     "weakly connected components of cuGraph, with the reading and making of its graph")
CALL(bfs_levels, "bfs-levels", BFS, 20, "levels",
     "breadth-first search of cuGraph, with the reading and making of its graph")
CALL(louvain, "louvain", LOUVAIN, 30, "passes over the edges, of all levels together",
     "Louvain of cuGraph, with the reading and making of its graph")
