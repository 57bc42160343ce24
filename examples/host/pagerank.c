#include "pagerank.h"

#include <stdlib.h>

const struct problem pagerank_problem = {
    .default_iterations = 4,
    .iteration_is = "one update of all ranks",
};

/* A page has a rank, a share and a number of links. */
struct graph pagerank_graph(const struct work *work) {
    const size_t bytes_per_page = 2 * sizeof(float) + sizeof(uint32_t);
    return graph_generate(work->size, bytes_per_page, random_key(work->seed, 'g'));
}

uint32_t *pagerank_links_out(const struct graph *graph) {
    uint32_t *links_out = host_array(graph->vertices, sizeof(uint32_t));
    for (size_t i = 0; i < graph->edges; ++i)
        ++links_out[graph->targets[i]];
    return links_out;
}

static void reference_iteration(const struct graph *graph, const uint32_t *links_out,
                                double *shares, double *ranks) {
    const double base = (1 - (double)DAMPING) / (double)graph->vertices;
    for (size_t page = 0; page < graph->vertices; ++page)
        shares[page] = ranks[page] / links_out[page];
    for (size_t page = 0; page < graph->vertices; ++page) {
        double sum = 0;
        for (uint64_t i = graph->offsets[page]; i < graph->offsets[page + 1]; ++i)
            sum += shares[graph->targets[i]];
        ranks[page] = base + (double)DAMPING * sum;
    }
}

void pagerank_check(struct work *work, const float *got, const struct graph *graph,
                    const uint32_t *links_out) {
    const double tolerance = 1e-5;
    const size_t pages = graph->vertices;
    double *ranks = host_array(pages, sizeof(double));
    double *shares = host_array(pages, sizeof(double));
    for (size_t page = 0; page < pages; ++page)
        ranks[page] = 1 / (double)pages;
    for (size_t i = 0; i < work->iterations; ++i)
        reference_iteration(graph, links_out, shares, ranks);

    for (size_t page = 0; page < pages; ++page)
        work_expect(work, page, (double)got[page], ranks[page], tolerance * ranks[page]);
    free(shares);
    free(ranks);
}
