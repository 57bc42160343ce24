/*
 * Breadth-first searches of a power-law graph from several sources, level by level: one launch per
 * level visits the vertices of the frontier and collects the next one. Each vertex sums up its
 * distances from the sources (minus one where there is no path).
 */
#include "common.h"

#include "host/bfs.h"

#include <utility>

__global__ void start(int *levels, unsigned *frontier, unsigned source) {
    levels[source] = 0;
    frontier[0] = source;
}

__global__ void expand(const uint64_t *offsets, const unsigned *neighbours, int *levels,
                       const unsigned *frontier, unsigned frontier_size, unsigned *next,
                       unsigned *next_size, int level) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= frontier_size)
        return;
    const unsigned vertex = frontier[i];
    for (uint64_t edge = offsets[vertex]; edge < offsets[vertex + 1]; edge++) {
        const unsigned neighbour = neighbours[edge];
        /* Several vertices may reach it at once; one of them gets to enqueue it. */
        if (levels[neighbour] == UNSEEN &&
            atomicCAS(&levels[neighbour], UNSEEN, level) == UNSEEN)
            next[atomicAdd(next_size, 1)] = neighbour;
    }
}

__global__ void add_distances(const int *levels, int *distances, size_t vertices) {
    const size_t vertex = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (vertex < vertices)
        distances[vertex] += levels[vertex];
}

struct search {
    uint64_t *offsets;
    unsigned *neighbours, *frontier, *next, *next_size;
    int *levels, *distances;
    size_t vertices;
};

/* Visits the frontier and makes the vertices found the new one. Returns how many they are. */
static unsigned expand_frontier(struct search *search, unsigned frontier_size, int level) {
    unsigned found;
    CHECK(cudaMemset(search->next_size, 0, sizeof(unsigned)));
    expand<<<blocks(frontier_size), THREADS>>>(search->offsets, search->neighbours, search->levels,
                                               search->frontier, frontier_size, search->next,
                                               search->next_size, level);
    CHECK(cudaMemcpy(&found, search->next_size, sizeof(found), cudaMemcpyDeviceToHost));
    std::swap(search->frontier, search->next);
    return found;
}

static void run_search(struct search *search, unsigned source) {
    /* every byte of UNSEEN is the same */
    CHECK(cudaMemset(search->levels, UNSEEN, search->vertices * sizeof(int)));
    start<<<1, 1>>>(search->levels, search->frontier, source);
    unsigned frontier_size = 1;
    for (int level = 1; frontier_size > 0; level++)
        frontier_size = expand_frontier(search, frontier_size, level);
    add_distances<<<blocks(search->vertices), THREADS>>>(search->levels, search->distances,
                                                         search->vertices);
}

int main(int argc, char **argv) {
    struct work work;
    work_open(&work, &bfs_problem, NULL, argc, argv);
    struct graph graph = bfs_graph(&work);
    struct search search;
    search.vertices = graph.vertices;
    search.offsets = device_array<uint64_t>(&work, graph.vertices + 1);
    search.neighbours = device_array<unsigned>(&work, graph.edges);
    search.levels = device_array<int>(&work, graph.vertices);
    search.frontier = device_array<unsigned>(&work, graph.vertices);
    search.next = device_array<unsigned>(&work, graph.vertices);
    search.next_size = device_array<unsigned>(&work, 1);
    search.distances = device_array<int>(&work, graph.vertices);

    work_start_clock(&work);
    upload(search.offsets, graph.offsets, graph.vertices + 1);
    upload(search.neighbours, graph.targets, graph.edges);
    CHECK(cudaMemset(search.distances, 0, graph.vertices * sizeof(int)));
    if (!work.check)
        graph_free_arrays(&graph);
    for (size_t i = 0; i < work.iterations; i++) {
        run_search(&search, bfs_source(&work, i, graph.vertices));
        end_iteration(&work);
    }
    int *distances = download(search.distances, graph.vertices);
    stop_clock(&work);

    if (work.check)
        bfs_check(&work, distances, &graph);
    free(distances);
    graph_free_arrays(&graph);
    void *const all[] = {search.offsets, search.neighbours, search.levels,   search.frontier,
                         search.next,    search.next_size,  search.distances};
    for (void *array : all)
        CHECK(cudaFree(array));
    return work_close(&work);
}
