#include "learn/train/order.h"

#include <stdlib.h>

static int by_time(const void *a, const void *b) {
    const struct ff__moment *x = a, *y = b;
    return (x->time > y->time) - (x->time < y->time);
}

struct ff__moment *ff__corpus_order(const struct ff__corpus *corpus) {
    struct ff__moment *order = malloc((corpus->count + 1) * sizeof *order);
    if (!order)
        return NULL;
    for (uint32_t s = 0; s < corpus->streams; s++)
        for (uint64_t at = corpus->first[s]; at < corpus->first[s + 1]; at++)
            order[at] = (struct ff__moment){corpus->accesses[at].time, at, s};
    qsort(order, corpus->count, sizeof *order, by_time);
    return order;
}
