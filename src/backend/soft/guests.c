#include "backend/soft/guests.h"

#include "base/clock.h"

#include <errno.h>

/* ---- memory ---- */

/* Where the block's first page would be. */
static char *lent_at(const struct ff__soft *soft, const struct ff__place *place) {
    return soft->memory.lent[place->tier] + (size_t)place->frame * FF_LEAF_SIZE;
}

static uint32_t chunk_of(const struct ff__place *place) {
    return place->frame / FF_CHUNK_LEAVES;
}

void ff__guests_clear(struct ff__soft *soft, uint32_t tier, uint32_t chunk) {
    struct ff__memory *memory = &soft->memory;
    bool *holds = memory->holds_lent[tier];
    if (!holds || (uint64_t)chunk * FF_BLOCK_SIZE >= memory->device_size ||
        !__atomic_exchange_n(&holds[chunk], false, __ATOMIC_RELAXED))
        return;
    ff__soft_give_back(memory->lent[tier] + (size_t)chunk * FF_BLOCK_SIZE, FF_BLOCK_SIZE);
}

/* A guest comes: what the device had allocated for the chunk is the kernel's again. */
static void take_chunk(struct ff__soft *soft, const struct ff__place *place) {
    struct ff__memory *memory = &soft->memory;
    uint32_t chunk = chunk_of(place);
    if (__atomic_exchange_n(&memory->holds_lent[place->tier][chunk], true, __ATOMIC_RELAXED) ||
        !memory->ready[place->tier] || !memory->ready[place->tier][chunk])
        return;
    memory->ready[place->tier][chunk] = 0;
    ff__soft_give_back(memory->frames[place->tier] + (size_t)chunk * FF_BLOCK_SIZE, FF_BLOCK_SIZE);
}

static void copy_pages(char *to, const char *from, const struct ff_mask *pages) {
    FF_MASK_FOR_EACH_RUN(pages, run) {
        size_t offset = (size_t)run.first * FF_PAGE_SIZE;
        ff__copy_pages(to + offset, from + offset, run.end - run.first);
    }
}

static void zero_pages(char *to, const struct ff_mask *pages) {
    FF_MASK_FOR_EACH_RUN(pages, run) {
        ff__zero_pages(to + (size_t)run.first * FF_PAGE_SIZE, run.end - run.first);
    }
}

/* Copies pages of a guest to the host, also those that it may have the same of. */
static void copy_to_host(struct ff__soft *soft, uint32_t block, const char *from,
                         const struct ff_mask *pages) {
    ff__copy_changed(ff__soft_host_at(soft, block, 0), from, pages, &(struct ff_mask){{0}},
                     soft->memory.sums[block]);
}

/* ---- to a device's own use ---- */

void ff__guests_find(struct ff__soft *soft, const struct ff__move *in,
                     const struct ff__submission *submission, struct ff__sources *sources) {
    struct ff_mask dropped = ff__changes_begin_in(&soft->changes, in->block, &in->left);
    struct ff_mask rest = ff_mask_and(&in->held, &in->left);
    sources->count = 0;
    for (uint32_t i = 0; i < submission->count; i++) {
        struct ff__move *out = submission->moves[i];
        if (!ff__guests_is_fetch(out) || out->block != in->block)
            continue;
        struct ff_mask pages = ff_mask_and(&out->pages, &rest);
        pages = ff_mask_minus(&pages, &dropped);
        rest = ff_mask_minus(&rest, &pages);
        sources->of[sources->count++] = (struct ff__source){pages, lent_at(soft, &out->from), out};
    }
    sources->of[sources->count++] =
        (struct ff__source){rest, ff__soft_host_at(soft, in->block, 0), NULL};
}

void ff__guests_save(struct ff__soft *soft, const struct ff__move *in,
                     const struct ff__sources *sources) {
    for (uint32_t i = 0; i + 1 < sources->count; i++) {
        const struct ff__source *source = &sources->of[i];
        struct ff_mask missed = ff_mask_and(&source->pages, &in->left);
        if (ff_mask_empty(&missed))
            continue;
        copy_to_host(soft, in->block, source->from, &missed);
        source->out->copied = ff_mask_or(&source->out->copied, &missed);
        ff__changes_end_out(&soft->changes, in->block, &missed);
    }
}

/* ---- to lent memory ---- */

void ff__guests_put(struct ff__soft *soft, struct ff__move *out, const struct ff_mask *pages,
                    const char *from, uint64_t *end_ns) {
    struct ff_mask live = ff_mask_minus(pages, &out->dead);
    uint64_t start = ff__clock_ns();
    char *to = lent_at(soft, &out->to);
    take_chunk(soft, &out->to);
    struct ff_mask same =
        ff__copy_compared(to, from, &live, &out->held, soft->memory.sums[out->block]);
    struct ff_mask dropped = ff__changes_begin_in(&soft->changes, out->block, pages);
    ff__memory_zero_host(&soft->memory, out->block, &dropped);
    zero_pages(to, &dropped);
    out->same = ff_mask_or(&out->same, &same);
    uint64_t end = ff__soft_link_end(soft, &out->from, &out->to, &live, start);
    *end_ns = end > *end_ns ? end : *end_ns;
}

void ff__guests_lose(struct ff__soft *soft, const struct ff__move *out,
                     const struct ff_mask *pages) {
    if (ff_mask_empty(pages))
        return;
    take_chunk(soft, &out->to);
    ff__memory_zero_host(&soft->memory, out->block, pages);
    zero_pages(lent_at(soft, &out->to), pages);
}

int ff__guests_in(struct ff__soft *soft, struct ff__move *in,
                  const struct ff__submission *submission) {
    uint64_t start = ff__clock_ns();
    char *to = lent_at(soft, &in->to);
    take_chunk(soft, &in->to);
    ff__changes_begin_in(&soft->changes, in->block, &in->left);
    copy_pages(to, ff__soft_host_at(soft, in->block, 0), &in->left);
    uint64_t end = ff__soft_link_end(soft, &in->from, &in->to, &in->left, start);
    if (!ff__link_wait(end, &submission->aborted))
        return -ECANCELED;
    struct ff_mask dropped = ff__changes_begin_in(&soft->changes, in->block, &in->left);
    zero_pages(to, &dropped);
    ff_mask_clear(&in->left);
    return 0;
}

/* ---- to the host ---- */

/* What the program has dropped since reads as zeros, there and on the host. */
static struct ff_mask drop_guest_pages(struct ff__soft *soft, const struct ff__move *out,
                                       const struct ff_mask *pages) {
    struct ff_mask dropped = ff__changes_begin_in(&soft->changes, out->block, pages);
    zero_pages(lent_at(soft, &out->from), &dropped);
    ff__memory_zero_host(&soft->memory, out->block, &dropped);
    return dropped;
}

int ff__guests_out(struct ff__soft *soft, struct ff__move *out, uint64_t *end_ns) {
    uint64_t start = ff__clock_ns();
    if (out->to.tier == FF_TIER_HOST && !out->freed) {
        struct ff_mask pages = ff_mask_minus(&out->left, &out->dead);
        struct ff_mask zeros = drop_guest_pages(soft, out, &pages);
        pages = ff_mask_minus(&pages, &out->held);
        copy_to_host(soft, out->block, lent_at(soft, &out->from), &pages);
        struct ff_mask late = drop_guest_pages(soft, out, &pages);
        out->copied = ff_mask_or(&out->copied, &pages);
        out->copied = ff_mask_or(&out->copied, &zeros);
        out->copied = ff_mask_or(&out->copied, &late);
        uint64_t end = ff__soft_link_end(soft, &out->from, &out->to, &pages, start);
        *end_ns = end > *end_ns ? end : *end_ns;
    }
    ff_mask_clear(&out->left);
    return 0;
}
