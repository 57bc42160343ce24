/* Algorithm 1 of the paper: which keys attention may leave out.
 *
 * Every token has a hash of 16 bucket numbers, one a round of angular LSH (Andoni et al. 2015, as
 * in Reformer): the one of 4 fixed directions or their opposites that it points along most. The
 * Hamming distance of two hashes is the number of rounds that differ, the hash length is 16 (the
 * paper names no number; below 10, a tenth of it would be 0).
 *
 * Each token's score is the geometric mean of its distances to a random half of the tokens (line 2
 * and 3). Far from everything (0.9 of the length or more): its query and key are erased. Close to
 * everything (0.1 or less): the first such token stays, the others share its products (lines 4 to
 * 19).
 *
 * Ours: the mean is that of distance + 1, because one equal pair would make the other a 0; a token
 * is not compared with itself; and the random half is one of slots, not of places in the window: a
 * token keeps its slot (its number in the stream, modulo the window) while the window moves over
 * it, so that its distances are computed once. */
#ifndef FF_LEARN_LSH_H
#define FF_LEARN_LSH_H

#include "learn/features.h"

#define FF__WIDTH       12u /* of a token: the paper's */
#define FF__LSH_ROUNDS  16u
#define FF__LSH_VECTORS 4u

struct ff__lsh {
    /* small whole numbers */
    _Alignas(64) float direction[FF__WIDTH][FF__LSH_VECTORS][FF__LSH_ROUNDS];
    _Alignas(64) int32_t chosen[FF__WINDOW + 2]; /* [slot] -1: one of the half, 0: not */
};

/* The one that everybody uses. */
void ff__lsh_init(struct ff__lsh *lsh);

/* Four bits a round. */
uint64_t ff__lsh_hash(const struct ff__lsh *lsh, const float key[FF__WIDTH]);

static inline uint32_t ff__lsh_distance(uint64_t a, uint64_t b) {
    uint64_t x = a ^ b;
    x |= x >> 2;
    x |= x >> 1;
    return (uint32_t)__builtin_popcountll(x & UINT64_C(0x1111111111111111));
}

/* Logarithms of distance + 1, in 256ths: a geometric mean is a mean of these. */
extern const int32_t ff__lsh_log[FF__LSH_ROUNDS + 1];

/* Bounds for sums of logarithms to `compared` tokens. */
int32_t ff__lsh_far(uint32_t compared);
int32_t ff__lsh_close(uint32_t compared);

#define FF__LSH_ERASED (-1)

/* hash[i]: of the i-th oldest token of the window whose newest is in `slot`. as[i]: the token whose
 * query and key it uses (mostly itself), or FF__LSH_ERASED. */
void ff__lsh_share(const struct ff__lsh *lsh, const uint64_t hash[FF__WINDOW], uint32_t slot,
                   int8_t as[FF__WINDOW]);

/* The slot of the i-th oldest token. */
static inline uint32_t ff__slot_of(uint32_t newest_slot, uint32_t i) {
    uint32_t slot = newest_slot + 1 + i;
    return slot >= FF__WINDOW ? slot - FF__WINDOW : slot;
}

#endif
