#include "policy/bounds/belady.h"

#include <errno.h>

#define END FF_NONE /* of a list; 0 in a link is "on no list", others are unit + 1 */

static uint32_t unit_of(const struct ff_view *view, uint32_t page) {
    return page / ff__belady_unit(view) * ff__belady_unit(view);
}

int ff__belady_start(struct ff__belady *belady, const struct ff_policy_env *env) {
    uint64_t pages = (uint64_t)env->block_limit * FF_BLOCK_PAGES;
    const struct ff_future *future = env->model ? env->model->future : NULL;
    if (!future || future->page_count > pages || pages >= UINT32_MAX)
        return -EINVAL;
    belady->future = future;
    belady->uses = env->block_state;
    belady->heap.places = (unsigned char *)&belady->uses->place;
    belady->heap.stride = sizeof(struct ff__use);
    belady->stale = belady->aside = END;
    return 0;
}

static void push(struct ff__belady *belady, uint32_t *list, uint32_t unit) {
    belady->uses[unit].link = *list;
    *list = unit + 1;
}

static uint32_t pop(struct ff__belady *belady, uint32_t *list) {
    uint32_t unit = *list - 1;
    *list = belady->uses[unit].link;
    belady->uses[unit].link = 0;
    return unit;
}

/* ---- next uses ---- */

static void look_up(const struct ff__belady *belady, uint32_t page) {
    const struct ff_future *future = belady->future;
    struct ff__use *use = &belady->uses[page];
    bool has_more =
        page < future->page_count && future->first[page] + use->passed < future->first[page + 1];
    use->next = has_more ? future->position[future->first[page] + use->passed] + 1 : FF__NEVER;
}

uint64_t ff__belady_next(struct ff__belady *belady, uint32_t page) {
    if (belady->uses[page].next == 0)
        look_up(belady, page);
    uint64_t next = belady->uses[page].next;
    return next == FF__NEVER ? FF__NEVER : next - 1;
}

/* Shell's, as qsort may allocate. */
static void sort(struct ff__next_use *uses, uint32_t count) {
    for (uint32_t gap = count / 2; gap > 0; gap /= 2) {
        for (uint32_t i = gap; i < count; i++) {
            struct ff__next_use use = uses[i];
            uint32_t at = i;
            for (; at >= gap && uses[at - gap].next > use.next; at -= gap)
                uses[at] = uses[at - gap];
            uses[at] = use;
        }
    }
}

uint32_t ff__belady_sort(struct ff__belady *belady, uint32_t block, const struct ff_mask *pages,
                         struct ff__next_use sorted[FF_BLOCK_PAGES]) {
    uint32_t count = 0;
    FF_MASK_FOR_EACH_PAGE(pages, page) {
        uint64_t next = ff__belady_next(belady, block * FF_BLOCK_PAGES + page);
        sorted[count++] = (struct ff__next_use){next, page};
    }
    sort(sorted, count);
    return count;
}

static uint64_t unit_next(struct ff__belady *belady, const struct ff_view *view, uint32_t unit) {
    uint64_t soonest = ff__belady_next(belady, unit);
    uint32_t count = view->blocks[unit / FF_BLOCK_PAGES].page_count;
    for (uint32_t page = 1; page < count && page < ff__belady_unit(view); page++) {
        uint64_t next = ff__belady_next(belady, unit + page);
        soonest = next < soonest ? next : soonest;
    }
    return soonest;
}

/* ---- uses ---- */

/* The key of a block takes a look at all of its pages: only when it is asked for. */
static void use(struct ff__belady *belady, const struct ff_view *view, uint32_t page) {
    belady->at++;
    belady->uses[page].passed++;
    look_up(belady, page);
    uint32_t unit = unit_of(view, page);
    if (!ff__heap_has(&belady->heap, unit))
        return;
    if (ff__belady_unit(view) == 1)
        ff__heap_set(&belady->heap, unit, ff__belady_next(belady, unit));
    else if (belady->uses[unit].link == 0)
        push(belady, &belady->stale, unit);
}

void ff__belady_access(struct ff__belady *belady, const struct ff_view *view,
                       const struct ff_access *accesses, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        uint32_t page = accesses[i].block * FF_BLOCK_PAGES + accesses[i].page;
        if (page < belady->future->page_count)
            use(belady, view, page);
    }
}

/* ---- resident pages ---- */

void ff__belady_arrival(struct ff__belady *belady, const struct ff_view *view, uint32_t block,
                        const struct ff_mask *pages) {
    uint32_t last = FF_NONE;
    FF_MASK_FOR_EACH_PAGE(pages, page) {
        uint32_t unit = unit_of(view, block * FF_BLOCK_PAGES + page);
        if (unit != last)
            ff__heap_set(&belady->heap, unit, unit_next(belady, view, unit));
        last = unit;
    }
}

void ff__belady_departure(struct ff__belady *belady, uint32_t block, const struct ff_mask *pages) {
    FF_MASK_FOR_EACH_PAGE(pages, page) {
        ff__heap_remove(&belady->heap, block * FF_BLOCK_PAGES + page);
    }
}

static void refresh(struct ff__belady *belady, const struct ff_view *view) {
    while (belady->stale != END) {
        uint32_t unit = pop(belady, &belady->stale);
        if (ff__heap_has(&belady->heap, unit))
            ff__heap_set(&belady->heap, unit, unit_next(belady, view, unit));
    }
}

bool ff__belady_last(struct ff__belady *belady, const struct ff_view *view, uint32_t *unit,
                     uint64_t *next) {
    refresh(belady, view);
    if (belady->heap.count == 0)
        return false;
    *unit = ff__heap_top(&belady->heap);
    *next = ff__heap_key(&belady->heap, *unit);
    ff__heap_remove(&belady->heap, *unit);
    push(belady, &belady->aside, *unit);
    return true;
}

void ff__belady_drop(struct ff__belady *belady) {
    pop(belady, &belady->aside);
}

void ff__belady_put_back(struct ff__belady *belady, const struct ff_view *view) {
    while (belady->aside != END) {
        uint32_t unit = pop(belady, &belady->aside);
        ff__heap_set(&belady->heap, unit, unit_next(belady, view, unit));
    }
}
