/* Whether it pays to bring a kernel's working sets, which is found by doing so, or not.
 *
 * A launch costs its faults by page that there was to bring. Of two ways, to bring the pages and to
 * leave them to the faults, the one is followed that has cost less, and the other one is tried
 * rarely (policy/common/bandit.h). So a kernel is given up where what is brought comes too late, is
 * not what is used, or leaves again before it is. */
#ifndef FF_PRELOAD_TRUST_H
#define FF_PRELOAD_TRUST_H

#include "preload/preload.h"

/* A kernel: all of one symbol have one. */
struct ff__trust;

/* Of the symbol; it is never forgotten. NULL: no memory. */
struct ff__trust *ff__trust_of(const char *symbol);

/* What came of it, for the report. Atomic. */
struct ff__account_extents *ff__trust_counts(struct ff__trust *trust);

/* Whether to bring what the next launch accesses. */
bool ff__trust_brings(struct ff__trust *trust);

/* A launch for which so many pages were, or could have been, brought has run alone, with so many
 * faults. */
void ff__trust_judge(struct ff__trust *trust, bool brought, uint64_t pages, uint64_t faults);

#endif
