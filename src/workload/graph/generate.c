#include "workload/graph/graph.h"

#include "base/error.h"
#include "base/random.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define DRAWS_LEAST 2 /* of Rodinia's graphgen */
#define DRAWS_MOST  4

static int out_of_memory(uint32_t nodes, struct ff_error *error) {
    return ff__fail(error, -ENOMEM, "no memory for a graph of %u nodes", nodes);
}

static int check_size(uint32_t nodes, uint64_t edges, struct ff_error *error) {
    if (nodes >= 2 && nodes <= FF__GRAPH_NODES_MAX && edges <= FF__GRAPH_EDGES_MAX)
        return 0;
    return ff__fail(
        error, -EINVAL, "a graph of %u nodes, %llu edges: 2 to %u nodes, up to %llu edges", nodes,
        (unsigned long long)edges, FF__GRAPH_NODES_MAX, (unsigned long long)FF__GRAPH_EDGES_MAX);
}

/* How many ends each node draws; `wanted` in all, 0: whatever comes. Returns the sum. */
static uint64_t draw_counts(uint8_t *draws, uint32_t nodes, uint64_t wanted, struct ff__random *r) {
    uint64_t sum = 0;
    for (uint32_t v = 0; v < nodes; v++)
        sum += draws[v] =
            (uint8_t)(DRAWS_LEAST + ff__random_below(r, DRAWS_MOST - DRAWS_LEAST + 1));
    while (wanted && sum != wanted) {
        uint32_t v = ff__random_below(r, nodes);
        if (sum < wanted && draws[v] < DRAWS_MOST) {
            draws[v]++;
            sum++;
        } else if (sum > wanted && draws[v] > DRAWS_LEAST) {
            draws[v]--;
            sum--;
        }
    }
    return sum;
}

int ff__graph_rodinia(uint32_t nodes, uint64_t edges, uint64_t seed, struct ff__graph *out,
                      struct ff_error *error) {
    int status = check_size(nodes, edges, error);
    if (status)
        return status;
    uint64_t wanted = edges / 2;
    if (wanted && (wanted < (uint64_t)nodes * DRAWS_LEAST || wanted > (uint64_t)nodes * DRAWS_MOST))
        return ff__fail(error, -EINVAL, "%llu edges: %u nodes need %llu to %llu",
                        (unsigned long long)edges, nodes,
                        (unsigned long long)nodes * DRAWS_LEAST * 2,
                        (unsigned long long)nodes * DRAWS_MOST * 2);
    struct ff__random r = ff__random_seeded(seed);
    uint8_t *draws = malloc(nodes);
    if (!draws)
        return out_of_memory(nodes, error);
    uint64_t count = draw_counts(draws, nodes, wanted, &r), i = 0;
    struct ff__graph_edge *list = malloc(count * sizeof *list);
    if (list) {
        for (uint32_t v = 0; v < nodes; v++)
            for (uint8_t d = 0; d < draws[v]; d++)
                list[i++] = (struct ff__graph_edge){v, ff__random_below(&r, nodes)};
        status = ff__graph_build(nodes, list, count, true, out, error);
    } else {
        status = out_of_memory(nodes, error);
    }
    free(list);
    free(draws);
    return status;
}

/* A node that is neither v nor among those that v has. */
static uint32_t draw_other(struct ff__random *r, uint32_t nodes, uint32_t v, const uint32_t *have,
                           uint32_t count) {
    for (;;) {
        uint32_t to = ff__random_below(r, nodes);
        bool taken = to == v;
        for (uint32_t i = 0; i < count; i++)
            taken |= have[i] == to;
        if (!taken)
            return to;
    }
}

int ff__graph_uniform(uint32_t nodes, uint32_t degree, uint64_t seed, struct ff__graph *out,
                      struct ff_error *error) {
    int status = check_size(nodes, (uint64_t)nodes * degree, error);
    if (status)
        return status;
    if (degree >= nodes || degree > 1024)
        return ff__fail(error, -EINVAL, "degree %u of %u nodes: must be below both %u and 1025",
                        degree, nodes, nodes);
    *out = (struct ff__graph){.nodes = nodes, .edges = (uint64_t)nodes * degree};
    out->first = malloc(((size_t)nodes + 1) * sizeof *out->first);
    out->to = malloc((out->edges ? out->edges : 1) * sizeof *out->to);
    if (!out->first || !out->to) {
        ff__graph_free(out);
        return out_of_memory(nodes, error);
    }
    struct ff__random r = ff__random_seeded(seed);
    for (uint32_t v = 0; v < nodes; v++) {
        uint32_t *row = out->to + (uint64_t)v * degree;
        out->first[v] = (uint64_t)v * degree;
        for (uint32_t i = 0; i < degree; i++)
            row[i] = draw_other(&r, nodes, v, row, i);
    }
    out->first[nodes] = out->edges;
    return 0;
}

/* Node k is drawn with a likelihood like (k + 1)^-1/2, which gives degrees a power law of exponent
 * 3, as in preferential attachment: the square of a uniform number does it. */
static uint32_t draw_power(struct ff__random *r, uint32_t nodes) {
    double u = (double)(ff__random_next(r) >> 11) * 0x1p-53;
    return (uint32_t)(u * u * nodes);
}

int ff__graph_power(uint32_t nodes, uint32_t degree, uint64_t seed, struct ff__graph *out,
                    struct ff_error *error) {
    uint64_t count = (uint64_t)nodes * degree / 2;
    int status = check_size(nodes, 2 * count, error);
    if (status)
        return status;
    struct ff__graph_edge *list = malloc((count ? count : 1) * sizeof *list);
    if (!list)
        return out_of_memory(nodes, error);
    struct ff__random r = ff__random_seeded(seed);
    for (uint64_t i = 0; i < count; i++) {
        list[i].from = draw_power(&r, nodes);
        list[i].to = draw_power(&r, nodes);
    }
    status = ff__graph_build(nodes, list, count, true, out, error);
    free(list);
    return status;
}
