/*
 * PageRank of a power-law graph, pulling: every page sums up what the pages that link to it pass
 * on. CSR row v lists the pages which link to v.
 */
#include "common.h"

#include "host/pagerank.h"

__global__ void set(float *values, float value, size_t count) {
    const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < count)
        values[i] = value;
}

__global__ void share(const float *ranks, const unsigned *links_out, float *shares, size_t pages) {
    const size_t page = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (page < pages)
        shares[page] = ranks[page] / (float)links_out[page];
}

__global__ void pull(const uint64_t *offsets, const unsigned *sources, const float *shares,
                     float *ranks, size_t pages, float base) {
    const size_t page = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (page >= pages)
        return;
    /* The busiest pages have millions of links, too many for a float to add up as they come. */
    const uint64_t end = offsets[page + 1];
    float sum = 0;
    for (uint64_t first = offsets[page]; first < end; first += LINKS_PER_PART) {
        const uint64_t part_end = first + LINKS_PER_PART < end ? first + LINKS_PER_PART : end;
        float part = 0;
        for (uint64_t i = first; i < part_end; i++)
            part += shares[sources[i]];
        sum += part;
    }
    ranks[page] = base + DAMPING * sum;
}

int main(int argc, char **argv) {
    struct work work;
    work_open(&work, &pagerank_problem, NULL, argc, argv);
    struct graph graph = pagerank_graph(&work);
    const size_t pages = graph.vertices;
    uint32_t *host_links_out = pagerank_links_out(&graph);
    uint64_t *offsets = device_array<uint64_t>(&work, pages + 1);
    uint32_t *sources = device_array<uint32_t>(&work, graph.edges);
    uint32_t *links_out = device_array<uint32_t>(&work, pages);
    float *shares = device_array<float>(&work, pages);
    float *ranks = device_array<float>(&work, pages);
    const float base = (1.0f - DAMPING) / (float)pages;

    work_start_clock(&work);
    upload(offsets, graph.offsets, pages + 1);
    upload(sources, graph.targets, graph.edges);
    upload(links_out, host_links_out, pages);
    set<<<blocks(pages), THREADS>>>(ranks, 1.0f / (float)pages, pages);
    if (!work.check)
        graph_free_arrays(&graph);
    for (size_t i = 0; i < work.iterations; i++) {
        share<<<blocks(pages), THREADS>>>(ranks, links_out, shares, pages);
        pull<<<blocks(pages), THREADS>>>(offsets, sources, shares, ranks, pages, base);
        end_iteration(&work);
    }
    float *got = download(ranks, pages);
    stop_clock(&work);

    if (work.check)
        pagerank_check(&work, got, &graph, host_links_out);
    free(got);
    free(host_links_out);
    graph_free_arrays(&graph);
    void *const all[] = {ranks, shares, links_out, sources, offsets};
    for (void *array : all)
        CHECK(cudaFree(array));
    return work_close(&work);
}
