/* Which of two ways to do the same is faster on this machine, found out by doing: of the first
 * pieces of work the even ones go one way, the odd ones the other, and each pair has a vote. What
 * takes long by chance, because the processor was taken away, has no more than that. From any
 * threads. */
#ifndef FF_BASE_FASTER_H
#define FF_BASE_FASTER_H

#include "base/clock.h"

#include <stdbool.h>

#define FF__FASTER_PAIRS 8u /* ours */

struct ff__faster {
    uint32_t begun, ended; /* pieces; atomic */
    uint32_t winner;       /* way + 1; 0: not known yet. Atomic */
    uint32_t ns[FF__FASTER_PAIRS][2];
};

struct ff__piece {
    uint32_t number, way;
    uint64_t start_ns; /* 0: it is not timed */
};

/* A piece of work begins; which way it goes. All that are timed have to be equally large; others
 * go the first way until it is known. */
static inline struct ff__piece ff__faster_begin(struct ff__faster *faster, bool timed) {
    uint32_t winner = __atomic_load_n(&faster->winner, __ATOMIC_RELAXED);
    struct ff__piece piece = {0, winner > 0 ? winner - 1 : 0, 0};
    if (winner > 0 || !timed)
        return piece;
    piece.number = __atomic_fetch_add(&faster->begun, 1, __ATOMIC_RELAXED);
    if (piece.number >= 2 * FF__FASTER_PAIRS)
        return piece;
    piece.way = piece.number % 2;
    piece.start_ns = ff__clock_ns();
    return piece;
}

static inline uint32_t ff__faster_votes(const struct ff__faster *faster) {
    uint32_t votes = 0;
    for (uint32_t pair = 0; pair < FF__FASTER_PAIRS; pair++)
        votes += faster->ns[pair][1] < faster->ns[pair][0];
    return votes;
}

/* And is done. The last one to be timed counts the votes. */
static inline void ff__faster_end(struct ff__faster *faster, const struct ff__piece *piece) {
    if (piece->start_ns == 0)
        return;
    faster->ns[piece->number / 2][piece->way] = (uint32_t)(ff__clock_ns() - piece->start_ns);
    if (__atomic_add_fetch(&faster->ended, 1, __ATOMIC_ACQ_REL) < 2 * FF__FASTER_PAIRS)
        return;
    bool second = 2 * ff__faster_votes(faster) > FF__FASTER_PAIRS;
    __atomic_store_n(&faster->winner, 1 + second, __ATOMIC_RELAXED);
}

#endif
