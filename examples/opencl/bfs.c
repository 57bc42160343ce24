/*
 * Breadth-first searches of a power-law graph from several sources, level by level: one launch per
 * level visits the vertices of the frontier and collects the next one. Each vertex sums up its
 * distances from the sources (minus one where there is no path).
 */
#include "common.h"

#include "host/bfs.h"

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
    .problem = &bfs_problem,
    .kernels = kernels,
};

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

int main(int argc, char **argv) {
    struct app app;
    app_open(&app, &program, argc, argv);

    struct graph graph = bfs_graph(&app.work);
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
    if (!app.work.check)
        graph_free_arrays(&graph);
    for (size_t i = 0; i < app.work.iterations; ++i) {
        run_search(&app, &search, bfs_source(&app.work, i, graph.vertices));
        app_end_iteration(&app);
    }
    const cl_int *distances = app_download(&app, search.distances, vertex_bytes);
    app_stop_clock(&app);

    if (app.work.check)
        bfs_check(&app.work, distances, &graph);
    graph_free_arrays(&graph);
    return app_close(&app);
}
