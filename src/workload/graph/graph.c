#include "workload/graph/graph.h"

#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void ff__graph_free(struct ff__graph *graph) {
    free(graph->first);
    free(graph->to);
    memset(graph, 0, sizeof *graph);
}

static void count_rows(struct ff__graph *graph, const struct ff__graph_edge *edges, uint64_t count,
                       bool both) {
    for (uint64_t i = 0; i < count; i++) {
        graph->first[edges[i].from + 1]++;
        if (both)
            graph->first[edges[i].to + 1]++;
    }
    for (uint32_t v = 0; v < graph->nodes; v++)
        graph->first[v + 1] += graph->first[v];
}

/* Uses first[v] as the place of the next edge of v, and puts it right afterwards. */
static void fill_rows(struct ff__graph *graph, const struct ff__graph_edge *edges, uint64_t count,
                      bool both) {
    for (uint64_t i = 0; i < count; i++) {
        graph->to[graph->first[edges[i].from]++] = edges[i].to;
        if (both)
            graph->to[graph->first[edges[i].to]++] = edges[i].from;
    }
    memmove(graph->first + 1, graph->first, graph->nodes * sizeof *graph->first);
    graph->first[0] = 0;
}

int ff__graph_build(uint32_t nodes, const struct ff__graph_edge *edges, uint64_t count, bool both,
                    struct ff__graph *out, struct ff_error *error) {
    uint64_t total = both ? 2 * count : count;
    *out = (struct ff__graph){.nodes = nodes, .edges = total};
    out->first = calloc((size_t)nodes + 1, sizeof *out->first);
    out->to = malloc((total ? total : 1) * sizeof *out->to);
    if (!out->first || !out->to) {
        ff__graph_free(out);
        return ff__fail(error, -ENOMEM, "no memory for a graph of %u nodes and %llu edges", nodes,
                        (unsigned long long)total);
    }
    count_rows(out, edges, count, both);
    fill_rows(out, edges, count, both);
    return 0;
}
