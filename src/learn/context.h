/* Predicts what follows from what followed the same context before: ours.
 *
 * There is one table for each kind of context: the last two values of a sequence, the last eight,
 * and so on, as in TAGE and ITTAGE, predictors of branches (Seznec, Michaud, "A case for
 * (partially) tagged geometric history length branch prediction", JILP 2006; Seznec, "A 64-Kbytes
 * ITTAGE indirect branch predictor", 2011), and in VLDP, a prefetcher (Shevgoor et al., MICRO
 * 2015). Whoever asks makes the contexts; here they are hashes.
 *
 * Two things are ours. An entry counts two values, and predicts the one that followed more often:
 * with one value and a counter, as in ITTAGE, what is random in a sequence replaces what is
 * frequent. And the table that is believed is not the one with the longest context: every table has
 * a measured share of right answers for each state of an entry's counters, and the answer with the
 * best share is the prediction. The share is its confidence.
 *
 * Learning is online. Memory is bounded, nothing is allocated, and nothing is searched for: a
 * context is an index. */
#ifndef FF_LEARN_CONTEXT_H
#define FF_LEARN_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FF__CONTEXT_TABLES  8u
#define FF__CONTEXT_COUNTS  32u    /* values of a counter */
#define FF__CONTEXT_STATES  27u    /* of an entry's two counters that are told apart */
#define FF__CONTEXT_CERTAIN 65535u /* a share of 1 */

/* What followed a context. */
struct ff__context_entry {
    int32_t first, second; /* values; the first followed more often */
    uint16_t tag;
    uint8_t firsts, seconds; /* how often; none, if 0 */
};

struct ff__context {
    struct ff__context_entry *entries; /* [FF__CONTEXT_TABLES][1 << bits] */
    uint32_t bits;
    uint32_t dice;
    uint16_t right[FF__CONTEXT_TABLES][FF__CONTEXT_STATES]; /* shares of right answers */
    uint8_t asked[FF__CONTEXT_TABLES][FF__CONTEXT_STATES];  /* about how many answers that was */
    uint8_t state[FF__CONTEXT_COUNTS][FF__CONTEXT_COUNTS];  /* by firsts and seconds */
};

/* A context: a hash for each table, of all bits. */
struct ff__context_keys {
    uint32_t of[FF__CONTEXT_TABLES];
};

struct ff__context_guess {
    int32_t value;
    uint16_t right; /* the share of right answers among those of its kind */
};

/* Bytes of tables of 2^bits entries each; bits: 4 to 16. */
size_t ff__context_size(uint32_t bits);

/* `memory`: so many bytes, zero, and the caller's. */
void ff__context_start(struct ff__context *context, void *memory, uint32_t bits);

/* What will follow. False: the context is new in all tables. */
bool ff__context_look(const struct ff__context *context, const struct ff__context_keys *keys,
                      struct ff__context_guess *guess);

/* What has followed. */
void ff__context_teach(struct ff__context *context, const struct ff__context_keys *keys,
                       int32_t value);

/* ---- hashes of contexts ---- */

/* Mixes a value into a hash. */
static inline uint64_t ff__context_mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * UINT64_C(0xBF58476D1CE4E5B9);
    return hash ^ hash >> 32;
}

static inline uint32_t ff__context_key(uint64_t hash) {
    return (uint32_t)((hash * UINT64_C(0x94D049BB133111EB)) >> 32);
}

/* The last values of a sequence, for hashes of some of them. All zero: there are none yet. */
#define FF__RECENT 32u
struct ff__recent {
    uint32_t value[FF__RECENT]; /* mixed; a ring */
    uint32_t count;
};

/* folds[i] is a hash of the last lengths[i] values, 1 to FF__RECENT of them; this adds one more
 * value. Hashes that roll: each value is turned by one bit for each that came after it, so that the
 * oldest can be taken out (Cohen, "Recursive hashing functions for n-grams", 1997). */
static inline void ff__recent_add(struct ff__recent *recent, uint32_t value, uint32_t *folds,
                                  const uint8_t *lengths, uint32_t count) {
    uint32_t mixed = ff__context_key(ff__context_mix(1, value));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t oldest = recent->value[(recent->count - lengths[i]) % FF__RECENT];
        uint32_t by = lengths[i] % 32u;
        oldest = by ? oldest << by | oldest >> (32 - by) : oldest;
        folds[i] = (folds[i] << 1 | folds[i] >> 31) ^ mixed ^ oldest;
    }
    recent->value[recent->count++ % FF__RECENT] = mixed;
}

#endif
