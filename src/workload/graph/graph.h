/* Graphs for the workloads that walk them: compressed rows, made from a seed or read from a file.
 */
#ifndef FF_WORKLOAD_GRAPH_GRAPH_H
#define FF_WORKLOAD_GRAPH_GRAPH_H

#include <farfault/farfault.h>

#define FF__GRAPH_NODES_MAX (UINT32_C(1) << 28)
#define FF__GRAPH_EDGES_MAX (UINT64_C(1) << 30)

/* Edges first[v] to first[v + 1] - 1 leave node v and lead to to[]. */
struct ff__graph {
    uint32_t nodes;
    uint64_t edges;
    uint64_t *first;
    uint32_t *to;
};

/* Edges as they come, before they are sorted into rows. */
struct ff__graph_edge {
    uint32_t from, to;
};

void ff__graph_free(struct ff__graph *graph);

/* Rows from a list of edges, which keeps its order within a row; ends below `nodes`. `both`: each
 * edge leads back, too. -ENOMEM. */
int ff__graph_build(uint32_t nodes, const struct ff__graph_edge *edges, uint64_t count, bool both,
                    struct ff__graph *out, struct ff_error *error);

/* Rodinia's generator for bfs: every node draws 2 to 4 other ends, and every edge leads both ways;
 * draws are evened out until there are `edges` of them (about six a node; 0: as they fall). */
int ff__graph_rodinia(uint32_t nodes, uint64_t edges, uint64_t seed, struct ff__graph *out,
                      struct ff_error *error);

/* Every node has `degree` < nodes edges to different other nodes. */
int ff__graph_uniform(uint32_t nodes, uint32_t degree, uint64_t seed, struct ff__graph *out,
                      struct ff_error *error);

/* nodes * degree / 2 edges, which lead both ways. Both ends of an edge are drawn by a power law
 * over the nodes (Chung and Lu): few nodes have very many edges. */
int ff__graph_power(uint32_t nodes, uint32_t degree, uint64_t seed, struct ff__graph *out,
                    struct ff_error *error);

/* Text of an edge list ("FROM TO" a line, # and % comments, more columns ignored; numbers that
 * leave gaps are closed up in their order) or of a Matrix Market file (coordinates; entry i j is an
 * edge from i to j). `name` is what messages call it. -EINVAL: name, line and what is wrong.
 * -ENOMEM. */
int ff__graph_parse(const char *text, size_t length, const char *name, bool both,
                    struct ff__graph *out, struct ff_error *error);

/* As ff__graph_parse(), for a file; a negative errno if it cannot be read. */
int ff__graph_read(const char *path, bool both, struct ff__graph *out, struct ff_error *error);

#endif
