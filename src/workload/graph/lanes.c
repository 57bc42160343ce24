#include "workload/graph/lanes.h"

/* The node of the lowest lane in the mask. */
static uint64_t node_of(uint64_t first, uint32_t mask) {
    return first + (uint64_t)__builtin_ctz(mask);
}

uint32_t ff__lanes_with_edge(const struct ff__graph *graph, uint64_t first, uint32_t mask,
                             uint64_t round) {
    uint32_t active = 0;
    for (; mask; mask &= mask - 1) {
        uint64_t node = node_of(first, mask);
        if (graph->first[node + 1] - graph->first[node] > round)
            active |= mask & -mask;
    }
    return active;
}

bool ff__step_nodes(struct ff__step *out, enum ff__direction direction, uint32_t pc,
                    uint32_t instructions, const struct ff__array *array, uint64_t first,
                    uint32_t mask, uint32_t stride, uint32_t offset) {
    uint64_t sector = UINT64_MAX;
    ff__step_begin(out, direction, pc, instructions);
    for (; mask; mask &= mask - 1) {
        uint64_t at = node_of(first, mask) * stride + offset;
        if (at < array->bytes)
            ff__step_lane(out, array, at, &sector);
    }
    return true;
}

bool ff__step_edges(const struct ff__graph *graph, struct ff__step *out, uint32_t pc,
                    uint32_t instructions, const struct ff__array *array, uint64_t first,
                    uint32_t mask, uint64_t round) {
    uint64_t sector = UINT64_MAX;
    ff__step_begin(out, FF__LOAD, pc, instructions);
    for (; mask; mask &= mask - 1)
        ff__step_lane(out, array, (graph->first[node_of(first, mask)] + round) * 4, &sector);
    return true;
}

bool ff__step_neighbours(const struct ff__graph *graph, struct ff__step *out,
                         enum ff__direction direction, uint32_t pc, uint32_t instructions,
                         const struct ff__array *array, uint64_t first, uint32_t mask,
                         uint64_t round, uint32_t stride) {
    uint64_t sector = UINT64_MAX;
    ff__step_begin(out, direction, pc, instructions);
    for (; mask; mask &= mask - 1) {
        uint64_t edge = graph->first[node_of(first, mask)] + round;
        ff__step_lane(out, array, (uint64_t)graph->to[edge] * stride, &sector);
    }
    return true;
}
