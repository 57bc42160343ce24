/*
 * A random directed power-law graph (R-MAT) in CSR form, shared by the graph programs.
 */
#ifndef EXAMPLES_HOST_GRAPH_H
#define EXAMPLES_HOST_GRAPH_H

#include "data.h"

HOST_BEGIN

struct graph {
    size_t vertices;   /* a power of two */
    size_t edges;      /* entries of targets */
    uint64_t *offsets; /* vertices + 1 entries: vertex v has targets offsets[v] .. offsets[v + 1] */
    uint32_t *targets;
};

/*
 * Makes the graph for which the device needs about `bytes`: its CSR arrays and, for each vertex,
 * bytes_per_vertex more. Every vertex has an edge that leaves it and one that arrives.
 */
struct graph graph_generate(size_t bytes, size_t bytes_per_vertex, uint64_t key);

size_t graph_offset_bytes(const struct graph *graph);
size_t graph_target_bytes(const struct graph *graph);

/* Releases the host arrays; the counts stay. */
void graph_free_arrays(struct graph *graph);

HOST_END

#endif
