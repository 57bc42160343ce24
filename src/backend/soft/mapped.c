/* Use of pages from the host: they are moved from there to the managed address, as they are, and
 * back. Nothing is copied, so the time that their bytes would take on the link is waited for.
 *
 * What of a mapped page is used cannot be seen: each mapping is charged with the whole page. That
 * is exact for a page that is used once and wholly while it is mapped, too much for one of which
 * little is used (32 times for one access of 128 bytes), and too little for one that is used again
 * and again meanwhile. */
#include "backend/soft/move.h"

#include "base/clock.h"

#include <errno.h>
#include <sys/mman.h>

/* On a link that is not paced, a processor would copy the bytes. */
static uint64_t link_end(struct ff__soft *soft, const struct ff__move *move) {
    uint64_t now = ff__clock_ns();
    struct ff__link *link = &soft->links[FF_TIER_HOST][move->to.tier];
    if (link->speed.bytes_per_second <= 0)
        link = &soft->unpaced[move->to.tier];
    return ff__link_reserve(link, now, (uint64_t)ff_mask_count(&move->left) * FF_PAGE_SIZE);
}

/* The kernel does not move the page: it comes as a copy, and the host's is given up. Where there is
 * none, because the program has dropped it or it has no content, it is zero. */
static int copy_page(struct ff__soft *soft, const struct ff__move *move, uint32_t page) {
    char *host = ff__soft_host_at(soft, move->block, page);
    bool is_there = ff__soft_is_there(soft, host);
    size_t copied;
    int status = ff__uffd_copy(&soft->uffd, ff__soft_managed_at(soft, move->block, page),
                               is_there ? host : soft->memory.zeros, FF_PAGE_SIZE, &copied);
    if (!status && is_there)
        ff__soft_give_back(soft, host, FF_PAGE_SIZE);
    return status;
}

/* Takes what is mapped of the run out of what is left. No messages are read meanwhile: what the
 * program drops is gone before, or is dropped where it is mapped. */
static int map_run(struct ff__soft *soft, struct ff__move *move, struct ff_run run) {
    uint32_t at = run.first, tries = 0;
    while (at < run.end) {
        size_t moved;
        ff__changes_begin_arrival(&soft->changes, move->block);
        int status = ff__uffd_move_in(&soft->uffd, ff__soft_managed_at(soft, move->block, at),
                                      ff__soft_host_at(soft, move->block, at),
                                      ff__soft_bytes(at, run.end), &moved);
        uint32_t end = at + (uint32_t)(moved / FF_PAGE_SIZE);
        if (status && status != -EAGAIN) {
            status = copy_page(soft, move, end);
            end += status == 0;
        }
        ff__changes_end_arrival(&soft->changes);
        struct ff_mask came = ff_mask_of_run(at, end);
        move->left = ff_mask_minus(&move->left, &came);
        tries = end > at ? 0 : tries + 1;
        at = end;
        if (status && !ff__soft_is_worth_another(soft, status, tries))
            return status;
    }
    return 0;
}

static int map_all(struct ff__soft *soft, struct ff__move *move) {
    struct ff_mask going = move->left;
    ff__changes_begin_in(&soft->changes, move->block, &going);
    ff__host_to_write(&soft->host, move->block, &going);
    FF_MASK_FOR_EACH_RUN(&going, run) {
        int status = map_run(soft, move, run);
        if (status)
            return status;
    }
    return 0;
}

int ff__soft_map(struct ff__soft *soft, struct ff__move *move,
                 const struct ff__submission *submission) {
    ff__page_tables_note(&soft->page_tables, move->block);
    return ff__link_wait(link_end(soft, move), &submission->aborted) ? map_all(soft, move)
                                                                     : -ECANCELED;
}
