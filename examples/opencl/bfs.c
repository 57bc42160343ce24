/*
 * Breadth-first searches of a power-law graph from several sources, level by level: one launch per
 * level visits the vertices of the frontier and collects the next one. Each vertex sums up its
 * distances from the sources (minus one where there is no path).
 */
#include "graph.h"

#include <stdlib.h>

#define UNSEEN -1

static const char kernels[] = OPENCL_SOURCE(
    __kernel void start(__global int *levels, __global uint *frontier, uint source) {
        levels[source] = 0;
        frontier[0] = source;
    }

    __kernel void expand(__global const ulong *offsets, __global const uint *neighbours,
                         __global int *levels, __global const uint *frontier, uint frontier_size,
                         __global uint *next, __global uint *next_size, int level) {
        const uint i = get_global_id(0);
        if (i >= frontier_size)
            return;
        const uint vertex = frontier[i];
        for (ulong edge = offsets[vertex]; edge < offsets[vertex + 1]; ++edge) {
            const uint neighbour = neighbours[edge];
            /* Several vertices may reach it at once; one of them gets to enqueue it. */
            if (levels[neighbour] == UNSEEN &&
                atomic_cmpxchg(&levels[neighbour], UNSEEN, level) == UNSEEN)
                next[atomic_inc(next_size)] = neighbour;
        }
    }

    __kernel void add_distances(__global const int *levels, __global int *distances,
                                ulong vertices) {
        const ulong vertex = get_global_id(0);
        if (vertex < vertices)
            distances[vertex] += levels[vertex];
    });

static const struct program program = {
    .name = "bfs",
    .kernels = kernels,
    .default_iterations = 3,
    .iteration_is = "one search, from a random source",
};

static cl_uint source_of(const struct app *app, size_t iteration, size_t vertices) {
    return (cl_uint)(random_bits(random_key(app->seed, 's'), iteration) % vertices);
}

struct search {
    cl_kernel start, expand, add_distances;
    cl_mem offsets, neighbours, levels, frontier, next, next_size, distances;
    size_t vertices;
};

/* Visits the frontier and makes the vertices found the new one. Returns how many they are. */
static cl_uint expand_frontier(struct app *app, struct search *search, cl_uint frontier_size,
                               cl_int level) {
    const cl_uint none = 0;
    cl_uint found = 0;
    app_fill(app, search->next_size, sizeof(none), &none);
    app_launch(app, search->expand, over(frontier_size), ARG(search->offsets),
               ARG(search->neighbours), ARG(search->levels), ARG(search->frontier),
               ARG(frontier_size), ARG(search->next), ARG(search->next_size), ARG(level));
    app_read(app, search->next_size, sizeof(found), &found);
    cl_mem swap = search->frontier;
    search->frontier = search->next;
    search->next = swap;
    return found;
}

static void run_search(struct app *app, struct search *search, cl_uint source) {
    const cl_int unseen = UNSEEN;
    app_fill(app, search->levels, search->vertices * sizeof(cl_int), &unseen);
    app_launch(app, search->start, over_groups(1, 1), ARG(search->levels), ARG(search->frontier),
               ARG(source));
    cl_uint frontier_size = 1;
    for (cl_int level = 1; frontier_size > 0; ++level)
        frontier_size = expand_frontier(app, search, frontier_size, level);
    app_launch(app, search->add_distances, over(search->vertices), ARG(search->levels),
               ARG(search->distances), ARG(search->vertices));
}

/* The queue holds each vertex once at most, in the order of their levels. */
static void reference_search(const struct graph *graph, cl_uint source, cl_int *levels,
                             cl_uint *queue) {
    for (size_t vertex = 0; vertex < graph->vertices; ++vertex)
        levels[vertex] = UNSEEN;
    levels[source] = 0;
    queue[0] = source;
    size_t queued = 1;
    for (size_t i = 0; i < queued; ++i) {
        const cl_uint vertex = queue[i];
        for (uint64_t edge = graph->offsets[vertex]; edge < graph->offsets[vertex + 1]; ++edge) {
            const cl_uint neighbour = graph->targets[edge];
            if (levels[neighbour] == UNSEEN) {
                levels[neighbour] = levels[vertex] + 1;
                queue[queued++] = neighbour;
            }
        }
    }
}

static void check_distances(struct app *app, const cl_int *got, const struct graph *graph) {
    const size_t vertices = graph->vertices;
    cl_int *levels = host_array(vertices, sizeof(cl_int));
    cl_int *distances = host_array(vertices, sizeof(cl_int));
    cl_uint *queue = host_array(vertices, sizeof(cl_uint));
    for (size_t i = 0; i < app->iterations; ++i) {
        reference_search(graph, source_of(app, i, vertices), levels, queue);
        for (size_t vertex = 0; vertex < vertices; ++vertex)
            distances[vertex] += levels[vertex];
    }
    free(queue);
    free(levels);

    for (size_t vertex = 0; vertex < vertices; ++vertex)
        app_expect(app, vertex, got[vertex], distances[vertex], 0);
    free(distances);
}

int main(int argc, char **argv) {
    struct app app;
    app_open(&app, &program, argc, argv);

    const size_t bytes_per_vertex = 2 * sizeof(cl_int) + 2 * sizeof(cl_uint);
    struct graph graph = graph_generate(app.size, bytes_per_vertex, random_key(app.seed, 'g'));
    const size_t vertex_bytes = graph.vertices * sizeof(cl_int);

    struct search search = {
        .start = app_kernel(&app, "start"),
        .expand = app_kernel(&app, "expand"),
        .add_distances = app_kernel(&app, "add_distances"),
        .offsets = app_buffer(&app, CL_MEM_READ_ONLY, graph_offset_bytes(&graph), NULL),
        .neighbours = app_buffer(&app, CL_MEM_READ_ONLY, graph_target_bytes(&graph), NULL),
        .levels = app_buffer(&app, CL_MEM_READ_WRITE, vertex_bytes, NULL),
        .frontier = app_buffer(&app, CL_MEM_READ_WRITE, vertex_bytes, NULL),
        .next = app_buffer(&app, CL_MEM_READ_WRITE, vertex_bytes, NULL),
        .next_size = app_buffer(&app, CL_MEM_READ_WRITE, sizeof(cl_uint), NULL),
        .distances = app_buffer(&app, CL_MEM_READ_WRITE, vertex_bytes, NULL),
        .vertices = graph.vertices,
    };

    app_start_clock(&app);
    app_write(&app, search.offsets, graph_offset_bytes(&graph), graph.offsets);
    app_write(&app, search.neighbours, graph_target_bytes(&graph), graph.targets);
    const cl_int no_distance = 0;
    app_fill(&app, search.distances, vertex_bytes, &no_distance);
    if (!app.check)
        graph_free_arrays(&graph);
    for (size_t i = 0; i < app.iterations; ++i) {
        run_search(&app, &search, source_of(&app, i, graph.vertices));
        app_end_iteration(&app);
    }
    const cl_int *distances = app_download(&app, search.distances, vertex_bytes);
    app_stop_clock(&app);

    if (app.check)
        check_distances(&app, distances, &graph);
    graph_free_arrays(&graph);
    return app_close(&app);
}
