#include "policy/common/use_log.h"

#define SIZE_FIRST 2048u /* no more than one block has room for */
#define ROOMY      8u    /* entries a page: a larger ring is not worth its memory */
#define AHEAD      16u   /* entries: what tells whether one counts is fetched */

void ff__use_log_start(struct ff__use_log *log, void *memory, uint32_t blocks, uint32_t percent) {
    uint32_t pages = blocks * FF_BLOCK_PAGES, most = SIZE_FIRST;
    log->last = memory;
    log->pages = log->last + pages;
    while (most <= FF__USE_LOG_ENTRIES * pages / 2)
        most *= 2;
    log->most = most;
    log->size = most < SIZE_FIRST ? most : SIZE_FIRST;
    log->first = log->end = log->edge = 1;
    log->percent = percent;
}

/* Twice the ring: of the uses, which fill it, those whose place is now in its other half go there. */
static void grow(struct ff__use_log *log) {
    uint32_t size = log->size;
    for (uint32_t use = log->first; use < log->end; use++)
        if (use & size)
            log->pages[use & (2 * size - 1)] = log->pages[use & (size - 1)];
    log->size = 2 * size;
}

/* Uses that count move up to the end, and the edge along with them. */
static void squeeze(struct ff__use_log *log) {
    uint32_t mask = log->size - 1, kept = log->end, edge = log->end;
    for (uint32_t use = log->end; use-- > log->first;) {
        if (use >= log->first + AHEAD)
            __builtin_prefetch(&log->last[ff__use_log_page(log, use - AHEAD)], 1);
        uint32_t page = ff__use_log_page(log, use);
        if (log->last[page] != use)
            continue;
        log->pages[--kept & mask] = page;
        log->last[page] = kept;
        if (use >= log->edge)
            edge = kept;
    }
    log->first = kept;
    log->edge = edge;
}

/* Numbers begin anew, at the same places of the ring. */
static void renumber(struct ff__use_log *log) {
    uint32_t away = (log->first & ~(log->size - 1)) - log->size;
    for (uint32_t use = log->first; use < log->end; use++)
        if (ff__use_log_counts(log, use))
            log->last[ff__use_log_page(log, use)] -= away;
    log->first -= away;
    log->end -= away;
    log->edge = log->edge > away ? log->edge - away : 1;
}

void ff__use_log_make_room(struct ff__use_log *log, uint32_t uses) {
    while (log->end - log->first + uses > log->size)
        if (log->count > log->size / ROOMY && log->size < log->most)
            grow(log);
        else
            squeeze(log);
    if (log->end > UINT32_MAX - uses)
        renumber(log);
    log->second = 0;
}

/* A step or two, as pages come and go one at a time. */
void ff__use_log_settle(struct ff__use_log *log) {
    uint32_t wanted = (uint32_t)((uint64_t)log->count * log->percent / 100);
    if (log->edge < log->first)
        log->edge = log->first;
    for (; log->reserved < wanted; log->reserved++)
        log->edge = ff__use_log_next(log, log->edge) + 1;
    for (; log->reserved > wanted; log->reserved--)
        do
            log->edge--;
        while (!ff__use_log_counts(log, log->edge));
}
