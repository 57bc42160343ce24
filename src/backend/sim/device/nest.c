#include "backend/sim/device/nest.h"

uint64_t ff__nest_span(const struct ff__operand *operand) {
    uint64_t span = operand->run;
    for (int i = 0; i < FF__LOOPS; i++)
        span += (operand->loop[i].count - 1) * operand->loop[i].stride;
    return span;
}

uint64_t ff__nest_start(const struct ff__array *arrays, const struct ff__operand *operand,
                        int level, uint64_t number) {
    uint64_t start = arrays[operand->array].first_page * FF_PAGE_SIZE + operand->offset;
    for (int i = level - 1; i > 0; i--) {
        const struct ff__loop *loop = &operand->loop[i];
        if (loop->count == 1) /* most are: no division */
            continue;
        start += number % loop->count * loop->stride;
        number /= loop->count;
    }
    return start + number * operand->loop[0].stride;
}

struct cursor ff__nest_cursor(const struct ff__array *arrays, const struct ff__operand *operand,
                              uint64_t position) {
    struct cursor cursor = {.position = position};
    uint64_t run = position / operand->run;
    cursor.inside = position - run * operand->run;
    cursor.start = ff__nest_start(arrays, operand, FF__LOOPS, run);
    for (int i = FF__LOOPS - 1; i > 0; i--) {
        uint64_t count = operand->loop[i].count;
        if (count == 1)
            continue;
        cursor.innermost = cursor.innermost ? cursor.innermost : i;
        cursor.index[i] = run % count;
        run = run / count;
    }
    cursor.index[0] = run;
    return cursor;
}

void ff__nest_next_run(struct cursor *cursor, const struct ff__operand *operand) {
    cursor->inside = 0;
    for (int i = cursor->innermost; i >= 0; i--) {
        const struct ff__loop *loop = &operand->loop[i];
        cursor->start += loop->stride;
        if (++cursor->index[i] < loop->count || i == 0)
            return;
        cursor->start -= loop->count * loop->stride;
        cursor->index[i] = 0;
    }
}
