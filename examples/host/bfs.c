#include "bfs.h"

#include <stdlib.h>

const struct problem bfs_problem = {
    .default_iterations = 3,
    .iteration_is = "one search, from a random source",
};

/* A vertex has a level, a distance, and a place in two frontiers. */
struct graph bfs_graph(const struct work *work) {
    const size_t bytes_per_vertex = 2 * sizeof(int32_t) + 2 * sizeof(uint32_t);
    return graph_generate(work->size, bytes_per_vertex, random_key(work->seed, 'g'));
}

uint32_t bfs_source(const struct work *work, size_t iteration, size_t vertices) {
    return (uint32_t)(random_bits(random_key(work->seed, 's'), iteration) % vertices);
}

/* The queue holds each vertex once at most, in the order of their levels. */
static void reference_search(const struct graph *graph, uint32_t source, int32_t *levels,
                             uint32_t *queue) {
    for (size_t vertex = 0; vertex < graph->vertices; ++vertex)
        levels[vertex] = UNSEEN;
    levels[source] = 0;
    queue[0] = source;
    size_t queued = 1;
    for (size_t i = 0; i < queued; ++i) {
        const uint32_t vertex = queue[i];
        for (uint64_t edge = graph->offsets[vertex]; edge < graph->offsets[vertex + 1]; ++edge) {
            const uint32_t neighbour = graph->targets[edge];
            if (levels[neighbour] == UNSEEN) {
                levels[neighbour] = levels[vertex] + 1;
                queue[queued++] = neighbour;
            }
        }
    }
}

void bfs_check(struct work *work, const int32_t *got, const struct graph *graph) {
    const size_t vertices = graph->vertices;
    int32_t *levels = host_array(vertices, sizeof(int32_t));
    int32_t *distances = host_array(vertices, sizeof(int32_t));
    uint32_t *queue = host_array(vertices, sizeof(uint32_t));
    for (size_t i = 0; i < work->iterations; ++i) {
        reference_search(graph, bfs_source(work, i, vertices), levels, queue);
        for (size_t vertex = 0; vertex < vertices; ++vertex)
            distances[vertex] += levels[vertex];
    }
    free(queue);
    free(levels);

    for (size_t vertex = 0; vertex < vertices; ++vertex)
        work_expect(work, vertex, got[vertex], distances[vertex], 0);
    free(distances);
}
