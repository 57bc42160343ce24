/* Shortest paths as UVMSmart ran them (benchmarks/Managed/sssp): Harish and Narayanan's two kernels
 * a round, in groups of five rounds until nothing changes, at most 15 rounds. Which threads have
 * work comes from running it at open time.
 *
 * CTAs of 16 threads, half a warp. The flags of the frontier are cudaMalloc's and do not appear
 * here, but for the instructions (26, 20 and 22 a thread without work, as in the published log);
 * the host copies them with cudaMemcpy, which moves no managed page. The distances are set by a
 * kernel: the host writes neither array. */
#include "workload/graph/lanes.h"

#include <float.h>
#include <stdlib.h>

#define CTA_THREADS 16
#define GROUP       5 /* rounds between two looks at the frontier */

enum { VERTICES, EDGES, WEIGHTS, UPDATING, SHORTEST, ARRAYS };
enum { ROUND }; /* not an argument of the program's: left out of the identity */
enum { SIZE, NODE_COUNT, DEGREE, ROUNDS, KIND, SOURCE, BOTH };

struct sssp {
    struct ff__graph graph;
    uint64_t words;     /* of one frontier */
    uint32_t rounds;    /* that run */
    uint32_t *frontier; /* a bit a node; [round][word], the last one after the last round */
};

static uint32_t lanes_in(const struct sssp *model, uint32_t round, uint64_t first) {
    uint32_t word = model->frontier[round * model->words + first / 32];
    return word >> first % 32 & ((UINT32_C(1) << CTA_THREADS) - 1);
}

static bool initialize(const struct ff__workload *workload, const struct ff__kernel *kernel,
                       uint32_t cta, uint32_t warp, uint32_t index, struct ff__step *out) {
    const struct sssp *model = workload->data;
    uint64_t first = (uint64_t)cta * CTA_THREADS + warp;
    uint64_t lanes = ff__lanes(model->graph.nodes, first);
    lanes = lanes < CTA_THREADS ? lanes : CTA_THREADS;
    (void)kernel;
    if (index == 2)
        return ff__step_compute(out, ff__pc(1, 2), 2);
    return index < 2 &&
           ff__step_coalesced(out, FF__STORE, ff__pc(1, index), index ? 2 : 22,
                              &workload->arrays[index ? UPDATING : SHORTEST], first * 4, lanes * 4);
}

/* Nodes of the frontier offer their neighbours a way: edge, own distance, weight, and the minimum
 * in memory, which is a load and at least one compare-and-swap. */
static bool relax(const struct ff__workload *workload, const struct ff__kernel *kernel,
                  uint32_t cta, uint32_t warp, uint32_t index, struct ff__step *out) {
    const struct sssp *model = workload->data;
    const struct ff__array *arrays = workload->arrays;
    uint64_t first = (uint64_t)cta * CTA_THREADS + warp;
    uint32_t mask = lanes_in(model, (uint32_t)kernel->argument[ROUND], first);
    if (index == 0)
        return ff__step_compute(out, ff__pc(2, 0), 20); /* the flag of the frontier */
    if (!mask)
        return false;
    if (index < 3)
        return ff__step_nodes(out, FF__LOAD, ff__pc(2, index), 5, &arrays[VERTICES], first, mask, 4,
                              4 * (index - 1));
    uint64_t loop = (index - 3) / 5;
    uint32_t place = (index - 3) % 5, pc = ff__pc(2, 3 + place);
    mask = ff__lanes_with_edge(&model->graph, first, mask, loop);
    if (!mask)
        return false;
    switch (place) {
    case 0:
        return ff__step_edges(&model->graph, out, pc, 4, &arrays[EDGES], first, mask, loop);
    case 1:
        return ff__step_nodes(out, FF__LOAD, pc, 3, &arrays[SHORTEST], first, mask, 4, 0);
    case 2:
        return ff__step_edges(&model->graph, out, pc, 2, &arrays[WEIGHTS], first, mask, loop);
    case 3:
        return ff__step_neighbours(&model->graph, out, FF__LOAD, pc, 4, &arrays[UPDATING], first,
                                   mask, loop, 4);
    default:
        return ff__step_neighbours(&model->graph, out, FF__STORE, pc, 4, &arrays[UPDATING], first,
                                   mask, loop, 4);
    }
}

/* Distances that became shorter make the next frontier. */
static bool settle(const struct ff__workload *workload, const struct ff__kernel *kernel,
                   uint32_t cta, uint32_t warp, uint32_t index, struct ff__step *out) {
    const struct sssp *model = workload->data;
    const struct ff__array *arrays = workload->arrays;
    uint64_t first = (uint64_t)cta * CTA_THREADS + warp;
    uint64_t lanes = ff__lanes(model->graph.nodes, first);
    uint32_t mask = lanes_in(model, (uint32_t)kernel->argument[ROUND] + 1, first);
    lanes = lanes < CTA_THREADS ? lanes : CTA_THREADS;
    if (index < 2)
        return ff__step_coalesced(out, FF__LOAD, ff__pc(3, index), index ? 2 : 16,
                                  &arrays[index ? UPDATING : SHORTEST], first * 4, lanes * 4);
    if (index == 2 && mask)
        return ff__step_nodes(out, FF__STORE, ff__pc(3, 2), 4, &arrays[SHORTEST], first, mask, 4,
                              0);
    return index == 2 + (mask != 0) && ff__step_coalesced(out, FF__STORE, ff__pc(3, 3), 4,
                                                          &arrays[UPDATING], first * 4, lanes * 4);
}

/* ---- the program ---- */

static void launch(const struct sssp *model, uint64_t which, struct ff__action *out) {
    struct ff__kernel *kernel = &out->kernel;
    uint64_t ctas = ff__ceil_div(model->graph.nodes, CTA_THREADS);
    out->kind = FF__ACTION_LAUNCH;
    if (which == 0)
        ff__kernel_set(kernel, "initializeArrays", ctas, 1, initialize);
    else if (which % 2)
        ff__kernel_set(kernel, "Kernel1", ctas, 1, relax);
    else
        ff__kernel_set(kernel, "Kernel2", ctas, 1, settle);
    const uint64_t by_node = FF__ARRAY(UPDATING) | FF__ARRAY(SHORTEST);
    kernel->known = (struct ff__kernel_known){.uses = by_node, .strided = by_node};
    if (which % 2)
        kernel->known = (struct ff__kernel_known){.uses = FF__ARRAY(ARRAYS) - 1,
                                                  .strided = FF__ARRAY(VERTICES),
                                                  .alike = FF__ARRAY(EDGES) | FF__ARRAY(WEIGHTS)};
    ff__kernel_seal(kernel);
    kernel->argument[ROUND] = which ? (which - 1) / 2 : 0;
}

static bool action(const struct ff__workload *workload, uint64_t index, struct ff__action *out) {
    const struct sssp *model = workload->data;
    struct ff__script script = ff__script_begin(workload, index, out);
    uint64_t which;
    ff__script_allocate_all(&script);
    ff__script_write_all(&script, VERTICES);
    ff__script_write_all(&script, EDGES);
    ff__script_write_all(&script, WEIGHTS);
    if (ff__script_turn(&script, 1 + 2 * (uint64_t)model->rounds, &which))
        launch(model, which, out);
    ff__script_synchronize(&script);
    ff__script_read_all(&script, SHORTEST);
    ff__script_free_all(&script);
    return script.found;
}

/* ---- the graph and the run ---- */

static uint64_t bytes(const struct ff__workload *workload, const int64_t *params, uint64_t nodes) {
    (void)workload;
    return nodes * 4 * (3 + 2 * (uint64_t)params[DEGREE]);
}

static int make_graph(struct ff__workload *workload, const int64_t *params, const char *file,
                      struct ff_error *error) {
    struct sssp *model = workload->data;
    uint64_t nodes;
    if (file)
        return ff__graph_read(file, params[BOTH] != 0, &model->graph, error);
    int status = ff__model_size(workload, params, bytes, (uint64_t)params[NODE_COUNT], 2,
                                FF__GRAPH_NODES_MAX, &nodes, error);
    if (status)
        return status;
    return (params[KIND] ? ff__graph_power : ff__graph_uniform)(
        (uint32_t)nodes, (uint32_t)params[DEGREE], workload->seed, &model->graph, error);
}

/* Thousandths, as in the program. */
static float weight_of(uint64_t seed, uint64_t edge) {
    return (float)(ff__mix(seed ^ ff__mix(edge)) % 1000) / 1000;
}

/* One round: what is in frontier `round` changes distances; what changed is in the next. */
static bool run_round(struct sssp *model, uint64_t seed, uint32_t round, float *shortest,
                      float *updating) {
    const struct ff__graph *graph = &model->graph;
    const uint32_t *now = model->frontier + round * model->words;
    uint32_t *next = model->frontier + (round + 1) * model->words;
    bool changed = false;
    for (uint64_t word = 0; word < model->words; word++) {
        for (uint32_t mask = now[word]; mask; mask &= mask - 1) {
            uint64_t node = word * 32 + (uint64_t)__builtin_ctz(mask);
            for (uint64_t edge = graph->first[node]; edge < graph->first[node + 1]; edge++) {
                float offer = shortest[node] + weight_of(seed, edge);
                float *held = &updating[graph->to[edge]];
                *held = offer < *held ? offer : *held;
            }
        }
    }
    for (uint32_t node = 0; node < graph->nodes; node++) {
        if (shortest[node] > updating[node]) {
            shortest[node] = updating[node];
            next[node / 32] |= UINT32_C(1) << node % 32;
            changed = true;
        }
    }
    return changed;
}

static int run(struct ff__workload *workload, const int64_t *params, struct ff_error *error) {
    struct sssp *model = workload->data;
    uint32_t nodes = model->graph.nodes, source = (uint32_t)params[SOURCE];
    uint64_t most = ff__ceil_div((uint64_t)params[ROUNDS], GROUP) * GROUP;
    float *shortest = malloc(nodes * sizeof *shortest),
          *updating = malloc(nodes * sizeof *updating);
    model->words = ff__ceil_div(nodes, 32);
    model->frontier = calloc((most + 1) * model->words, sizeof *model->frontier);
    if (!shortest || !updating || !model->frontier) {
        free(shortest);
        free(updating);
        return ff__fail(error, -ENOMEM, "no memory for paths in %u nodes", nodes);
    }
    for (uint32_t node = 0; node < nodes; node++)
        shortest[node] = updating[node] = node == source ? 0 : FLT_MAX;
    model->frontier[source / 32] |= UINT32_C(1) << source % 32;
    for (bool changed = true; model->rounds < most && (changed || model->rounds % GROUP);)
        changed = run_round(model, workload->seed, model->rounds++, shortest, updating);
    free(shortest);
    free(updating);
    return 0;
}

static int open(struct ff__workload *workload, const int64_t *params, const char *file,
                struct ff_error *error) {
    struct sssp *model = workload->data = calloc(1, sizeof *model);
    if (!model)
        return ff__fail(error, -ENOMEM, "no memory for workload %s", workload->type->name);
    int status = make_graph(workload, params, file, error);
    if (status)
        return status;
    uint64_t n = model->graph.nodes, edges = model->graph.edges;
    if ((uint64_t)params[SOURCE] >= n)
        return ff__fail(error, -EINVAL, "source=%lld: the graph has nodes 0 to %llu",
                        (long long)params[SOURCE], (unsigned long long)n - 1);
    status = run(workload, params, error);
    if (status)
        return status;
    const struct ff__array_spec specs[ARRAYS] = {
        [VERTICES] = {"vertexArray", n * 4},
        [EDGES] = {"edgeArray", edges * 4},
        [WEIGHTS] = {"weightArray", edges * 4},
        [UPDATING] = {"updatingShortestDistances", n * 4},
        [SHORTEST] = {"shortestDistances", n * 4},
    };
    return ff__model_arrays(workload, specs, ARRAYS, error);
}

static void close_model(struct ff__workload *workload) {
    struct sssp *model = workload->data;
    ff__graph_free(&model->graph);
    free(model->frontier);
}

static const struct ff_param params[] = {
    FF__PARAM_SIZE,
    {"nodes", FF_PARAM_INT, 1 << 20, 4, FF__GRAPH_NODES_MAX, "nodes of a generated graph"},
    {"degree", FF_PARAM_INT, 2, 1, 1024, "edges of each node"},
    {"rounds", FF_PARAM_INT, 15, 1, 10000, "iterations at most, in multiples of 5"},
    {"kind", FF_PARAM_INT, 0, 0, 1, "0: every node has as many edges, 1: power law"},
    {"source", FF_PARAM_INT, 0, 0, FF__GRAPH_NODES_MAX, "node to start from"},
    {"both", FF_PARAM_BOOL, 0, 0, 1, "edges of a file lead both ways"},
    {NULL, FF_PARAM_INT, 0, 0, 0, NULL},
};

const struct ff__workload_type ff__workload_sssp = {
    .name = "sssp",
    .summary = "shortest paths from one node: irregular, in iterations over all nodes",
    .params = params,
    .takes_file = true,
    .file_key = "graph",
    .file_help = "edge list or Matrix Market file; weights are drawn",
    .open = open,
    .close = close_model,
    .action = action,
};
