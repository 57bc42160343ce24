/* What one prediction of a page costs. */
#ifndef FF_BENCH_LEARN_H
#define FF_BENCH_LEARN_H

#include <stdbool.h>

/* Nanoseconds from a new access to the answer. The bound reads every byte that a prediction needs.
 */
struct predict_cost {
    double median, slow; /* the 99th percentile */
    double bound;
};

/* Many single predictions over as many streams as the paper's device has warps (28 SMs of 64). The
 * network is untrained: what it costs does not depend on what it has learned. `code`: for which
 * kind of CPU. False: no memory. */
bool predict_cost(const char *code, struct predict_cost *cost);

/* Codes that work on this CPU, the one that is used first; NULL past the end. */
const char *predict_code(unsigned index);

/* Nanoseconds of tables of contexts (learn/train/page_context.h), over as many streams: from a new
 * access to the answer, one stream's after the other's; each timed by itself, clock reads included;
 * and to learn what the answer should have been. */
struct context_cost {
    double row, single, teach;
    double clock; /* of the clock reads alone */
};

/* False: no memory. */
bool context_cost(struct context_cost *cost);

#endif
