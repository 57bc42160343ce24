/* Numbers for the values of one feature: the most frequent ones get a number each, the others share
 * the escape number (the paper labels every delta there is, section 4; a vocabulary that ends, and
 * an escape, are ours). */
#ifndef FF_LEARN_VOCAB_H
#define FF_LEARN_VOCAB_H

#include "base/map.h"

#include <stdint.h>

#define FF__ESCAPE 0u

struct ff__vocab {
    uint32_t size;     /* numbers there are, with the escape */
    int64_t *value;    /* [size]; value[FF__ESCAPE] means nothing */
    uint64_t *count;   /* [size]; how often each was seen */
    struct ff__map of; /* value -> number */
    uint32_t capacity;
};

void ff__vocab_fini(struct ff__vocab *vocab);

/* Counts one value. 0 or -ENOMEM. */
int ff__vocab_count(struct ff__vocab *vocab, int64_t value);

/* After counting: keeps the `limit` - 1 most frequent values that were seen at least `least` times.
 * 0 or -ENOMEM. */
int ff__vocab_close(struct ff__vocab *vocab, uint32_t limit, uint64_t least);

/* Makes a closed vocabulary of values that are known, value[0] being the escape's. 0 or -ENOMEM. */
int ff__vocab_of(struct ff__vocab *vocab, const int64_t *value, uint32_t size);

static inline uint32_t ff__vocab_number(const struct ff__vocab *vocab, int64_t value) {
    uint32_t number = FF__ESCAPE;
    ff__map_get(&vocab->of, (uint64_t)value, &number);
    return number;
}

#endif
