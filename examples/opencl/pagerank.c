/*
 * PageRank of a power-law graph, pulling: every page sums up what the pages that link to it pass
 * on. CSR row v lists the pages which link to v.
 */
#include "common.h"

#include "host/pagerank.h"

#include <stdlib.h>

static const char kernels[] = OPENCL_SOURCE(
    __kernel void share(__global const float *ranks, __global const uint *links_out,
                        __global float *shares, ulong pages) {
        const ulong page = get_global_id(0);
        if (page < pages)
            shares[page] = ranks[page] / links_out[page];
    }

    __kernel void pull(__global const ulong *offsets, __global const uint *sources,
                       __global const float *shares, __global float *ranks, ulong pages,
                       float base) {
        const ulong page = get_global_id(0);
        if (page >= pages)
            return;
        /* The busiest pages have millions of links, too many for a float to add up as they come. */
        const ulong end = offsets[page + 1];
        float sum = 0.0f;
        for (ulong first = offsets[page]; first < end; first += LINKS_PER_PART) {
            const ulong part_end = min(first + LINKS_PER_PART, end);
            float part = 0.0f;
            for (ulong i = first; i < part_end; ++i)
                part += shares[sources[i]];
            sum += part;
        }
        ranks[page] = base + DAMPING * sum;
    });

static const struct program program = {
    .problem = &pagerank_problem,
    .kernels = kernels,
};

int main(int argc, char **argv) {
    struct app app;
    app_open(&app, &program, argc, argv);
    cl_kernel share = app_kernel(&app, "share");
    cl_kernel pull = app_kernel(&app, "pull");

    struct graph graph = pagerank_graph(&app.work);
    const size_t pages = graph.vertices;
    const size_t vector_bytes = pages * sizeof(float);
    cl_uint *host_links_out = pagerank_links_out(&graph);

    cl_mem offsets = app_buffer(&app, CL_MEM_READ_ONLY, graph_offset_bytes(&graph), NULL);
    cl_mem sources = app_buffer(&app, CL_MEM_READ_ONLY, graph_target_bytes(&graph), NULL);
    cl_mem links_out = app_buffer(&app, CL_MEM_READ_ONLY, pages * sizeof(cl_uint), NULL);
    cl_mem shares = app_buffer(&app, CL_MEM_READ_WRITE, vector_bytes, NULL);
    cl_mem ranks = app_buffer(&app, CL_MEM_READ_WRITE, vector_bytes, NULL);
    const float first_rank = 1.0f / (float)pages;
    const float base = (1.0f - DAMPING) / (float)pages;

    app_start_clock(&app);
    app_write(&app, offsets, graph_offset_bytes(&graph), graph.offsets);
    app_write(&app, sources, graph_target_bytes(&graph), graph.targets);
    app_write(&app, links_out, pages * sizeof(cl_uint), host_links_out);
    app_fill(&app, ranks, vector_bytes, &first_rank);
    if (!app.work.check)
        graph_free_arrays(&graph);
    for (size_t i = 0; i < app.work.iterations; ++i) {
        app_launch(&app, share, over(pages), ARG(ranks), ARG(links_out), ARG(shares), ARG(pages));
        app_launch(&app, pull, over(pages), ARG(offsets), ARG(sources), ARG(shares), ARG(ranks),
                   ARG(pages), ARG(base));
        app_end_iteration(&app);
    }
    const float *got = app_download(&app, ranks, vector_bytes);
    app_stop_clock(&app);

    if (app.work.check)
        pagerank_check(&app.work, got, &graph, host_links_out);
    free(host_links_out);
    graph_free_arrays(&graph);
    return app_close(&app);
}
