/* Pages by last use, as a log: one entry a use, in order, of which a page's last one counts and the
 * others are void. A use writes the page's own record and the log's end, and nothing of other pages,
 * as a list does: what uses cost is what the processor has to fetch for them. Entries that are void are
 * passed over where the coldest page is looked for.
 *
 * The log is a ring. When it is full it grows, until it has many times as many entries as pages; then
 * void entries are squeezed out. A share of the cold end can be kept apart, "reserved": what lies
 * before the edge.
 *
 * Everything lies in the policy's block state, so that nothing is allocated and memory that is never
 * used costs nothing. */
#ifndef FF_POLICY_COMMON_USE_LOG_H
#define FF_POLICY_COMMON_USE_LOG_H

#include <farfault/mask.h>

#include <stddef.h>

struct ff__use_log {
    uint32_t *last;      /* [page] the number of its last use; 0: not in the order */
    uint32_t *pages;     /* [number % size] whose use it was */
    uint32_t size, most; /* entries of the ring, a power of two, and what it may grow to */
    uint32_t first, end; /* uses first to end - 1 have entries; those before are void */
    uint32_t second;     /* no use between `first` and this one counts; 0: not known */
    uint32_t count;      /* pages in the order */
    uint32_t percent;    /* of `count`, to reserve */
    uint32_t edge;       /* pages whose last use is before it are reserved, */
    uint32_t reserved;   /* so many */
};

#define FF__USE_LOG_ENTRIES 4u /* a page of the address space */
#define FF__USE_LOG_BLOCK   (FF_BLOCK_PAGES * (1 + FF__USE_LOG_ENTRIES) * sizeof(uint32_t))
#define FF__USE_LOG_PAGES   (UINT32_MAX / 2 / FF__USE_LOG_ENTRIES) /* as far as the numbers reach */

/* `memory`: FF__USE_LOG_BLOCK zeroed bytes a block. */
void ff__use_log_start(struct ff__use_log *log, void *memory, uint32_t blocks, uint32_t percent);

static inline bool ff__use_log_has(const struct ff__use_log *log, uint32_t page) {
    return log->last[page] != 0;
}

static inline uint32_t *ff__use_log_entry(const struct ff__use_log *log, uint32_t use) {
    return &log->pages[use & (log->size - 1)];
}

static inline uint32_t ff__use_log_page(const struct ff__use_log *log, uint32_t use) {
    return *ff__use_log_entry(log, use);
}

static inline bool ff__use_log_counts(const struct ff__use_log *log, uint32_t use) {
    return log->last[ff__use_log_page(log, use)] == use;
}

void ff__use_log_make_room(struct ff__use_log *log, uint32_t uses);

/* Sees to it that as many are reserved as should be. */
void ff__use_log_settle(struct ff__use_log *log);

/* Makes room for `uses` uses, at most 1024. */
static inline void ff__use_log_prepare(struct ff__use_log *log, uint32_t uses) {
    if (log->end - log->first + uses > log->size || log->end > UINT32_MAX - uses)
        ff__use_log_make_room(log, uses);
}

/* ff__use_log_touch() of a page if it is in the order, where there is room and nothing is reserved. For
 * many uses in a row: `end` is the caller's copy of the log's. No branch: a page that is not there is
 * what ends a row, and so comes as a surprise to the processor. */
static inline void ff__use_log_touch_if_present(const struct ff__use_log *log, uint32_t page,
                                                uint32_t *end) {
    bool present = log->last[page] != 0;
    *ff__use_log_entry(log, *end) = page;
    log->last[page] = present ? *end : 0;
    *end += present;
}

/* The page is now the last used one, whether it was in the order or not. */
static inline void ff__use_log_touch(struct ff__use_log *log, uint32_t page) {
    ff__use_log_prepare(log, 1);
    uint32_t before = log->last[page];
    log->reserved -= before != 0 && before < log->edge;
    log->count += before == 0;
    *ff__use_log_entry(log, log->end) = page;
    log->last[page] = log->end++;
    if (log->percent > 0)
        ff__use_log_settle(log);
}

/* Nothing if it is not there. */
static inline void ff__use_log_remove(struct ff__use_log *log, uint32_t page) {
    uint32_t before = log->last[page];
    if (before == 0)
        return;
    log->last[page] = 0;
    log->reserved -= before < log->edge;
    log->count--;
    if (log->percent > 0)
        ff__use_log_settle(log);
}

/* The first use from `use` on that counts; log->end: there is none. What tells of later ones is fetched
 * on the way: cold pages' records are far from the processor. */
#define FF__USE_LOG_AHEAD 64u
static inline uint32_t ff__use_log_next(const struct ff__use_log *log, uint32_t use) {
    while (use < log->end && !ff__use_log_counts(log, use)) {
        __builtin_prefetch(&log->last[ff__use_log_page(log, use + FF__USE_LOG_AHEAD)], 1);
        use++;
    }
    return use;
}

/* The coldest page's last use; log->end: the order is empty. */
static inline uint32_t ff__use_log_first(struct ff__use_log *log) {
    if (!ff__use_log_counts(log, log->first) && log->second != 0)
        log->first = log->second;
    log->first = ff__use_log_next(log, log->first);
    log->second = 0;
    return log->first;
}

/* The one after it, which is remembered for when the first one has gone. */
static inline uint32_t ff__use_log_second(struct ff__use_log *log) {
    log->second = ff__use_log_next(log, log->first + 1);
    return log->second;
}

#endif
