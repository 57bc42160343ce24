/* Threads that touch memory, and how long that takes them. */
#ifndef FF_BENCH_TOUCH_H
#define FF_BENCH_TOUCH_H

#include <stddef.h>

#define TOUCHERS_MAX 4u

/* `count` ranges of `range_size` bytes each, of which a byte every `unit` bytes is read. */
struct touching {
    char *const *ranges;
    size_t range_size, count, unit;
};

/* Seconds until `threads` have read them all, each one part of the memory, in the order of
 * addresses. One thread is the calling one. */
double touch_seconds(const struct touching *touching, unsigned threads);

#endif
