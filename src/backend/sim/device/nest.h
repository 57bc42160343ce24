/* Positions in an operand of a kernel in bulk: its bytes, in the order of its nest (workload.h).
 * Pages are those of the managed address space; the arrays say where in it they begin. */
#ifndef FF_BACKEND_SIM_DEVICE_NEST_H
#define FF_BACKEND_SIM_DEVICE_NEST_H

#include "workload/workload.h"

/* Where a position of an operand is: in which run, and where in it. Positions are gone through in
 * order, so that only the first one takes divisions. */
struct cursor {
    uint64_t position, inside;
    uint64_t start;            /* of the run, in the managed space */
    uint64_t index[FF__LOOPS]; /* iterations of the loops before this one */
    int innermost;             /* loop that has more than one; 0: none */
};

/* Consecutive bytes from a position on, as pages of the managed space. */
struct piece {
    uint64_t start;      /* its first byte in the managed space */
    uint64_t first, end; /* pages */
    uint64_t bytes;
};

static inline struct piece ff__nest_piece(uint64_t start, uint64_t bytes) {
    return (struct piece){start, start / FF_PAGE_SIZE,
                          (start + bytes + FF_PAGE_SIZE - 1) / FF_PAGE_SIZE, bytes};
}

/* Bytes of the operand; from its first one to its last in the managed space. */
static inline uint64_t ff__nest_size(const struct ff__operand *operand) {
    return ff__operand_runs(operand) * operand->run;
}
uint64_t ff__nest_span(const struct ff__operand *operand);

/* Where the outer `level` loops' iteration `number` begins, in the managed space. */
uint64_t ff__nest_start(const struct ff__array *arrays, const struct ff__operand *operand,
                        int level, uint64_t number);

struct cursor ff__nest_cursor(const struct ff__array *arrays, const struct ff__operand *operand,
                              uint64_t position);

/* On to the next run. */
void ff__nest_next_run(struct cursor *cursor, const struct ff__operand *operand);

/* The next `limit` bytes, or up to the run's end. */
static inline struct piece ff__nest_piece_at(const struct cursor *cursor,
                                             const struct ff__operand *operand, uint64_t limit) {
    uint64_t left = operand->run - cursor->inside;
    return ff__nest_piece(cursor->start + cursor->inside, left < limit ? left : limit);
}

/* On to what is behind a piece. */
static inline void ff__nest_move_behind(struct cursor *cursor, const struct ff__operand *operand,
                                        const struct piece *piece) {
    cursor->position += piece->bytes;
    cursor->inside += piece->bytes;
    if (cursor->inside == operand->run)
        ff__nest_next_run(cursor, operand);
}

#endif
