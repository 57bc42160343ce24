/* The execution ID correlation table: which kernel follows (DeepUM, section 4.2, Figure 6).
 *
 * A record says that after three kernels and a fourth, which is running, a certain next one came.
 * An entry of the paper's table holds any number of them, to predict the next kernel as well as can
 * be; here they lie in one hash table of buckets, found by the four IDs at once. It begins with one
 * bucket and doubles in place when a bucket is full, so that memory without records is never
 * touched; at its full size, a full bucket's oldest record makes room. Where the same four have had
 * different successors, the latest counts, and is all that is kept: the paper keeps them all, and
 * does not say which counts.
 *
 * Ours, and an option: where the four were never met, what last followed the running kernel is
 * predicted. The paper's exact match needs one iteration and three kernels before it predicts. */
#ifndef FF_POLICY_DEEPUM_HISTORY_H
#define FF_POLICY_DEEPUM_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FF__CONTEXT 4u /* the three previous kernels, oldest first, and the running one */

struct ff__record {
    uint32_t context[FF__CONTEXT], next;
    uint32_t when; /* 0: no record */
};

struct ff__history {
    struct ff__record *records;
    uint32_t bucket_count, bucket_limit; /* powers of two */
    uint32_t now;
    bool falls_back;
};

/* `memory`: zeroed; at least one bucket of it is used. `falls_back`: on what last followed the
 * running kernel. */
#define FF__HISTORY_BUCKET 8u
void ff__history_start(struct ff__history *history, void *memory, size_t size, bool falls_back);

void ff__history_learn(struct ff__history *history, const uint32_t context[FF__CONTEXT],
                       uint32_t next);

/* The next kernel's ID, or FF_NONE. */
uint32_t ff__history_predict(const struct ff__history *history,
                             const uint32_t context[FF__CONTEXT]);

/* The context after one more kernel. */
static inline void ff__context_push(uint32_t context[FF__CONTEXT], uint32_t id) {
    for (uint32_t i = 0; i + 1 < FF__CONTEXT; i++)
        context[i] = context[i + 1];
    context[FF__CONTEXT - 1] = id;
}

#endif
