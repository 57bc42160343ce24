/* What a simulation has found, as JSON and back. */
#ifndef FF_STUDY_SIM_RECORD_H
#define FF_STUDY_SIM_RECORD_H

#include "study/sim/simulate.h"

#include <jansson.h>
#include <stddef.h>

/* The members of a result, all but those of the engine. */
struct ff__counter {
    const char *name;
    size_t offset; /* in struct ff__sim_result */
    enum ff__counter_kind {
        FF__COUNTER_SHOWN,
        FF__COUNTER_TIMED, /* likewise, but not known without time */
        FF__COUNTER_INNER, /* in results as something else, or not at all */
    } kind;
};

/* NULL past the end. */
const struct ff__counter *ff__counter_at(unsigned index);

static inline uint64_t ff__counter_value(const struct ff__counter *counter,
                                         const struct ff__sim_result *result) {
    return *(const uint64_t *)(const void *)((const char *)result + counter->offset);
}

/* All that was found, but for the engine's own statistics; the caller owns it. */
json_t *ff__simulated_json(const struct ff__simulated *simulated);

/* Objects with `kernel`, `range` and `text`; the caller owns it. */
json_t *ff__findings_json(const struct ff__simulated *simulated);

/* False: it is something else. */
bool ff__simulated_read(const json_t *all, struct ff__simulated *out);

void ff__simulated_free(struct ff__simulated *simulated);

#endif
