/* Predicts the pages of a stream of accesses (corpus.h) from tables of contexts (context.h): ours.
 *
 * What is predicted is what the networks predict: the array and the page's distance from where the
 * stream was in it, as one value (ff__trail_delta()). The contexts are of the code that runs with
 *   - the last 2, 8, 16 and 30 tokens, each a value and a PC;
 *   - the PCs of the last 16, or 30, and the last 8, or 16, distances in the array that will be
 *     accessed: other arrays that a
 *     program walks over at another speed do not disturb these. Which array that will be is itself
 *     predicted, from the PCs;
 *   - the last 2, or 8, tokens and the page.
 * Measured on streams of the paper's programs: docs/results/context.md. */
#ifndef FF_LEARN_TRAIN_PAGE_CONTEXT_H
#define FF_LEARN_TRAIN_PAGE_CONTEXT_H

#include "learn/context.h"
#include "learn/features.h"

#define FF__PAGE_TOKEN_FOLDS 4u
#define FF__PAGE_CODE_FOLDS  2u
#define FF__PAGE_ARRAY_BITS  12u

/* Where a stream is. All zero: at its beginning. */
struct ff__page_history {
    struct ff__recent tokens, codes;
    uint32_t token_fold[FF__PAGE_TOKEN_FOLDS], code_fold[FF__PAGE_CODE_FOLDS];
    struct ff__trail trail;
    uint64_t distances[FF__ARRAYS]; /* the last 16 in the array, 4 bits of a hash each */
};

struct ff__page_keys {
    struct ff__context_keys context;
    uint32_t array;
};

/* The array that was accessed after the same PCs. */
struct ff__page_array {
    uint16_t tag;
    uint8_t array, count;
};

struct ff__page_context {
    struct ff__context tables;
    struct ff__page_array arrays[1u << FF__PAGE_ARRAY_BITS];
};

/* `memory`: ff__context_size(bits) bytes, zero, and the caller's. */
void ff__page_context_start(struct ff__page_context *context, void *memory, uint32_t bits);

/* One more access of the stream. */
void ff__page_history_add(struct ff__page_history *history, const struct ff__access *access);

/* The context after this access, the latest one. */
struct ff__page_keys ff__page_context_keys(const struct ff__page_context *context,
                                           const struct ff__page_history *history,
                                           const struct ff__access *access);

/* The value that is predicted there. False: none. */
bool ff__page_context_look(const struct ff__page_context *context, const struct ff__page_keys *keys,
                           struct ff__context_guess *guess);

/* The value that has come. One that does not fit in 32 bits, a distance of 2^25 pages and more, is
 * not learned. */
void ff__page_context_teach(struct ff__page_context *context, const struct ff__page_keys *keys,
                            int64_t value);

#endif
