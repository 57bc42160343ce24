/* The data and the check of bfs. */
#ifndef EXAMPLES_HOST_BFS_H
#define EXAMPLES_HOST_BFS_H

#include "graph.h"
#include "work.h"

HOST_BEGIN

extern const struct problem bfs_problem;

#define UNSEEN -1

struct graph bfs_graph(const struct work *work);
uint32_t bfs_source(const struct work *work, size_t iteration, size_t vertices);
void bfs_check(struct work *work, const int32_t *got, const struct graph *graph);

HOST_END

#endif
