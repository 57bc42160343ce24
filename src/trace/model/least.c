/* A page that stays until its next use saves a miss if that use counts. So the frames hold the pages whose next use counts
 * and is nearest; a page whose next use does not count is worth nothing and leaves at once. In a group the pages that
 * are there come first, and then the rest, so that all of them can be kept if there are frames. */
#include "trace/model/least.h"

#include "base/heap.h"

#include <errno.h>
#include <stdlib.h>

#define NEVER UINT32_MAX

struct paging {
    const struct ff__page_use *uses;
    size_t count;
    uint64_t frames;
    uint32_t *next;       /* [use] the page's next use, if that counts, or NEVER */
    struct ff__heap kept; /* pages whose next use counts, the farthest on top */
    uint64_t misses;
};

static void find_next(struct paging *paging, uint32_t *later) {
    for (size_t i = paging->count; i-- > 0;) {
        const struct ff__page_use *use = &paging->uses[i];
        paging->next[i] = later[use->page];
        later[use->page] = use->counts ? (uint32_t)i : NEVER;
    }
}

static void evict_down_to(struct paging *paging, uint64_t frames) {
    while (paging->kept.count > frames)
        ff__heap_remove(&paging->kept, ff__heap_top(&paging->kept));
}

static void use_page(struct paging *paging, const struct ff__page_use *use, bool alone) {
    if (ff__heap_has(&paging->kept, use->page)) {
        ff__heap_remove(&paging->kept, use->page);
        return;
    }
    paging->misses += use->counts;
    if (alone)
        evict_down_to(paging, paging->frames - 1);
}

/* The uses [first, end) are a group. */
static void go_through(struct paging *paging, size_t first, size_t end) {
    for (size_t i = first; i < end; i++)
        use_page(paging, &paging->uses[i], end - first == 1);
    for (size_t i = first; i < end; i++)
        if (paging->next[i] != NEVER)
            ff__heap_set(&paging->kept, paging->uses[i].page, paging->next[i]);
    evict_down_to(paging, paging->frames);
}

static void page_through(struct paging *paging) {
    size_t end;
    for (size_t first = 0; first < paging->count; first = end) {
        end = first + 1;
        while (end < paging->count && paging->uses[end].group == paging->uses[first].group)
            end++;
        go_through(paging, first, end);
    }
}

int ff__least_misses(const struct ff__page_use *uses, size_t count, uint32_t pages, uint64_t frames,
                     uint64_t *out) {
    struct paging paging = {.uses = uses, .count = count, .frames = frames};
    struct ff__heap_place *places = calloc((size_t)pages + 1, sizeof *places);
    uint32_t *later = malloc(((size_t)pages + 1) * sizeof *later);
    paging.next = malloc((count + 1) * sizeof *paging.next);
    int status = places && later && paging.next ? 0 : -ENOMEM;
    if (!status) {
        paging.kept =
            (struct ff__heap){.places = (unsigned char *)places, .stride = sizeof *places};
        for (uint32_t page = 0; page < pages; page++)
            later[page] = NEVER;
        find_next(&paging, later);
        page_through(&paging);
        *out = paging.misses;
    }
    free(places);
    free(later);
    free(paging.next);
    return status;
}
