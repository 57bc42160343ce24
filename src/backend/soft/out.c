/* The way out: moved away from under the program (MOVE), or protected, copied and dropped (COPY;
 * with MOVE, pages of what kernels alone use). */
#include "backend/soft/drop.h"
#include "backend/soft/guests.h"

#include "base/clock.h"
#include "base/descriptors.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

/* Copies to the host what changed of these pages; `from` is the block's first page, wherever it is
 * now. */
static struct ff_mask write_back(struct ff__soft *soft, const struct ff__move *move,
                                 const struct ff_mask *pages, const char *from, uint64_t *end_ns) {
    struct ff_mask live = ff_mask_minus(pages, &move->dead);
    uint64_t start = ff__clock_ns();
    char *to = ff__host_to_write(&soft->host, move->block, &live);
    struct ff_mask copied =
        ff__copy_changed(to, from, &live, &move->held, soft->host.sums[move->block]);
    ff__changes_end_out(&soft->changes, move->block, pages);
    uint64_t end = ff__soft_link_end(soft, &move->from, &move->to, &copied, start);
    *end_ns = end > *end_ns ? end : *end_ns;
    return copied;
}

/* Copies the pages to where they go; returns those that the host has got. */
static struct ff_mask deliver(struct ff__soft *soft, struct ff__move *move,
                              const struct ff_mask *pages, const char *from, uint64_t *end_ns) {
    if (!move->lends)
        return write_back(soft, move, pages, from, end_ns);
    return ff__guests_put(soft, move, pages, from, end_ns);
}

/* Which pages of the run are there. Drops are not told of without MOVE, and a thread that reads
 * what is absent would wait for itself. */
static struct ff_mask present_in(const struct ff__soft *soft, uint32_t block, struct ff_run run) {
    uint64_t entries[FF_BLOCK_PAGES];
    struct ff_mask present = {{0}};
    uint64_t first = (uintptr_t)ff__soft_managed_at(soft, block, run.first) / FF_PAGE_SIZE;
    ssize_t size =
        ff__descriptor_read_at(soft->pagemap_fd, entries, (run.end - run.first) * sizeof entries[0],
                               (off_t)(first * sizeof entries[0]));
    for (uint32_t i = 0; i < run.end - run.first; i++)
        if (size < (ssize_t)((i + 1) * sizeof entries[0]) || entries[i] >> 62)
            ff_mask_set(&present, run.first + i);
    return present;
}

/* Moves a run to the staging area, as far as it goes: *there gets the pages that moved, *left loses
 * those and what the program has dropped. */
static int move_run_out(struct ff__soft *soft, const struct ff__move *move, struct ff_run run,
                        struct ff_mask *there, struct ff_mask *left) {
    uint32_t at = run.first, tries = 0;
    while (at < run.end) {
        size_t moved;
        int status = ff__uffd_move_out(&soft->uffd, ff__soft_staging_at(soft, move, at),
                                       ff__soft_managed_at(soft, move->block, at),
                                       ff__soft_bytes(at, run.end), &moved);
        uint32_t end = at + (uint32_t)(moved / FF_PAGE_SIZE);
        ff_mask_set_run(there, at, end);
        if (status == -ENOENT &&
            !ff__soft_is_there(soft, ff__soft_managed_at(soft, move->block, end)))
            end++;
        else if (status == -ENOENT)
            status = -EAGAIN;
        if (status == -EEXIST && move->mapped) {
            ff__soft_give_back(soft, ff__soft_staging_at(soft, move, end), FF_PAGE_SIZE);
            status = -EAGAIN;
        }
        struct ff_mask gone = ff_mask_of_run(at, end);
        *left = ff_mask_minus(left, &gone);
        tries = end > at ? 0 : tries + 1;
        at = end;
        if (status && status != -ENOENT && !ff__soft_is_worth_another(soft, status, tries))
            return status;
    }
    return 0;
}

/* What is pinned in a freed range is let go of: what has pinned it keeps it for itself. Its content
 * is dead. Nothing is told of the drop, as no thread might be there to read of it. */
static void let_go(struct ff__soft *soft, struct ff__move *move) {
    FF_MASK_FOR_EACH_RUN(&move->left, run) {
        char *area = ff__soft_managed_at(soft, move->block, run.first);
        size_t size = ff__soft_bytes(run.first, run.end);
        ff__uffd_unregister(&soft->uffd, area, size);
        ff__soft_give_back(soft, area, size);
        ff__uffd_register(&soft->uffd, area, size);
    }
    ff_mask_clear(&move->left);
}

/* A chunk that left as one huge page, and is part of the device's memory, waits for the next block.
 * Anything else is the kernel's again: small pages would stay small, and so would what moves to
 * where they are (soft/page_tables.h). */
static void clear_staging(struct ff__soft *soft, const struct ff__move *move,
                          const struct ff_mask *there) {
    bool is_huge = !ff__frame_is_split(move->from.frame) &&
                   ff_mask_count(there) == FF_BLOCK_PAGES &&
                   !ff__page_tables_has(&soft->page_tables, move->block);
    if (is_huge && (uint64_t)ff__soft_chunk(move) * FF_BLOCK_SIZE < soft->memory.device_size) {
        *ff__soft_ready(soft, move) = FF__SOFT_ALL_LEAVES;
        return;
    }
    uint32_t first = ff_mask_next(there, 0), end = first;
    FF_MASK_FOR_EACH_RUN(there, run) {
        end = run.end;
    }
    if (end > first) /* in one call: nothing lies between them */
        ff__soft_give_back(soft, ff__soft_staging_at(soft, move, first),
                           ff__soft_bytes(first, end));
}

/* Moves what is left of the block to the staging area, and its tail with it. *all gets the pages
 * that moved; those of the block itself are returned. */
static struct ff_mask stage(struct ff__soft *soft, struct ff__move *move, struct ff_mask *all,
                            int *status) {
    bool *has_tail = &soft->memory.has_tail[move->block];
    struct ff_mask tail = *has_tail ? ff__soft_tail(soft, move->block) : (struct ff_mask){{0}};
    struct ff_mask left = ff_mask_or(&move->left, &tail), going = left;
    FF_MASK_FOR_EACH_RUN(&going, run) {
        int ended = move_run_out(soft, move, run, all, &left);
        *status = ended ? ended : *status;
    }
    move->left = ff_mask_minus(&left, &tail);
    left = ff_mask_and(&left, &tail);
    *has_tail = !ff_mask_empty(&left);
    return ff_mask_minus(all, &tail);
}

static int out_moved(struct ff__soft *soft, struct ff__move *move, uint64_t *end_ns) {
    struct ff_mask all = {{0}}, going = move->left;
    int status = 0;
    struct ff_mask there = stage(soft, move, &all, &status);
    struct ff_mask copied = deliver(soft, move, &there, ff__soft_staging_at(soft, move, 0), end_ns);
    move->copied = ff_mask_or(&move->copied, &copied);
    struct ff_mask lost = ff_mask_minus(&going, &move->left);
    lost = ff_mask_minus(&lost, &there);
    if (move->lends)
        ff__guests_lose(soft, move, &lost);
    clear_staging(soft, move, &all);
    return status == -EINVAL ? -EBUSY : status; /* not alike: protected by the program */
}

static void out_dropped(struct ff__soft *soft, struct ff__move *move, uint64_t *end_ns) {
    if (!ff__drop_pays(soft, move) || !ff__drop_begin(soft, move))
        return;
    struct ff_mask copied =
        write_back(soft, move, &move->left, ff__soft_managed_at(soft, move->block, 0), end_ns);
    struct ff_mask gone = ff__drop_end(soft, move);
    copied = ff_mask_and(&copied, &gone);
    move->copied = ff_mask_or(&move->copied, &copied);
    move->left = ff_mask_minus(&move->left, &gone);
}

/* The host's sums are those of what the pages held before they were mapped. */
static void forget_sums(struct ff__soft *soft, const struct ff__move *move) {
    ff__changes_begin_arrival(&soft->changes, move->block); /* a drop forgets them, too */
    FF_MASK_FOR_EACH_RUN(&move->left, run) {
        memset(&soft->host.sums[move->block][run.first], 0,
               (run.end - run.first) * sizeof(struct ff__sum));
    }
    ff__changes_end_arrival(&soft->changes);
}

/* What is only mapped goes back to its place on the host, where there is nothing but what a read of
 * a dropped page may have left. */
static int out_mapped(struct ff__soft *soft, struct ff__move *move) {
    struct ff_mask going = move->left, there = {{0}};
    int status = 0;
    forget_sums(soft, move);
    FF_MASK_FOR_EACH_RUN(&going, run) {
        int ended = move_run_out(soft, move, run, &there, &move->left);
        status = ended ? ended : status;
    }
    struct ff_mask gone = ff_mask_minus(&going, &move->left);
    ff__changes_end_out(&soft->changes, move->block, &gone);
    return status == -EINVAL ? -EBUSY : status;
}

/* Whether all pages that are there can be read: -EBUSY if the program has protected some, where a
 * thread that tries to would get its signal; or why that cannot be told. */
static int check_readable(const struct ff__soft *soft, uint32_t block,
                          const struct ff_mask *pages) {
    struct iovec from[FF_BLOCK_PAGES], to;
    char bytes[FF_BLOCK_PAGES];
    uint32_t count = 0;
    FF_MASK_FOR_EACH_PAGE(pages, page) {
        from[count++] = (struct iovec){ff__soft_managed_at(soft, block, page), 1};
    }
    to = (struct iovec){bytes, count};
    ssize_t got = process_vm_readv(getpid(), &to, 1, from, count, 0);
    if (got < 0 && ff__soft_is_forbidden(-errno))
        return -errno;
    return got == (ssize_t)count ? 0 : -EBUSY;
}

static int drop_run(struct ff__soft *soft, char *area, size_t size) {
    if (madvise(area, size, MADV_DONTNEED) == 0)
        return 0;
    ff__soft_unlock_memory(soft);
    return madvise(area, size, MADV_DONTNEED) ? -errno : 0;
}

static int protect_run_out(struct ff__soft *soft, struct ff__move *move, struct ff_run run,
                           uint64_t *end_ns) {
    char *area = ff__soft_managed_at(soft, move->block, run.first);
    size_t size = ff__soft_bytes(run.first, run.end);
    struct ff_mask gone = ff_mask_of_run(run.first, run.end), back = {{0}}, kept = gone;
    int status = ff__uffd_protect(&soft->uffd, area, size, true);
    struct ff_mask there = present_in(soft, move->block, run);
    if (status == 0)
        status = check_readable(soft, move->block, &there);
    if (status == 0) {
        back = deliver(soft, move, &there, ff__soft_managed_at(soft, move->block, 0), end_ns);
        status = drop_run(soft, area, size);
        kept = status ? present_in(soft, move->block, run) : (struct ff_mask){{0}};
    }
    if (status)
        ff__uffd_protect(&soft->uffd, area, size, false);
    ff__uffd_wake(&soft->uffd, area, size); /* writers that waited now fault on absent pages */
    gone = ff_mask_minus(&gone, &kept);
    back = ff_mask_and(&back, &gone);
    move->left = ff_mask_minus(&move->left, &gone);
    move->copied = ff_mask_or(&move->copied, &back);
    struct ff_mask lost = ff_mask_minus(&gone, &there);
    ff__host_zero(&soft->host, move->block, &lost); /* dropped, so it reads as zeros */
    if (move->lends)
        ff__guests_lose(soft, move, &lost);
    return status;
}

static int out_protected(struct ff__soft *soft, struct ff__move *move, uint64_t *end_ns) {
    struct ff_mask going = move->left;
    int status = 0;
    FF_MASK_FOR_EACH_RUN(&going, run) {
        int ended = protect_run_out(soft, move, run, end_ns);
        status = ended ? ended : status;
    }
    return status == -EINVAL ? -EBUSY : status;
}

/* Pages that the program has just dropped, or only offered, and which are still there. */
static struct ff_mask unsettled(struct ff__soft *soft, const struct ff__move *move) {
    struct ff_mask pages = ff__changes_unsettled(&soft->changes, move->block), there = {{0}};
    if (move->freed)
        ff_mask_clear(&pages);
    FF_MASK_FOR_EACH_RUN(&pages, run) {
        struct ff_mask some = present_in(soft, move->block, run);
        there = ff_mask_or(&there, &some);
    }
    return ff_mask_and(&there, &move->pages);
}

static int take_out(struct ff__soft *soft, struct ff__move *move, uint64_t *end_ns) {
    struct ff_mask gone = ff__changes_gone(&soft->changes, move->block);
    struct ff_mask waiting = unsettled(soft, move);
    waiting = ff_mask_and(&waiting, &move->left);
    move->left = ff_mask_minus(&move->left, &gone);
    move->left = ff_mask_minus(&move->left, &waiting);
    out_dropped(soft, move, end_ns);
    int status = move->mapped     ? out_mapped(soft, move)
                 : soft->use_move ? out_moved(soft, move, end_ns)
                                  : out_protected(soft, move, end_ns);
    move->left = ff_mask_or(&move->left, &waiting);
    if (move->freed)
        let_go(soft, move);
    return status == 0 && !ff_mask_empty(&waiting) ? -EBUSY : status;
}

int ff__soft_out(struct ff__soft *soft, struct ff__move *move, uint64_t *end_ns) {
    if (move->guest)
        return ff__guests_out(soft, move, end_ns);
    int status = ff_mask_empty(&move->left) ? 0 : take_out(soft, move, end_ns);
    ff__soft_tell_forbidden(soft, status);
    return ff_mask_empty(&move->left) ? 0 : status;
}
