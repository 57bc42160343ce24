/* Stands between the library and the kernel (--wrap; see CMakeLists.txt) and
 * lets calls that move, protect or drop pages fail, or do only a part of their work.
 *
 * What a failing call reports is true: of a partial one the first pages are done; EEXIST of a copy
 * means that the first page is there. What a call says of the others is what the kernel would say,
 * with nothing done: whoever believes more of an error than that can be shown wrong. */
#ifndef FF_TESTS_SOFT_SHIM_H
#define FF_TESTS_SOFT_SHIM_H

#include <stdbool.h>
#include <stdint.h>

/* A share of all calls fails, in a way drawn at random from the seed. */
void shim_random(uint64_t seed, unsigned per_mille);

/* Call number `at` fails, as number `way` of SHIM_WAYS says. Counting begins anew. */
void shim_one(long at, unsigned way);

void shim_off(void);

/* Since the last of the above: calls that could fail, and that did. */
long shim_calls(void);
long shim_hits(void);

/* From now on, a thread that reads that the program has dropped or unmapped memory (SHIM_CHANGES),
 * or faulted (SHIM_FAULTS), gets the message so much later, as one that loses its processor does:
 * the program has gone on by then. 0: at once. */
enum shim_messages { SHIM_CHANGES, SHIM_FAULTS };
void shim_read_late(enum shim_messages messages, unsigned microseconds);

struct shim_way {
    const char *name;
    int error;
    bool partial;
};

#define SHIM_WAYS 7u
extern const struct shim_way shim_ways[SHIM_WAYS];

#endif
