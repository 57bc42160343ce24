#include "kernels.h"

#include <math.h>

/* Up to 16 neighbours each; in ascending order and above the vertex if `up`. */
static size_t plan_graph(struct kernel_plan *plan, int32_t n, bool up) {
    int32_t *starts = plan_words(plan, (size_t)n + 1, 0);
    int32_t *targets = plan_words(plan, (size_t)n * 16, (uint32_t)n), at = 0;
    plan_shape(plan, plan_blocks(n, 128), 128);
    plan_int(plan, n);
    for (int32_t v = 0; v < n; v++) {
        starts[v] = at;
        int32_t count = (int32_t)(plan_random(plan) % 17), last = v;
        for (int32_t k = 0; up && k < count; k++) {
            last += 1 + (int32_t)(plan_random(plan) % 6);
            if (last < n)
                targets[at++] = last;
        }
        at += up ? 0 : count;
    }
    starts[n] = at;
    return (size_t)n;
}

static void plan_bfs(struct kernel_plan *plan, int32_t n) {
    plan_graph(plan, n, false);
    int32_t *levels = plan_words(plan, (size_t)n, 4);
    for (int32_t v = 0; v < n; v++)
        levels[v] = levels[v] == 3 ? 3 : -1;
    plan_words(plan, 1, 0);
    plan_int(plan, 3);
}

static void bfs_level(const struct kernel_plan *plan) {
    const int32_t *starts = plan->buffers[0].data, *targets = plan->buffers[1].data;
    int32_t *levels = plan->buffers[2].data, *changed = plan->buffers[3].data;
    for (int32_t v = 0; v < plan->ints[0]; v++)
        for (int32_t k = starts[v]; k < starts[v + 1] && levels[v] == plan->ints[1]; k++)
            if (levels[targets[k]] == -1) {
                levels[targets[k]] = plan->ints[1] + 1;
                changed[0]++;
            }
}

static void plan_pagerank(struct kernel_plan *plan, int32_t n) {
    size_t vertices = plan_graph(plan, n, false);
    plan_reals(plan, vertices);
    plan_zeros(plan, vertices);
    plan_float(plan, 0.85f);
}

static void pagerank(const struct kernel_plan *plan) {
    const int32_t *starts = plan->buffers[0].data, *targets = plan->buffers[1].data;
    const float *shares = plan->buffers[2].data;
    float *ranks = plan->buffers[3].data, damping = plan->floats[0];
    for (int32_t v = 0; v < plan->ints[0]; v++) {
        float sum = 0;
        for (int32_t k = starts[v]; k < starts[v + 1]; k++)
            sum += shares[targets[k]];
        ranks[v] = fmaf(damping, sum, (1 - damping) / (float)plan->ints[0]);
    }
}

static void plan_sssp(struct kernel_plan *plan, int32_t n) {
    size_t vertices = plan_graph(plan, n, false);
    plan_words(plan, vertices * 16, 100);
    plan_words(plan, vertices, 1000);
    plan_words(plan, vertices, 1000);
}

static void sssp_relax(const struct kernel_plan *plan) {
    const int32_t *starts = plan->buffers[0].data, *targets = plan->buffers[1].data;
    const int32_t *lengths = plan->buffers[2].data, *before = plan->buffers[3].data;
    int32_t *after = plan->buffers[4].data;
    for (int32_t v = 0; v < plan->ints[0]; v++)
        for (int32_t k = starts[v]; k < starts[v + 1]; k++)
            if (before[v] + lengths[k] < after[targets[k]])
                after[targets[k]] = before[v] + lengths[k];
}

static void plan_triangles(struct kernel_plan *plan, int32_t n) {
    plan_words(plan, plan_graph(plan, n, true), 0);
}

static bool is_edge(const struct kernel_plan *plan, int32_t from, int32_t to) {
    const int32_t *starts = plan->buffers[0].data, *targets = plan->buffers[1].data;
    for (int32_t k = starts[from]; k < starts[from + 1]; k++)
        if (targets[k] == to)
            return true;
    return false;
}

static void triangles(const struct kernel_plan *plan) {
    const int32_t *starts = plan->buffers[0].data, *targets = plan->buffers[1].data;
    int32_t *counts = plan->buffers[2].data;
    for (int32_t i = 0; i < plan->ints[0]; i++)
        for (int32_t a = starts[i]; a < starts[i + 1]; a++)
            for (int32_t b = a + 1; b < starts[i + 1]; b++)
                counts[i] += is_edge(plan, targets[a], targets[b]);
}

static const struct kernel_case cases[] = {
    {"bfs_level", plan_bfs, bfs_level, 3000, 1 << 19, 0},
    {"pagerank", plan_pagerank, pagerank, 1000, 1 << 19, 0},
    {"sssp_relax", plan_sssp, sssp_relax, 1000, 1 << 18, 0},
    {"triangles", plan_triangles, triangles, 1000, 1 << 16, 0},
};
KERNEL_TOPIC(graph);
