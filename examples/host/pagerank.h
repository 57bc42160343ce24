/* The data and the check of pagerank. */
#ifndef EXAMPLES_HOST_PAGERANK_H
#define EXAMPLES_HOST_PAGERANK_H

#include "graph.h"
#include "work.h"

HOST_BEGIN

extern const struct problem pagerank_problem;

#define DAMPING        0.85f
#define LINKS_PER_PART 256

struct graph pagerank_graph(const struct work *work);
/* A fresh array: how many links each page has to others. */
uint32_t *pagerank_links_out(const struct graph *graph);
void pagerank_check(struct work *work, const float *got, const struct graph *graph,
                    const uint32_t *links_out);

HOST_END

#endif
