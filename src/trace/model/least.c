/* A page that stays until its next use saves a miss if that use counts. So the frames hold the
 * pages whose next use counts and is nearest; a page whose next use does not count is worth nothing
 * and leaves at once. In a group the pages that are there come first, and then the rest, so that
 * all of them can be kept if there are frames.
 *
 * What the frames hold is kept as a set of next uses: a bit for each use, and above them a bit for
 * each word of bits that is not zero, up to a single word. So the farthest next use is found in a
 * few steps, and nothing is kept of pages. */
#include "trace/model/least.h"

#include <errno.h>
#include <stdlib.h>

#define NEVER  FF__LEAST_NO_USE
#define LEVELS 6u /* for 2^36 uses */

struct paging {
    const uint32_t *next;               /* [use] as of ff__least_most_hits() */
    const struct ff__page_use *grouped; /* NULL: each use is a group */
    size_t count;
    uint64_t frames, kept, hits;
    uint64_t *level[LEVELS]; /* level[0]: the uses whose page is kept for them */
};

static int make_set(struct paging *paging) {
    size_t words[LEVELS], all = 0, at = 0, below = paging->count;
    for (unsigned i = 0; i < LEVELS; i++)
        all += below = words[i] = below / 64 + 1;
    paging->level[0] = calloc(all, sizeof(uint64_t));
    for (unsigned i = 1; i < LEVELS && paging->level[0]; i++)
        paging->level[i] = paging->level[0] + (at += words[i - 1]);
    return paging->level[0] ? 0 : -ENOMEM;
}

static bool is_kept(const struct paging *paging, size_t use) {
    return paging->level[0][use / 64] >> use % 64 & 1;
}

static void keep(struct paging *paging, size_t use) {
    uint64_t before = 0;
    for (unsigned i = 0; i < LEVELS && before == 0; i++, use /= 64) {
        before = paging->level[i][use / 64];
        paging->level[i][use / 64] |= UINT64_C(1) << use % 64;
    }
    paging->kept++;
}

static void drop(struct paging *paging, size_t use) {
    uint64_t left = 0;
    for (unsigned i = 0; i < LEVELS && left == 0; i++, use /= 64)
        left = paging->level[i][use / 64] &= ~(UINT64_C(1) << use % 64);
    paging->kept--;
}

static size_t farthest(const struct paging *paging) {
    size_t at = 0;
    for (unsigned i = LEVELS; i-- > 0;)
        at = 64 * at + 63 - (size_t)__builtin_clzll(paging->level[i][at]);
    return at;
}

static void evict_down_to(struct paging *paging, uint64_t frames) {
    while (paging->kept > frames)
        drop(paging, farthest(paging));
}

static void use_page(struct paging *paging, size_t use, bool alone) {
    if (is_kept(paging, use)) {
        drop(paging, use);
        paging->hits++;
    } else if (alone) {
        evict_down_to(paging, paging->frames - 1);
    }
}

/* The uses [first, end) are a group. */
static void go_through(struct paging *paging, size_t first, size_t end) {
    for (size_t i = first; i < end; i++)
        use_page(paging, i, end - first == 1);
    for (size_t i = first; i < end; i++)
        if (paging->next[i] != NEVER)
            keep(paging, paging->next[i]);
    evict_down_to(paging, paging->frames);
}

static int page_through(struct paging *paging) {
    size_t end;
    int status = make_set(paging);
    for (size_t first = 0; first < paging->count && !status; first = end) {
        end = first + 1;
        while (paging->grouped && end < paging->count &&
               paging->grouped[end].group == paging->grouped[first].group)
            end++;
        go_through(paging, first, end);
    }
    free(paging->level[0]);
    return status;
}

int ff__least_most_hits(const uint32_t *next, size_t count, uint64_t frames, uint64_t *out) {
    struct paging paging = {.next = next, .count = count, .frames = frames};
    int status = page_through(&paging);
    *out = paging.hits;
    return status;
}

/* Fills in the next uses that count; returns how many uses do. */
static uint64_t find_next(const struct ff__page_use *uses, size_t count, uint32_t pages,
                          uint32_t *later, uint32_t *next) {
    uint64_t counting = 0;
    for (uint32_t page = 0; page < pages; page++)
        later[page] = NEVER;
    for (size_t i = count; i-- > 0;) {
        next[i] = later[uses[i].page];
        later[uses[i].page] = uses[i].counts ? (uint32_t)i : NEVER;
        counting += uses[i].counts;
    }
    return counting;
}

int ff__least_misses(const struct ff__page_use *uses, size_t count, uint32_t pages, uint64_t frames,
                     uint64_t *out) {
    uint32_t *later = malloc(((size_t)pages + 1) * sizeof *later);
    uint32_t *next = malloc((count + 1) * sizeof *next);
    struct paging paging = {.next = next, .grouped = uses, .count = count, .frames = frames};
    int status = later && next ? 0 : -ENOMEM;
    if (!status) {
        *out = find_next(uses, count, pages, later, next);
        status = page_through(&paging);
        *out -= paging.hits;
    }
    free(later);
    free(next);
    return status;
}
