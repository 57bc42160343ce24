#include "backend/soft/link.h"

#include "base/clock.h"

#define SLEEP_SLACK_NS 80000u   /* a sleep wakes this much late on a busy machine */
#define SLICE_NS       5000000u /* how often a sleeping thread looks whether it has been aborted */

uint64_t ff__link_reserve(struct ff__link *link, uint64_t now_ns, uint64_t bytes) {
    if (link->speed.bytes_per_second <= 0 || bytes == 0)
        return now_ns;
    uint64_t duration = (uint64_t)((double)bytes / link->speed.bytes_per_second * 1e9);
    uint64_t *busy = &link->busy_until;
    uint64_t before = __atomic_load_n(busy, __ATOMIC_RELAXED), after;
    do
        after = (before > now_ns ? before : now_ns) + duration;
    while (!__atomic_compare_exchange_n(busy, &before, after, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED));
    return after + link->speed.latency_ns; /* latency overlaps with the next transfer */
}

static bool is_aborted(const bool *aborted) {
    return __atomic_load_n(aborted, __ATOMIC_RELAXED);
}

bool ff__link_wait(uint64_t until_ns, const bool *aborted) {
    uint64_t now = ff__clock_ns();
    while (until_ns > now + SLEEP_SLACK_NS && !is_aborted(aborted)) {
        uint64_t left = until_ns - SLEEP_SLACK_NS - now;
        ff__clock_sleep(left < SLICE_NS ? left : SLICE_NS);
        now = ff__clock_ns();
    }
    while (ff__clock_ns() < until_ns && !is_aborted(aborted))
        ff__cpu_relax();
    return !is_aborted(aborted);
}
