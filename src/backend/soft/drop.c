#include "backend/soft/drop.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Debian 12's headers are older: Linux 5.14 and 6.14. */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif
#ifndef PIDFD_SELF_THREAD_GROUP
#define PIDFD_SELF_THREAD_GROUP (-10001)
#endif

/* Moves of so many runs cost as much as the system calls, and those of a run for each so many pages
 * that are there as much as to protect these. Ours. */
#define RUNS_LEAST   4u
#define PRESENT_PART 8u

/* The bytes that it has gone through, in the order of the runs. */
static size_t advise(const struct iovec *runs, uint32_t count, int advice) {
    long done = syscall(SYS_process_madvise, PIDFD_SELF_THREAD_GROUP, runs, count, advice, 0);
    return done > 0 ? (size_t)done : 0;
}

bool ff__drop_probe(const struct ff__uffd *uffd, const char *page) {
    struct iovec run = {(char *)(uintptr_t)page, FF_PAGE_SIZE};
    return uffd->kernels_fd >= 0 && uffd->has_move && !uffd->watches &&
           advise(&run, 1, MADV_POPULATE_READ) == FF_PAGE_SIZE;
}

static char *window_of(const struct ff__soft *soft, const struct ff__move *move) {
    return soft->memory.managed + ((size_t)move->block << FF_BLOCK_SHIFT);
}

/* To protect and to open a block again costs a tenth of a microsecond for each page that is there,
 * both times; a move costs two, ten if other threads compute. */
static bool is_less(const struct ff__soft *soft, const struct ff__move *move) {
    struct ff_mask present = ff__block_present(soft->space, move->block);
    uint32_t runs = 0;
    FF_MASK_FOR_EACH_RUN(&move->left, run) {
        runs++;
    }
    return runs >= RUNS_LEAST + ff_mask_count(&present) / PRESENT_PART;
}

bool ff__drop_pays(const struct ff__soft *soft, const struct ff__move *move) {
    return soft->can_drop && !move->mapped && !move->lends &&
           ff__uffd_is_kernels(&soft->uffd, window_of(soft, move)) &&
           ff__page_tables_has(&soft->page_tables, move->block) &&
           !soft->memory.has_tail[move->block] && is_less(soft, move);
}

static uint32_t runs_of(const struct ff__soft *soft, const struct ff__move *move,
                        struct iovec runs[FF_BLOCK_PAGES / 2]) {
    uint32_t count = 0;
    FF_MASK_FOR_EACH_RUN(&move->left, run) {
        runs[count++] = (struct iovec){ff__soft_managed_at(soft, move->block, run.first),
                                       ff__soft_bytes(run.first, run.end)};
    }
    return count;
}

static bool protect(const struct ff__soft *soft, const struct ff__move *move, bool on) {
    return ff__uffd_protect(&soft->uffd, window_of(soft, move), FF_BLOCK_SIZE, on) == 0;
}

/* A page that the program has dropped after all, or may not read, would raise a signal here. */
bool ff__drop_begin(struct ff__soft *soft, const struct ff__move *move) {
    struct iovec runs[FF_BLOCK_PAGES / 2];
    uint32_t count = runs_of(soft, move, runs);
    bool begun = protect(soft, move, true) && advise(runs, count, MADV_POPULATE_READ) ==
                                                  ff_mask_count(&move->left) * FF_PAGE_SIZE;
    if (!begun)
        protect(soft, move, false);
    return begun;
}

struct ff_mask ff__drop_end(struct ff__soft *soft, const struct ff__move *move) {
    struct iovec runs[FF_BLOCK_PAGES / 2];
    uint32_t count = runs_of(soft, move, runs);
    size_t done = advise(runs, count, MADV_DONTNEED) / FF_PAGE_SIZE;
    struct ff_mask gone = {{0}};
    FF_MASK_FOR_EACH_RUN(&move->left, run) {
        size_t pages = run.end - run.first < done ? run.end - run.first : done;
        ff_mask_set_run(&gone, run.first, run.first + (uint32_t)pages);
        done -= pages;
    }
    protect(soft, move, false);
    return gone;
}
