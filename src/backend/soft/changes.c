#include "backend/soft/changes.h"

#include "backend/soft/area.h"
#include "base/clock.h"
#include "base/lazy.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#define SPINS      1000u       /* ours: some 50 us */
#define SETTLED_NS 1000000000u /* ours: a drop that is told of has been carried out by then */

/* ---- making and unmaking ---- */

static uint64_t block_count(const struct ff__changes *changes) {
    return changes->memory->size >> FF_BLOCK_SHIFT;
}

int ff__changes_init(struct ff__changes *changes, struct ff__memory *memory, struct ff__host *host,
                     struct ff__log log) {
    changes->memory = memory;
    changes->host = host;
    changes->log = log;
    changes->expected = FF_NONE;
    pthread_rwlock_init(&changes->reading, NULL);
    uint64_t blocks = block_count(changes);
    changes->dropped = ff__lazy_map(blocks * sizeof *changes->dropped);
    changes->dropped_ns = ff__lazy_map(blocks * sizeof *changes->dropped_ns);
    changes->gone = ff__lazy_map(blocks * sizeof *changes->gone);
    return changes->dropped && changes->dropped_ns && changes->gone ? 0 : -ENOMEM;
}

void ff__changes_fini(struct ff__changes *changes) {
    if (!changes->memory)
        return;
    uint64_t blocks = block_count(changes);
    ff__lazy_unmap(changes->dropped, blocks * sizeof *changes->dropped);
    ff__lazy_unmap(changes->dropped_ns, blocks * sizeof *changes->dropped_ns);
    ff__lazy_unmap(changes->gone, blocks * sizeof *changes->gone);
    pthread_rwlock_destroy(&changes->reading);
    changes->memory = NULL;
}

static bool is_quiet(const struct ff__changes *changes) {
    return __atomic_load_n(&changes->count, __ATOMIC_ACQUIRE) == 0;
}

/* Messages are read, and pages arrive, within microseconds: to sleep would take longer. If it
 * lasts, the thread that is waited for has lost its CPU, and may get this one's. To yield at once
 * would cost a time slice whenever a program computes on the same CPU. */
static void wait_a_little(uint32_t *tries) {
    if (++*tries % SPINS == 0)
        sched_yield();
    else
        ff__cpu_relax();
}

static void hold_messages_off(struct ff__changes *changes) {
    uint32_t tries = 0;
    while (pthread_rwlock_tryrdlock(&changes->reading))
        wait_a_little(&tries);
}

static void hold_arrivals_off(struct ff__changes *changes) {
    uint32_t tries = 0;
    while (pthread_rwlock_trywrlock(&changes->reading))
        wait_a_little(&tries);
}

/* ---- what messages say; messages are being read ---- */

/* Calls for each block that [start, end) of the managed area touches, with the pages it touches. */
typedef void (*change_fn)(struct ff__changes *changes, uint32_t block, const struct ff_mask *pages);

static void for_each_block(struct ff__changes *changes, uint64_t start, uint64_t end,
                           change_fn change) {
    uint64_t base = (uintptr_t)changes->memory->managed, size = changes->memory->size;
    if (end <= base || start >= base + size)
        return;
    uint64_t first = (start > base ? start - base : 0) >> FF_PAGE_SHIFT;
    uint64_t last = ((end < base + size ? end - base : size) + FF_PAGE_SIZE - 1) >> FF_PAGE_SHIFT;
    while (first < last) {
        uint64_t block = first / FF_BLOCK_PAGES, next = (block + 1) * FF_BLOCK_PAGES;
        uint64_t to = next < last ? next : last;
        struct ff_mask pages = ff_mask_of_run((uint32_t)(first - block * FF_BLOCK_PAGES),
                                              (uint32_t)(to - block * FF_BLOCK_PAGES));
        change(changes, (uint32_t)block, &pages);
        first = to;
    }
}

static void drop(struct ff__changes *changes, uint32_t block, const struct ff_mask *pages) {
    changes->dropped[block] = ff_mask_or(&changes->dropped[block], pages);
    changes->dropped_ns[block] = ff__clock_ns();
    ff__host_zero(changes->host, block, pages);
}

static void lose(struct ff__changes *changes, uint32_t block, const struct ff_mask *pages) {
    changes->gone[block] = ff_mask_or(&changes->gone[block], pages);
}

/* Messages that have been read are dealt with first: the threads that wait for them go on as soon
 * as they are read. */
void ff__changes_expect_drop(struct ff__changes *changes, uint32_t block) {
    hold_arrivals_off(changes);
    changes->expected = block;
    ff_mask_clear(&changes->expected_seen);
    pthread_rwlock_unlock(&changes->reading);
}

void ff__changes_expect_unmap(struct ff__changes *changes, const char *area, size_t size) {
    hold_arrivals_off(changes);
    changes->replaced_start = (uintptr_t)area;
    changes->replaced_end = (uintptr_t)area + size;
    pthread_rwlock_unlock(&changes->reading);
}

/* The kernel tells of a drop once for each mapping that it concerns. What it tells of twice, the
 * program has dropped as well. */
static void drop_unexpected(struct ff__changes *changes, uint32_t block,
                            const struct ff_mask *pages) {
    struct ff_mask twice = ff_mask_and(&changes->expected_seen, pages);
    changes->expected_seen = ff_mask_or(&changes->expected_seen, pages);
    if (ff_mask_empty(&twice))
        return;
    drop(changes, block, &twice);
    __atomic_fetch_add(&changes->count, 1, __ATOMIC_RELEASE);
}

static bool is_expected(const struct ff__changes *changes, const struct ff__uffd_message *message) {
    uint64_t start =
        (uintptr_t)changes->memory->managed + ((uint64_t)changes->expected << FF_BLOCK_SHIFT);
    return changes->expected != FF_NONE && message->kind == FF__UFFD_DROP &&
           message->start >= start && message->end <= start + FF_BLOCK_SIZE;
}

/* The device's own memory takes the place of other of its own (ff__uffd_change_kernels): what comes
 * from elsewhere, and what was there. */
static bool is_replacement(const struct ff__changes *changes,
                           const struct ff__uffd_message *message) {
    uint64_t offset = message->start - (uintptr_t)changes->memory->managed;
    if (message->kind == FF__UFFD_UNMAP)
        return message->start >= changes->replaced_start && message->end <= changes->replaced_end;
    return message->kind == FF__UFFD_REMAP && offset >= changes->memory->size;
}

/* False: it is a fault. */
static bool apply(struct ff__changes *changes, const struct ff__uffd_message *message) {
    if (message->kind == FF__UFFD_FAULT)
        return false;
    if (is_replacement(changes, message))
        return true;
    if (is_expected(changes, message)) {
        for_each_block(changes, message->start, message->end, drop_unexpected);
        return true;
    }
    for_each_block(changes, message->start, message->end,
                   message->kind == FF__UFFD_DROP ? drop : lose);
    __atomic_fetch_add(&changes->count, 1, __ATOMIC_RELEASE);
    if (message->kind == FF__UFFD_REMAP)
        ff__log_line(&changes->log, FF_LOG_WARNING,
                     "the program has moved managed memory (mremap): what of it is not on a device "
                     "is lost; allocate anew and copy instead");
    return true;
}

static uint32_t take_backlog(struct ff__changes *changes, struct ff__fault *faults,
                             uint32_t capacity) {
    uint32_t count = changes->backlog_count < capacity ? changes->backlog_count : capacity;
    uint32_t rest = changes->backlog_count - count;
    memcpy(faults, changes->backlog + rest, count * sizeof *faults);
    __atomic_store_n(&changes->backlog_count, rest, __ATOMIC_RELAXED);
    return count;
}

/* Reads up to `capacity` messages; the number of faults among them. */
static int read_some(struct ff__changes *changes, const struct ff__uffd *uffd,
                     struct ff__fault *faults, uint32_t capacity) {
    struct ff__uffd_message messages[FF__UFFD_MESSAGES];
    uint32_t limit = capacity < FF__UFFD_MESSAGES ? capacity : FF__UFFD_MESSAGES;
    int count = limit > 0 ? ff__uffd_read(uffd, messages, limit) : 0, fault_count = 0;
    for (int i = 0; i < count; i++)
        if (!apply(changes, &messages[i]))
            faults[fault_count++] = messages[i].fault;
    return count < 0 ? count : fault_count;
}

int ff__changes_read(struct ff__changes *changes, const struct ff__uffd *uffd,
                     struct ff__fault *faults, uint32_t capacity) {
    hold_arrivals_off(changes);
    int count = changes->backlog_count > 0 ? (int)take_backlog(changes, faults, capacity)
                                           : read_some(changes, uffd, faults, capacity);
    pthread_rwlock_unlock(&changes->reading);
    return count;
}

static void read_kernels(struct ff__changes *changes, const struct ff__uffd *uffd) {
    struct ff__uffd_message messages[FF__UFFD_MESSAGES];
    int count = ff__uffd_read_kernels(uffd, messages, FF__UFFD_MESSAGES);
    for (int i = 0; i < count; i++)
        apply(changes, &messages[i]);
}

void ff__changes_read_kernels(struct ff__changes *changes, const struct ff__uffd *uffd) {
    hold_arrivals_off(changes);
    read_kernels(changes, uffd);
    pthread_rwlock_unlock(&changes->reading);
}

void ff__changes_settle(struct ff__changes *changes, const struct ff__uffd *uffd) {
    if (pthread_rwlock_trywrlock(&changes->reading))
        return;
    uint32_t used = changes->backlog_count;
    int count = read_some(changes, uffd, changes->backlog + used, FF__BACKLOG_MAX - used);
    if (count > 0)
        __atomic_store_n(&changes->backlog_count, used + (uint32_t)count, __ATOMIC_RELAXED);
    read_kernels(changes, uffd);
    pthread_rwlock_unlock(&changes->reading);
}

/* ---- pages on their way ---- */

struct ff_mask ff__changes_begin_in(struct ff__changes *changes, uint32_t block,
                                    const struct ff_mask *pages) {
    if (is_quiet(changes))
        return (struct ff_mask){{0}};
    hold_arrivals_off(changes);
    struct ff_mask dropped = ff_mask_and(&changes->dropped[block], pages);
    changes->dropped[block] = ff_mask_minus(&changes->dropped[block], pages);
    pthread_rwlock_unlock(&changes->reading);
    return dropped;
}

struct ff_mask ff__changes_begin_arrival(struct ff__changes *changes, uint32_t block) {
    hold_messages_off(changes);
    return is_quiet(changes) ? (struct ff_mask){{0}} : changes->dropped[block];
}

void ff__changes_end_arrival(struct ff__changes *changes) {
    pthread_rwlock_unlock(&changes->reading);
}

struct ff_mask ff__changes_unsettled(struct ff__changes *changes, uint32_t block) {
    struct ff_mask pages = {{0}};
    if (is_quiet(changes))
        return pages;
    hold_arrivals_off(changes);
    if (ff__clock_ns() > changes->dropped_ns[block] + SETTLED_NS)
        ff_mask_clear(&changes->dropped[block]);
    pages = changes->dropped[block];
    pthread_rwlock_unlock(&changes->reading);
    return pages;
}

void ff__changes_end_out(struct ff__changes *changes, uint32_t block, const struct ff_mask *pages) {
    if (is_quiet(changes))
        return;
    hold_arrivals_off(changes);
    struct ff_mask late = ff_mask_and(&changes->dropped[block], pages);
    if (!ff_mask_empty(&late))
        ff__host_zero(changes->host, block, &late);
    changes->dropped[block] = ff_mask_minus(&changes->dropped[block], pages);
    pthread_rwlock_unlock(&changes->reading);
}

void ff__changes_filled(struct ff__changes *changes, uint32_t block, uint32_t page) {
    struct ff_mask pages = ff_mask_of_page(page);
    ff__changes_begin_in(changes, block, &pages);
}

/* ---- unmapped memory ---- */

/* The program goes on as soon as its call has been read, so a thread that asks on its behalf waits
 * until that has been dealt with, too. */
struct ff_mask ff__changes_gone(struct ff__changes *changes, uint32_t block) {
    hold_messages_off(changes);
    struct ff_mask pages = is_quiet(changes) ? (struct ff_mask){{0}} : changes->gone[block];
    pthread_rwlock_unlock(&changes->reading);
    return pages;
}

static char *managed_at(const struct ff__changes *changes, uint64_t block, uint32_t page) {
    return changes->memory->managed + (block << FF_BLOCK_SHIFT) + (size_t)page * FF_PAGE_SIZE;
}

bool ff__changes_restore(struct ff__changes *changes, const struct ff__uffd *uffd, uint32_t block) {
    struct ff_mask gone = ff__changes_gone(changes, block);
    FF_MASK_FOR_EACH_RUN(&gone, run) {
        size_t size = (size_t)(run.end - run.first) * FF_PAGE_SIZE;
        char *place = managed_at(changes, block, run.first);
        if (!ff__area_reserve_at(place, size))
            return false;
        if (ff__uffd_register(uffd, place, size)) {
            munmap(place, size);
            return false;
        }
        struct ff_mask back = ff_mask_of_run(run.first, run.end);
        changes->gone[block] = ff_mask_minus(&changes->gone[block], &back);
    }
    return true;
}

void ff__changes_unmap_rest(struct ff__changes *changes) {
    struct ff__memory *memory = changes->memory;
    if (!memory || !memory->managed || is_quiet(changes))
        return;
    for (uint64_t block = 0; block < block_count(changes); block++) {
        struct ff_mask whole = ff_mask_of_run(0, FF_BLOCK_PAGES);
        struct ff_mask ours = ff_mask_minus(&whole, &changes->gone[block]);
        FF_MASK_FOR_EACH_RUN(&ours, run) {
            munmap(managed_at(changes, block, run.first),
                   (size_t)(run.end - run.first) * FF_PAGE_SIZE);
        }
    }
    memory->managed = NULL;
}
