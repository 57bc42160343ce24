/* What warps of graph programs do: a lane for each of 32 consecutive nodes, from `first` on, of
 * which those of a mask have work; each goes over its node's edges, one a round. */
#ifndef FF_WORKLOAD_GRAPH_LANES_H
#define FF_WORKLOAD_GRAPH_LANES_H

#include "workload/graph/graph.h"
#include "workload/model.h"

/* The lanes of `mask` whose node has an edge for this round; rounds count from 0. */
uint32_t ff__lanes_with_edge(const struct ff__graph *graph, uint64_t first, uint32_t mask,
                             uint64_t round);

/* The lanes touch their nodes' elements of `stride` bytes, `offset` bytes into each; not beyond the
 * array's end. */
bool ff__step_nodes(struct ff__step *out, enum ff__direction direction, uint32_t pc,
                    uint32_t instructions, const struct ff__array *array, uint64_t first,
                    uint32_t mask, uint32_t stride, uint32_t offset);

/* The lanes touch the elements, of 4 bytes, of their edges of this round. */
bool ff__step_edges(const struct ff__graph *graph, struct ff__step *out, uint32_t pc,
                    uint32_t instructions, const struct ff__array *array, uint64_t first,
                    uint32_t mask, uint64_t round);

/* The lanes touch the elements, of `stride` bytes, of the nodes that these edges lead to. */
bool ff__step_neighbours(const struct ff__graph *graph, struct ff__step *out,
                         enum ff__direction direction, uint32_t pc, uint32_t instructions,
                         const struct ff__array *array, uint64_t first, uint32_t mask,
                         uint64_t round, uint32_t stride);

#endif
