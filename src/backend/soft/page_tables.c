#include "backend/soft/page_tables.h"

#include "base/lazy.h"
#include "base/thread.h"

#include <errno.h>
#include <sched.h>
#include <sys/mman.h>

#define SPINS 64u /* reads between which the other thread may need this one's CPU */

static size_t size_of(const struct ff__page_tables *tables) {
    return (tables->changes->memory->size >> FF_BLOCK_SHIFT) * sizeof *tables->has_table;
}

int ff__page_tables_init(struct ff__page_tables *tables, struct ff__changes *changes,
                         const struct ff__uffd *uffd) {
    tables->changes = changes;
    tables->uffd = uffd;
    tables->has_table = ff__lazy_map(size_of(tables));
    return tables->has_table ? 0 : -ENOMEM;
}

/* ---- the thread ---- */

static char *asked_for(const struct ff__page_tables *tables) {
    return __atomic_load_n(&tables->block, __ATOMIC_ACQUIRE);
}

static void *run(void *argument) {
    struct ff__page_tables *tables = argument;
    while (!__atomic_load_n(&tables->ends, __ATOMIC_ACQUIRE)) {
        if (sem_wait(&tables->asked))
            continue;
        char *block = asked_for(tables);
        if (block)
            tables->refused = madvise(block, FF_BLOCK_SIZE, MADV_DONTNEED) != 0;
        __atomic_store_n(&tables->block, NULL, __ATOMIC_RELEASE);
    }
    return NULL;
}

int ff__page_tables_start(struct ff__page_tables *tables) {
    if (!tables->uffd->sees_drops)
        return 0;
    if (sem_init(&tables->asked, 0, 0))
        return -errno;
    int status = ff__thread_start(&tables->thread, run, tables, "ff-tables");
    tables->runs = status == 0;
    if (status)
        sem_destroy(&tables->asked);
    return status;
}

static void stop(struct ff__page_tables *tables) {
    __atomic_store_n(&tables->ends, true, __ATOMIC_RELEASE);
    sem_post(&tables->asked);
    pthread_join(tables->thread, NULL);
    sem_destroy(&tables->asked);
    tables->runs = false;
}

void ff__page_tables_fini(struct ff__page_tables *tables) {
    if (tables->runs)
        stop(tables);
    if (tables->has_table)
        ff__lazy_unmap(tables->has_table, size_of(tables));
    tables->has_table = NULL;
}

/* ---- who asks ---- */

static void read_on(struct ff__page_tables *tables, uint32_t *tries) {
    ff__changes_settle(tables->changes, tables->uffd);
    if (++*tries % SPINS == 0)
        sched_yield();
}

/* One at a time. */
static void drop(struct ff__page_tables *tables, uint32_t block) {
    char *managed = tables->changes->memory->managed + ((size_t)block << FF_BLOCK_SHIFT);
    uint32_t tries = 0;
    while (__atomic_exchange_n(&tables->busy, true, __ATOMIC_ACQUIRE))
        read_on(tables, &tries);
    ff__changes_expect(tables->changes, block);
    __atomic_store_n(&tables->block, managed, __ATOMIC_RELEASE);
    sem_post(&tables->asked);
    while (asked_for(tables))
        read_on(tables, &tries);
    ff__changes_expect(tables->changes, FF_NONE);
    tables->has_table[block] = tables->refused;
    __atomic_store_n(&tables->busy, false, __ATOMIC_RELEASE);
}

void ff__page_tables_free(struct ff__page_tables *tables, uint32_t block) {
    if (!tables->runs || !tables->has_table[block])
        return;
    struct ff_mask gone = ff__changes_gone(tables->changes, block);
    if (!ff_mask_empty(&gone)) /* something else may be mapped there now */
        return;
    drop(tables, block);
}
