/* xorshift64*: small, seeded, the same on every machine. Not for secrets. */
#ifndef FF_BASE_RANDOM_H
#define FF_BASE_RANDOM_H

#include <stdint.h>

struct ff__random {
    uint64_t state;
};

static inline struct ff__random ff__random_seeded(uint64_t seed) {
    return (struct ff__random){seed * UINT64_C(0x9E3779B97F4A7C15) + 1};
}

static inline uint64_t ff__random_next(struct ff__random *r) {
    r->state ^= r->state >> 12;
    r->state ^= r->state << 25;
    r->state ^= r->state >> 27;
    return r->state * UINT64_C(0x2545F4914F6CDD1D);
}

/* 0 <= result < bound, bound > 0 */
static inline uint32_t ff__random_below(struct ff__random *r, uint32_t bound) {
    return (uint32_t)(((ff__random_next(r) >> 32) * bound) >> 32);
}

#endif
