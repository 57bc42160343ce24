/* The way in: a whole block as a chunk that moves into place, anything else as copies. */
#include "backend/soft/guests.h"

#include "base/clock.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE /* Linux 5.14; a kernel with UFFDIO_MOVE has it */
#define MADV_POPULATE_WRITE 23
#endif

#define PIECE_PAGES 32u /* arrive at a time; that long no messages are read */

static char *chunk_in(char *const areas[], const struct ff__move *move) {
    return areas[move->to.tier] + (size_t)ff__soft_chunk(move) * FF_BLOCK_SIZE;
}

static void zero_pages(char *chunk, const struct ff_mask *pages) {
    FF_MASK_FOR_EACH_RUN(pages, run) {
        ff__zero_pages(chunk + (size_t)run.first * FF_PAGE_SIZE, run.end - run.first);
    }
}

/* Fills a whole chunk with the block's content; pages without content, and the tail, are zeroed if
 * the chunk was used before. */
static void fill_chunk(char *chunk, const struct ff__move *move, const struct ff__sources *sources,
                       const struct ff_mask *tail, bool used) {
    for (uint32_t i = 0; i < sources->count; i++) {
        const struct ff__page_source *source = &sources->of[i];
        FF_MASK_FOR_EACH_RUN(&source->pages, run) {
            size_t offset = (size_t)run.first * FF_PAGE_SIZE;
            ff__copy_pages(chunk + offset, source->from + offset, run.end - run.first);
        }
    }
    struct ff_mask fresh = ff_mask_minus(&move->pages, &move->held);
    fresh = ff_mask_or(&fresh, tail);
    if (used)
        zero_pages(chunk, &fresh);
}

/* Memory for a block that takes a whole chunk; NULL: there is none now. */
static char *take_chunk(struct ff__soft *soft, const struct ff__move *move) {
    struct ff__memory *memory = &soft->memory;
    char *frames = chunk_in(memory->frames, move);
    ff__guests_clear(soft, move->to.tier, ff__soft_chunk(move));
    if (ff__soft_is_ready(soft, move))
        return frames;
    ff__soft_give_back(soft, frames, FF_BLOCK_SIZE); /* and its page table (soft/page_tables.h) */
    *ff__soft_ready(soft, move) = 0;
    /* memory fresh from the kernel is zero, but must be there to be moved */
    char *chunk = chunk_in(memory->fresh, move);
    if (mprotect(chunk, FF_BLOCK_SIZE, PROT_READ | PROT_WRITE))
        return NULL;
    return madvise(chunk, FF_BLOCK_SIZE, MADV_POPULATE_WRITE) ? NULL : chunk;
}

/* Gives what has not moved back to the kernel. */
static void return_chunk(struct ff__soft *soft, const struct ff__move *move, char *chunk) {
    ff__soft_give_back(soft, chunk, FF_BLOCK_SIZE);
    if (!ff__soft_is_ready(soft, move))
        mprotect(chunk, FF_BLOCK_SIZE, PROT_NONE);
}

/* Moves the filled chunk under the block's addresses; how far it came. */
static size_t move_chunk(struct ff__soft *soft, const struct ff__move *move, char *chunk) {
    size_t all = 0;
    int status = -EAGAIN;
    for (uint32_t tries = 0; status && all < FF_BLOCK_SIZE; tries++) {
        size_t moved;
        struct ff_mask dropped = ff__changes_begin_arrival(&soft->changes, move->block);
        zero_pages(chunk, &dropped);
        status = ff__uffd_move_in(&soft->uffd, ff__soft_managed_at(soft, move->block, 0) + all,
                                  chunk + all, FF_BLOCK_SIZE - all, &moved);
        ff__changes_end_arrival(&soft->changes);
        all += moved;
        if (status && !ff__soft_is_worth_another(soft, status, tries + 1))
            break;
    }
    return all;
}

/* Waits until the links are through with what has not come. */
static int wait_for_links(struct ff__soft *soft, const struct ff__move *move,
                          const struct ff__sources *sources, uint64_t start_ns,
                          const struct ff__submission *submission) {
    uint64_t end = 0;
    for (uint32_t i = 0; i < sources->count; i++) {
        const struct ff__page_source *source = &sources->of[i];
        const struct ff__place *from = source->out ? &source->out->from : &move->from;
        struct ff_mask pages = ff_mask_and(&source->pages, &move->left);
        uint64_t through = ff__soft_link_end(soft, from, &move->to, &pages, start_ns);
        end = through > end ? through : end;
    }
    return ff__link_wait(end, &submission->aborted) ? 0 : -ECANCELED;
}

/* Takes the pages that came out of what is left. */
static int in_moved(struct ff__soft *soft, struct ff__move *move, const struct ff__sources *sources,
                    const struct ff__submission *submission) {
    uint64_t start = ff__clock_ns();
    char *chunk = take_chunk(soft, move);
    if (!chunk)
        return 0;
    struct ff_mask tail = ff__soft_tail(soft, move->block);
    fill_chunk(chunk, move, sources, &tail, ff__soft_is_ready(soft, move));
    int status = wait_for_links(soft, move, sources, start, submission);
    size_t moved = status ? 0 : move_chunk(soft, move, chunk);
    struct ff_mask came = ff_mask_of_run(0, (uint32_t)(moved / FF_PAGE_SIZE));
    move->left = ff_mask_minus(&move->left, &came);
    tail = ff_mask_and(&tail, &came);
    soft->memory.has_tail[move->block] = !ff_mask_empty(&tail);
    if (moved < FF_BLOCK_SIZE || !ff__soft_is_ready(soft, move))
        return_chunk(soft, move, chunk);
    *ff__soft_ready(soft, move) = 0;
    return status;
}

/* What waits in the leaves that the move needs. */
static void give_back_split(struct ff__soft *soft, const struct ff__move *move) {
    const struct ff__frames *frames = &soft->space->frames[move->to.tier];
    uint32_t left = ff__frames_leaves_under(frames, move->to.frame, move->block, &move->left);
    for (; left; left &= left - 1) {
        uint32_t leaf = (uint32_t)__builtin_ctz(left);
        uint32_t frame = ff__frames_of_leaf(frames, move->to.frame, move->block, leaf);
        uint32_t chunk = frame / FF_CHUNK_LEAVES, own = 1u << frame % FF_CHUNK_LEAVES;
        ff__guests_clear(soft, move->to.tier, chunk);
        if (!soft->use_move)
            continue;
        uint32_t *ready = &soft->memory.ready[move->to.tier][chunk];
        if (__atomic_load_n(ready, __ATOMIC_RELAXED) & own &&
            __atomic_fetch_and(ready, ~own, __ATOMIC_RELAXED) & own)
            ff__soft_give_back(soft,
                               soft->memory.frames[move->to.tier] + (size_t)frame * FF_LEAF_SIZE,
                               FF_LEAF_SIZE);
    }
}

/* The kernel allocates anew: it gets back first what waits in the block's leaves. */
static void give_back_leaves(struct ff__soft *soft, const struct ff__move *move) {
    if (ff__frame_is_split(move->to.frame)) {
        give_back_split(soft, move);
        return;
    }
    ff__guests_clear(soft, move->to.tier, ff__soft_chunk(move));
    if (!soft->use_move || !__atomic_load_n(ff__soft_ready(soft, move), __ATOMIC_RELAXED))
        return;
    uint32_t leaves = ff__space_leaves(soft->space, move->block);
    uint32_t own = (leaves == FF_CHUNK_LEAVES ? FF__SOFT_ALL_LEAVES : (1u << leaves) - 1)
                   << move->to.frame % FF_CHUNK_LEAVES;
    if (__atomic_fetch_and(ff__soft_ready(soft, move), ~own, __ATOMIC_RELAXED) & own)
        ff__soft_give_back(
            soft, soft->memory.frames[move->to.tier] + (size_t)move->to.frame * FF_LEAF_SIZE,
            leaves * FF_LEAF_SIZE);
}

/* Copies the pages [first, end) in; `from`: the block's first page, NULL: they are zeros. *end
 * becomes how far it came. */
static int copy_piece(struct ff__soft *soft, const struct ff__move *move, uint32_t first,
                      uint32_t *end, const char *from) {
    size_t copied;
    struct ff_mask piece = ff_mask_of_run(first, *end);
    struct ff_mask dropped = ff__changes_begin_arrival(&soft->changes, move->block);
    dropped = ff_mask_and(&dropped, &piece);
    if (from && !ff_mask_empty(&dropped)) { /* the first page alone, which is dropped or is not */
        *end = first + 1;
        from = ff_mask_test(&dropped, first) ? NULL : from;
    }
    from = from ? from + (size_t)first * FF_PAGE_SIZE : soft->memory.zeros;
    int status = ff__uffd_copy(&soft->uffd, ff__soft_managed_at(soft, move->block, first), from,
                               ff__soft_bytes(first, *end), &copied);
    ff__changes_end_arrival(&soft->changes);
    *end = first + (uint32_t)(copied / FF_PAGE_SIZE);
    return status;
}

/* Takes the pages that came out of what is left. */
static int copy_run(struct ff__soft *soft, struct ff__move *move, struct ff_run run,
                    const char *from, const struct ff__submission *submission) {
    uint32_t at = run.first, tries = 0;
    while (at < run.end) {
        uint32_t end = run.end - at < PIECE_PAGES ? run.end : at + PIECE_PAGES;
        if (ff__soft_is_aborted(submission))
            return -ECANCELED;
        int status = copy_piece(soft, move, at, &end, from);
        struct ff_mask came = ff_mask_of_run(at, end);
        move->left = ff_mask_minus(&move->left, &came);
        tries = end > at ? 0 : tries + 1;
        at = end;
        if (status && !ff__soft_is_worth_another(soft, status, tries))
            return status;
    }
    return 0;
}

static int copy_runs(struct ff__soft *soft, struct ff__move *move, const struct ff_mask *pages,
                     const char *from, const struct ff__submission *submission) {
    FF_MASK_FOR_EACH_RUN(pages, run) {
        int status = copy_run(soft, move, run, from, submission);
        if (status)
            return status;
    }
    return 0;
}

static int in_copied(struct ff__soft *soft, struct ff__move *move,
                     const struct ff__sources *sources, const struct ff__submission *submission) {
    give_back_leaves(soft, move);
    ff__page_tables_note(&soft->page_tables, move->block);
    struct ff_mask fresh = ff_mask_minus(&move->left, &move->held);
    int status = wait_for_links(soft, move, sources, ff__clock_ns(), submission);
    for (uint32_t i = 0; i < sources->count && !status; i++) {
        struct ff_mask pages = ff_mask_and(&move->left, &sources->of[i].pages);
        status = copy_runs(soft, move, &pages, sources->of[i].from, submission);
    }
    return status ? status : copy_runs(soft, move, &fresh, NULL, submission);
}

/* All of a block that takes a whole chunk. */
static bool fills_chunk(const struct ff__soft *soft, const struct ff__move *move) {
    return !ff__frame_is_split(move->to.frame) &&
           ff__space_leaves(soft->space, move->block) == FF_CHUNK_LEAVES &&
           ff_mask_count(&move->left) == soft->space->blocks[move->block].page_count;
}

static int bring(struct ff__soft *soft, struct ff__move *move, bool is_whole,
                 const struct ff__submission *submission) {
    struct ff__sources sources;
    int status = 0;
    bool moves = soft->use_move && is_whole && fills_chunk(soft, move);
    if (moves) {
        ff__page_tables_free(&soft->page_tables, move->block);
        ff__soft_tell_of_backlog(soft);
    }
    ff__guests_find(soft, move, submission, &sources);
    if (moves)
        status = in_moved(soft, move, &sources, submission);
    if (!status && !ff_mask_empty(&move->left))
        status = in_copied(soft, move, &sources, submission);
    ff__guests_end(soft, move, &sources);
    return status;
}

/* Pages that cannot come: a thread that waits for them would do so for ever. */
static void end_program(struct ff__soft *soft, int status) {
    ff__log_line(&soft->log, FF_LOG_WARNING,
                 "the program forbids the ioctl by which managed memory comes to a device "
                 "(seccomp: %s): it cannot go on",
                 strerror(-status));
    kill(getpid(), SIGBUS);
}

int ff__soft_in(struct ff__soft *soft, struct ff__move *move,
                const struct ff__submission *submission) {
    bool is_whole = ff__move_is_whole(move);
    if (move->guest)
        return ff__guests_in(soft, move, submission);
    struct ff_mask gone = ff__changes_gone(&soft->changes, move->block);
    gone = ff_mask_and(&gone, &move->left);
    move->left = ff_mask_minus(&move->left, &gone);
    int status = move->mapped ? ff__soft_map(soft, move, submission)
                              : bring(soft, move, is_whole, submission);
    move->left = ff_mask_or(&move->left, &gone);
    if (ff__soft_is_forbidden(status) &&
        !__atomic_exchange_n(&soft->is_ended, true, __ATOMIC_RELAXED))
        end_program(soft, status);
    return status == 0 && !ff_mask_empty(&gone) ? -ENOENT : status;
}
