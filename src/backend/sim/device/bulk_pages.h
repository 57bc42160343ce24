/* Whether runs of pages are in place, and their use: for kernels in bulk, and inline, because their
 * fronts do nothing else. */
#ifndef FF_BACKEND_SIM_DEVICE_BULK_PAGES_H
#define FF_BACKEND_SIM_DEVICE_BULK_PAGES_H

#include "backend/sim/simulation.h"

/* Pages `first` to `end` of a block, by the words of masks that they lie in: most runs are short.
 */
#define FF__WORD_ALL ~UINT64_C(0)

/* The words that a run of pages lies in: of the first and the last one, only these pages. */
struct words {
    uint32_t first, last;
    uint64_t head, tail; /* of a run in a single word, `head` alone */
};

static inline struct words ff__words_of(uint32_t first, uint32_t end) {
    const uint32_t from = first / 64, to = (end - 1) / 64;
    const uint64_t head = FF__WORD_ALL << first % 64, tail = FF__WORD_ALL >> (63 - (end - 1) % 64);
    return (struct words){from, to, from == to ? head & tail : head, tail};
}

static inline bool ff__word_absent(const struct ff_tier_pages *there, uint32_t word,
                                   uint64_t pages) {
    return pages & ~there->resident.word[word];
}

static inline bool ff__pages_in_place(const struct sim *sim, const struct device *device,
                                      uint32_t block, const struct words *words) {
    const struct ff__space *space = sim->space;
    const struct ff_tier_pages *there = &ff__facts(space, block)->tier[device->tier];
    if (ff__word_absent(there, words->first, words->head))
        return false;
    if (words->first == words->last)
        return true;
    for (uint32_t i = words->first + 1; i < words->last; i++)
        if (ff__word_absent(there, i, FF__WORD_ALL))
            return false;
    return !ff__word_absent(there, words->last, words->tail);
}

/* Whether using these pages changes nothing. */
static inline bool ff__word_is_used(const struct ff__page_facts *facts, uint32_t word,
                                    uint64_t pages, bool write) {
    uint64_t news = facts->unused.word[word] | (write ? ~facts->dirty.word[word] : 0);
    return (news & pages) == 0;
}

static inline bool ff__pages_are_used(const struct sim *sim, uint32_t block,
                                      const struct words *words, bool write) {
    const struct ff__page_facts *facts = ff__page_facts(sim->space, block);
    if (!ff__word_is_used(facts, words->first, words->head, write))
        return false;
    if (words->first == words->last)
        return true;
    for (uint32_t i = words->first + 1; i < words->last; i++)
        if (!ff__word_is_used(facts, i, FF__WORD_ALL, write))
            return false;
    return ff__word_is_used(facts, words->last, words->tail, write);
}

/* The end of a piece's pages from page `first` of a block on, in that block. */
static inline uint32_t ff__end_in_block(const struct piece *piece, uint64_t page, uint32_t first) {
    uint64_t end = piece->end - page + first;
    return end < FF_BLOCK_PAGES ? (uint32_t)end : FF_BLOCK_PAGES;
}

/* Passes over pages that are all there. False: some are not; those of blocks before are used. */
static inline bool ff__pages_pass(struct sim *sim, struct device *device, const struct piece *piece,
                                  bool write) {
    for (uint64_t page = piece->first; page < piece->end;) {
        uint32_t block = (uint32_t)(page / FF_BLOCK_PAGES), first = page % FF_BLOCK_PAGES;
        uint32_t end = ff__end_in_block(piece, page, first);
        struct words words = ff__words_of(first, end);
        if (!ff__pages_in_place(sim, device, block, &words))
            return false;
        if (!ff__pages_are_used(sim, block, &words, write)) {
            const struct ff_mask pages = ff_mask_of_run(first, end);
            ff__engine_used(sim->engine, block, &pages, write);
        }
        page += end - first;
    }
    return true;
}

#endif
