#include "graph.h"

#include <math.h>
#include <stdlib.h>

/*
 * R-MAT throws each edge into a quadrant of the adjacency matrix, then into a quadrant of that, and
 * so on: every throw gives one bit of both ends. Here the odds are 9/16, 3/16, 3/16 and 1/16, next
 * to the usual 0.57, 0.19, 0.19 and 0.05. Each bit of either end is then 1 with odds of 1/4, on its
 * own, so the number of edges of a vertex follows from how many 1s it has, and we can make the rows
 * of the CSR form one after the other instead of sorting edges.
 */
enum { FEWEST_EDGES_PER_VERTEX = 8, LARGEST_SCALE = 31 };

/* The scale of a graph is the number of bits in a vertex number. */
struct recipe {
    unsigned scale;
    size_t vertices;
    uint64_t degree_key, target_key;
    double expected_degrees[LARGEST_SCALE + 1]; /* by the number of 1s in the vertex number */
};

static struct recipe choose_recipe(size_t bytes, size_t bytes_per_vertex, uint64_t key) {
    const size_t per_vertex = sizeof(uint64_t) + bytes_per_vertex;
    const size_t least = per_vertex + FEWEST_EDGES_PER_VERTEX * sizeof(uint32_t);
    struct recipe recipe = {
        .scale = 1,
        .degree_key = random_key(key, 'd'),
        .target_key = random_key(key, 't'),
    };
    while (recipe.scale < LARGEST_SCALE && least << (recipe.scale + 1) <= bytes)
        ++recipe.scale;
    recipe.vertices = (size_t)1 << recipe.scale;

    const size_t edges = (bytes - recipe.vertices * per_vertex) / sizeof(uint32_t);
    const double thrown = (double)(edges - recipe.vertices);
    for (unsigned ones = 0; ones <= recipe.scale; ++ones)
        recipe.expected_degrees[ones] = thrown * pow(0.75, recipe.scale - ones) * pow(0.25, ones);
    return recipe;
}

/* One edge more than what R-MAT gives; see first_target(). */
static size_t degree_of(const struct recipe *recipe, size_t vertex) {
    const int ones = __builtin_popcountll(vertex);
    const double draw = (double)random_unit(recipe->degree_key, vertex);
    return 1 + (size_t)(recipe->expected_degrees[ones] + draw);
}

/* A permutation of the vertices, so that each of them is also reached by one edge at least. */
static uint32_t first_target(const struct recipe *recipe, size_t vertex) {
    return (uint32_t)((vertex * UINT64_C(0x9e3779b1) + 1) & (recipe->vertices - 1));
}

/* A bit that is 1 in both of two random numbers: odds of 1/4. */
static uint32_t rmat_target(const struct recipe *recipe, size_t edge) {
    const uint64_t bits = random_bits(recipe->target_key, edge);
    return (uint32_t)(bits & (bits >> 32) & (recipe->vertices - 1));
}

static void make_offsets(const struct recipe *recipe, uint64_t *offsets) {
    for (size_t vertex = 0; vertex < recipe->vertices; ++vertex)
        offsets[vertex + 1] = offsets[vertex] + degree_of(recipe, vertex);
}

static void make_targets(const struct recipe *recipe, const uint64_t *offsets, uint32_t *targets) {
    for (size_t vertex = 0; vertex < recipe->vertices; ++vertex) {
        targets[offsets[vertex]] = first_target(recipe, vertex);
        for (uint64_t edge = offsets[vertex] + 1; edge < offsets[vertex + 1]; ++edge)
            targets[edge] = rmat_target(recipe, edge);
    }
}

struct graph graph_generate(size_t bytes, size_t bytes_per_vertex, uint64_t key) {
    const struct recipe recipe = choose_recipe(bytes, bytes_per_vertex, key);
    struct graph graph = {.vertices = recipe.vertices};
    graph.offsets = host_array(graph.vertices + 1, sizeof(uint64_t));
    make_offsets(&recipe, graph.offsets);
    graph.edges = graph.offsets[graph.vertices];
    graph.targets = host_pages(graph_target_bytes(&graph));
    make_targets(&recipe, graph.offsets, graph.targets);
    return graph;
}

size_t graph_offset_bytes(const struct graph *graph) {
    return (graph->vertices + 1) * sizeof(uint64_t);
}

size_t graph_target_bytes(const struct graph *graph) {
    return graph->edges * sizeof(uint32_t);
}

void graph_free_arrays(struct graph *graph) {
    free(graph->targets);
    free(graph->offsets);
    graph->targets = NULL;
    graph->offsets = NULL;
}
