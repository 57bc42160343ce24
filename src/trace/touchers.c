#include "trace/touchers.h"

#include <time.h>

/* Linux's clock of the CPU time of any thread of the process (include/linux/posix-timers_types.h:
 * the number's complement, one bit that says "a thread's", and the clock CPUCLOCK_SCHED). */
static clockid_t clock_of(int32_t thread) {
    return (clockid_t)(~(uint32_t)thread << 3 | 6u);
}

/* False: the thread has ended. */
static bool read_clock(int32_t thread, uint64_t *ns) {
    struct timespec t;
    if (clock_gettime(clock_of(thread), &t))
        return false;
    *ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    return true;
}

/* CPU time since it was last asked about. */
static uint64_t take(struct ff__toucher *toucher) {
    uint64_t now, before = toucher->cpu_ns;
    toucher->touched = false;
    if (!read_clock(toucher->thread, &now))
        return 0;
    toucher->cpu_ns = now;
    return now > before ? now - before
                        : 0; /* a new thread may have the number of one that has ended */
}

static uint32_t narrow(uint64_t ns) {
    return ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

static uint32_t find(struct ff__touchers *touchers, int32_t thread) {
    for (uint32_t i = 0; i < touchers->count; i++)
        if (touchers->of[i].thread == thread)
            return i;
    if (touchers->count == FF__TOUCHERS_MAX)
        return FF__TOUCHERS_MAX - 1;
    struct ff__toucher *made = &touchers->of[touchers->count];
    *made = (struct ff__toucher){.thread = thread};
    take(made); /* what it has done before is not known to belong to what is recorded */
    return touchers->count++;
}

uint32_t ff__touchers_touch(struct ff__touchers *touchers, int32_t thread, uint32_t *work_ns) {
    uint32_t number = find(touchers, thread);
    struct ff__toucher *toucher = &touchers->of[number];
    bool follows =
        toucher->touched; /* else a part of what the fault has cost was asked about before */
    uint64_t ns = take(toucher);
    if (follows && ns > 0 && (touchers->cost_ns == 0 || ns < touchers->cost_ns))
        touchers->cost_ns = ns;
    toucher->touched = true;
    toucher->computes = toucher->computes || touchers->launches > 0;
    *work_ns = ns > touchers->cost_ns ? narrow(ns - touchers->cost_ns) : 1;
    return number;
}

void ff__touchers_begin(struct ff__touchers *touchers) {
    touchers->launches++;
    for (uint32_t i = 0; i < touchers->count; i++)
        take(&touchers->of[i]);
}

void ff__touchers_end(struct ff__touchers *touchers) {
    touchers->launches -= touchers->launches > 0;
}

uint32_t ff__touchers_rest(struct ff__touchers *touchers, uint32_t number) {
    uint64_t ns = touchers->of[number].computes ? take(&touchers->of[number]) : 0;
    return ns > touchers->cost_ns ? narrow(ns - touchers->cost_ns) : 0;
}
