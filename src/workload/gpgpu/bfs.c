/* Rodinia's bfs as UVMSmart ran it (benchmarks/Managed/bfs): breadth-first search by levels, a
 * thread for every node, two kernels a level, until a level finds no new node. Which threads have
 * work comes from a search at open time.
 *
 * The default graph has as many nodes and edges as the published graph256k. The published log's
 * counts of stores give its levels: 1, 7, 34, 170, 928, 5184, 26861, 102564, 117112, 8578 and 5
 * nodes. The flag that ends the loop is not managed memory, and the host copies it with cudaMemcpy
 * after every level, which moves no managed page: no action here. */
#include "workload/graph/lanes.h"

#include <stdlib.h>

#define CTA_THREADS     512
#define PUBLISHED_NODES 261444
#define PUBLISHED_EDGES 1568420
#define UNREACHED       UINT32_MAX
#define LIKE_PUBLISHED  347 /* of 400 seeds, the one whose levels come closest to the published */

/* In the order of the program's allocations. */
enum { NODES, MASK, UPDATING, VISITED, EDGES, COST, ARRAYS };
enum { LEVEL }; /* arguments; the program has none that changes, so the identity leaves it out */
enum { SIZE, NODE_COUNT, EDGE_COUNT, DEGREE, KIND, SOURCE, BOTH, GRAPH_SEED };

struct bfs {
    struct ff__graph graph;
    uint32_t *level;   /* of each node */
    uint64_t *of_warp; /* [node / FF__WARP] the levels of its nodes, modulo 64, as bits */
    uint32_t levels;
};

/* ---- the kernels ---- */

/* Bit l: lane l's node is on the level. */
static uint32_t lanes_on_level(const struct bfs *model, uint64_t first, uint32_t level) {
    uint32_t mask = 0;
    uint64_t left = model->graph.nodes - first;
    if (!(model->of_warp[first / FF__WARP] >> level % 64 & 1))
        return 0;
    uint32_t lanes = left < FF__WARP ? (uint32_t)left : FF__WARP;
    for (uint32_t lane = 0; lane < lanes; lane++)
        mask |= (uint32_t)(model->level[first + lane] == level) << lane;
    return mask;
}

/* Thread 0's loads come first in a warp whatever the mask says: the whole warp looks at it. */
static bool load_flags(const struct ff__workload *workload, struct ff__step *out, uint32_t pc,
                       uint32_t instructions, uint32_t array, uint64_t first) {
    uint64_t left = workload->arrays[array].bytes - first;
    return ff__step_coalesced(out, FF__LOAD, pc, instructions, &workload->arrays[array], first,
                              left < FF__WARP ? left : FF__WARP);
}

/* Lanes whose neighbour of this round has not been visited before this level. */
static uint32_t lanes_to_unvisited(const struct bfs *model, uint64_t first, uint32_t mask,
                                   uint64_t round, uint32_t level) {
    uint32_t active = 0;
    for (; mask; mask &= mask - 1) {
        uint64_t node = first + (uint64_t)__builtin_ctz(mask);
        uint32_t neighbour = model->graph.to[model->graph.first[node] + round];
        if (model->level[neighbour] > level)
            active |= mask & -mask;
    }
    return active;
}

/* The loop's body: the edge; whether its end was visited; the own cost; the end's cost and flag;
 * and again the bounds of the loop, which a store might have changed. */
static bool expand_round(const struct ff__workload *workload, uint64_t first, uint32_t mask,
                         uint64_t round, uint32_t place, uint32_t level, struct ff__step *out) {
    const struct bfs *model = workload->data;
    const struct ff__array *arrays = workload->arrays;
    uint32_t pc = ff__pc(1, 8 + place), to_new;
    switch (place) {
    case 0:
        return ff__step_edges(&model->graph, out, pc, 4, &arrays[EDGES], first, mask, round);
    case 1:
        return ff__step_neighbours(&model->graph, out, FF__LOAD, pc, 3, &arrays[VISITED], first,
                                   mask, round, 1);
    case 5:
    case 6:
        return ff__step_nodes(out, FF__LOAD, pc, 2, &arrays[NODES], first, mask, 8,
                              place == 5 ? 4 : 0);
    default:
        break;
    }
    to_new = lanes_to_unvisited(model, first, mask, round, level);
    if (!to_new)
        return ff__step_compute(out, pc, 1);
    if (place == 2)
        return ff__step_nodes(out, FF__LOAD, pc, 3, &arrays[COST], first, to_new, 4, 0);
    return place == 3 ? ff__step_neighbours(&model->graph, out, FF__STORE, pc, 3, &arrays[COST],
                                            first, to_new, round, 4)
                      : ff__step_neighbours(&model->graph, out, FF__STORE, pc, 2, &arrays[UPDATING],
                                            first, to_new, round, 1);
}

/* Nodes of the level look at their neighbours. 19 instructions for a thread without work. */
static bool expand(const struct ff__workload *workload, const struct ff__kernel *kernel,
                   uint32_t cta, uint32_t warp, uint32_t index, struct ff__step *out) {
    const struct bfs *model = workload->data;
    const struct ff__array *arrays = workload->arrays;
    uint64_t first = (uint64_t)cta * CTA_THREADS + warp * FF__WARP;
    if (first >= model->graph.nodes)
        return index == 0 && ff__step_compute(out, ff__pc(1, 0), 10);
    if (index == 0)
        return load_flags(workload, out, ff__pc(1, 1), 15, MASK, first);
    uint32_t level = (uint32_t)kernel->argument[LEVEL];
    uint32_t mask = lanes_on_level(model, first, level);
    if (index == 1)
        return mask ? ff__step_nodes(out, FF__STORE, ff__pc(1, 2), 5, &arrays[MASK], first, mask, 1,
                                     0)
                    : ff__step_compute(out, ff__pc(1, 3), 4);
    if (!mask)
        return false;
    if (index < 4)
        return ff__step_nodes(out, FF__LOAD, ff__pc(1, 2 + index), 2, &arrays[NODES], first, mask,
                              8, index == 2 ? 0 : 4);
    uint64_t round = (index - 4) / 7;
    mask = ff__lanes_with_edge(&model->graph, first, mask, round);
    return mask && expand_round(workload, first, mask, round, (index - 4) % 7, level, out);
}

/* The nodes found become the next level. 17 instructions for a thread without work. */
static bool advance(const struct ff__workload *workload, const struct ff__kernel *kernel,
                    uint32_t cta, uint32_t warp, uint32_t index, struct ff__step *out) {
    static const uint8_t stored[] = {MASK, VISITED, UPDATING};
    const struct bfs *model = workload->data;
    uint64_t first = (uint64_t)cta * CTA_THREADS + warp * FF__WARP;
    if (first >= model->graph.nodes)
        return index == 0 && ff__step_compute(out, ff__pc(2, 0), 10);
    if (index == 0)
        return load_flags(workload, out, ff__pc(2, 1), 14, UPDATING, first);
    uint32_t mask = lanes_on_level(model, first, (uint32_t)kernel->argument[LEVEL] + 1);
    if (!mask)
        return index == 1 && ff__step_compute(out, ff__pc(2, 2), 3);
    return index <= sizeof stored &&
           ff__step_nodes(out, FF__STORE, ff__pc(2, 2 + index), 2,
                          &workload->arrays[stored[index - 1]], first, mask, 1, 0);
}

/* ---- the program ---- */

static const struct ff__kernel_known
    known_of_expand = {.uses = FF__ARRAY(ARRAYS) - 1,
                       .strided = FF__ARRAY(MASK) | FF__ARRAY(NODES),
                       .alike = FF__ARRAY(VISITED) | FF__ARRAY(COST) | FF__ARRAY(UPDATING)},
    known_of_advance = {.uses = FF__ARRAY(UPDATING) | FF__ARRAY(MASK) | FF__ARRAY(VISITED),
                        .strided = FF__ARRAY(UPDATING) | FF__ARRAY(MASK) | FF__ARRAY(VISITED)};

static void launch(const struct bfs *model, uint64_t which, struct ff__action *out) {
    out->kind = FF__ACTION_LAUNCH;
    ff__kernel_set(&out->kernel, which % 2 ? "Kernel2" : "Kernel",
                   ff__ceil_div(model->graph.nodes, CTA_THREADS), CTA_THREADS / FF__WARP,
                   which % 2 ? advance : expand);
    out->kernel.known = which % 2 ? known_of_advance : known_of_expand;
    ff__kernel_seal(&out->kernel);
    out->kernel.argument[LEVEL] = which / 2;
}

static bool action(const struct ff__workload *workload, uint64_t index, struct ff__action *out) {
    static const uint8_t written[] = {NODES, MASK, UPDATING, VISITED, EDGES, COST};
    const struct bfs *model = workload->data;
    struct ff__script script = ff__script_begin(workload, index, out);
    uint64_t which;
    ff__script_allocate_all(&script);
    for (size_t i = 0; i < sizeof written; i++)
        ff__script_write_all(&script, written[i]);
    if (ff__script_turn(&script, 2 * (uint64_t)model->levels, &which))
        launch(model, which, out);
    ff__script_synchronize(&script);
    ff__script_read_all(&script, COST);
    ff__script_free_all(&script);
    return script.found;
}

/* ---- the graph ---- */

/* Even, because every edge leads both ways; the published graph's proportion unless given. */
static uint64_t edges_of(uint64_t nodes, const int64_t *params) {
    if (params[KIND] != 0)
        return nodes * (uint64_t)params[DEGREE] / 2 * 2;
    if (params[SIZE] > 0 || params[EDGE_COUNT] == 0)
        return nodes * PUBLISHED_EDGES / PUBLISHED_NODES / 2 * 2;
    return (uint64_t)params[EDGE_COUNT];
}

static uint64_t bytes(const struct ff__workload *workload, const int64_t *params, uint64_t nodes) {
    (void)workload;
    return nodes * (8 + 3 + 4) + edges_of(nodes, params) * 4;
}

static int make_graph(struct ff__workload *workload, const int64_t *params, const char *file,
                      struct ff_error *error) {
    struct bfs *model = workload->data;
    uint64_t nodes, seed = params[GRAPH_SEED] ? (uint64_t)params[GRAPH_SEED] : workload->seed;
    if (file)
        return ff__graph_read(file, params[BOTH] != 0, &model->graph, error);
    int status = ff__model_size(workload, params, bytes, (uint64_t)params[NODE_COUNT], 2,
                                FF__GRAPH_NODES_MAX, &nodes, error);
    if (status)
        return status;
    uint32_t degree = (uint32_t)params[DEGREE];
    if (params[KIND] == 1)
        return ff__graph_uniform((uint32_t)nodes, degree, seed, &model->graph, error);
    if (params[KIND] == 2)
        return ff__graph_power((uint32_t)nodes, degree, seed, &model->graph, error);
    uint64_t edges = edges_of(nodes, params);
    return ff__graph_rodinia((uint32_t)nodes, edges, seed, &model->graph, error);
}

/* Breadth-first search with a queue. */
static int search(struct bfs *model, uint32_t source, struct ff_error *error) {
    const struct ff__graph *graph = &model->graph;
    uint32_t *queue = malloc(graph->nodes * sizeof *queue), head = 0, tail = 0;
    model->level = malloc(graph->nodes * sizeof *model->level);
    model->of_warp = calloc(ff__ceil_div(graph->nodes, FF__WARP), sizeof *model->of_warp);
    if (!queue || !model->level || !model->of_warp) {
        free(queue);
        return ff__fail(error, -ENOMEM, "no memory for a search in %u nodes", graph->nodes);
    }
    memset(model->level, 0xff, graph->nodes * sizeof *model->level);
    model->level[source] = 0;
    queue[tail++] = source;
    while (head < tail) {
        uint32_t node = queue[head++];
        for (uint64_t edge = graph->first[node]; edge < graph->first[node + 1]; edge++) {
            uint32_t to = graph->to[edge];
            if (model->level[to] != UNREACHED)
                continue;
            model->level[to] = model->level[node] + 1;
            queue[tail++] = to;
        }
    }
    model->levels = model->level[queue[tail - 1]] + 1;
    for (uint32_t node = 0; node < graph->nodes; node++)
        model->of_warp[node / FF__WARP] |= UINT64_C(1) << model->level[node] % 64;
    free(queue);
    return 0;
}

static int open(struct ff__workload *workload, const int64_t *params, const char *file,
                struct ff_error *error) {
    struct bfs *model = workload->data = calloc(1, sizeof *model);
    if (!model)
        return ff__fail(error, -ENOMEM, "no memory for workload %s", workload->type->name);
    int status = make_graph(workload, params, file, error);
    if (status)
        return status;
    uint64_t n = model->graph.nodes;
    if ((uint64_t)params[SOURCE] >= n)
        return ff__fail(error, -EINVAL, "source=%lld: the graph has nodes 0 to %llu",
                        (long long)params[SOURCE], (unsigned long long)n - 1);
    status = search(model, (uint32_t)params[SOURCE], error);
    if (status)
        return status;
    const struct ff__array_spec specs[ARRAYS] = {
        [NODES] = {"graph_nodes", n * 8},
        [MASK] = {"graph_mask", n},
        [UPDATING] = {"updating_graph_mask", n},
        [VISITED] = {"graph_visited", n},
        [EDGES] = {"graph_edges", model->graph.edges * 4},
        [COST] = {"cost", n * 4},
    };
    return ff__model_arrays(workload, specs, ARRAYS, error);
}

static void close_model(struct ff__workload *workload) {
    struct bfs *model = workload->data;
    ff__graph_free(&model->graph);
    free(model->level);
    free(model->of_warp);
}

static const struct ff_param params[] = {
    FF__PARAM_SIZE,
    {"nodes", FF_PARAM_INT, PUBLISHED_NODES, 20, FF__GRAPH_NODES_MAX, "nodes of a generated graph"},
    {"edges", FF_PARAM_INT, 0, 0, FF__GRAPH_EDGES_MAX, "edges of kind 0; 0: about six a node"},
    {"degree", FF_PARAM_INT, 6, 1, 1024, "edges of a node, kinds 1 and 2"},
    {"kind", FF_PARAM_INT, 0, 0, 2, "0: Rodinia's generator, 1: uniform, 2: power law"},
    {"source", FF_PARAM_INT, 0, 0, FF__GRAPH_NODES_MAX, "node to start from"},
    {"both", FF_PARAM_BOOL, 0, 0, 1, "edges of a file lead both ways"},
    {"graph_seed", FF_PARAM_INT, LIKE_PUBLISHED, 0, INT64_MAX,
     "of a generated graph; 0: the run's seed"},
    {NULL, FF_PARAM_INT, 0, 0, 0, NULL},
};

const struct ff__workload_type ff__workload_bfs = {
    .name = "bfs",
    .summary = "breadth-first search (Rodinia): irregular, level by level",
    .params = params,
    .takes_file = true,
    .file_key = "graph",
    .file_help = "edge list or Matrix Market file",
    .open = open,
    .close = close_model,
    .action = action,
};
