#include "policy/bounds/residents.h"

/* ---- units: pages, or where memory is allocated by the block, blocks ---- */

static uint32_t unit_pages(const struct ff_view *view) {
    return view->by_page ? 1 : FF_BLOCK_PAGES;
}

static uint64_t uses_of(const struct ff_future *future, uint64_t first, uint32_t pages) {
    uint64_t end = first + pages < future->page_count ? first + pages : future->page_count;
    return first < end ? future->first[end] - future->first[first] : 0;
}

/* Whether the unit is among those that would stay. */
static bool stays(const struct ff__residents *residents, uint64_t uses, uint64_t unit) {
    return uses >= residents->least || (uses + 1 == residents->least && unit < residents->tie);
}

static uint64_t room_of_devices(const struct ff_view *view) {
    uint64_t room = 0;
    for (uint32_t tier = 1; tier < view->tier_count; tier++)
        room += view->capacity[tier];
    return room;
}

/* How many pages would stay, and the uses of all others. */
struct tally {
    uint64_t pages, remote_uses;
};

static struct tally tally(const struct ff__residents *residents, const struct ff_future *future,
                          uint32_t pages) {
    struct tally tally = {0};
    for (uint64_t unit = 0; unit < future->page_count; unit += pages) {
        uint64_t uses = uses_of(future, unit, pages);
        if (uses == 0)
            continue;
        if (stays(residents, uses, unit))
            tally.pages += pages;
        else
            tally.remote_uses += uses;
    }
    return tally;
}

/* ---- the two plans ---- */

/* The fewest uses, beyond `worth`, of which all units find room. */
static void fill(struct ff__residents *residents, const struct ff_future *future, uint32_t pages,
                 uint64_t room, uint64_t worth) {
    uint64_t low = worth + 1, high = future->length + worth + 2;
    while (low < high) {
        residents->least = low + (high - low) / 2;
        if (tally(residents, future, pages).pages > room)
            low = residents->least + 1;
        else
            high = residents->least;
    }
    residents->least = low;
}

/* And as many of those with one use less as find room beside them. */
static void fill_up(struct ff__residents *residents, const struct ff_future *future, uint32_t pages,
                    uint64_t room) {
    uint64_t low = 0, high = future->page_count;
    while (low < high) {
        uint64_t middle = low + (high - low + 1) / 2;
        residents->tie = (uint32_t)middle;
        if (tally(residents, future, pages).pages > room)
            high = middle - 1;
        else
            low = middle;
    }
    residents->tie = (uint32_t)low;
}

/* What it costs in ps if the units that are used most stay; what is used less often than its transfer costs does not. */
static double cost_of_staying(struct ff__residents *residents, const struct ff_future *future,
                              uint32_t pages, uint64_t room, double page_ps, double access_ps) {
    uint64_t worth = (uint64_t)(pages * page_ps / access_ps);
    fill(residents, future, pages, room, worth);
    if (residents->least > worth + 1)
        fill_up(residents, future, pages, room);
    struct tally all = tally(residents, future, pages);
    return (double)all.pages * page_ps + (double)all.remote_uses * access_ps;
}

/* The pages that come if all migrate, in the order of the recording. */
static uint64_t rehearse(struct ff__belady *belady, const struct ff_view *view, uint64_t room) {
    const struct ff_future *future = belady->future;
    uint32_t pages = unit_pages(view), unit;
    uint64_t come = 0, next;
    for (uint64_t i = 0; i < future->length; i++) {
        uint32_t page = (uint32_t)future->order[i];
        const struct ff_access access = {.block = page / FF_BLOCK_PAGES,
                                         .page = page % FF_BLOCK_PAGES};
        struct ff_mask mask = ff_mask_of_run(access.page, access.page + 1u);
        ff__belady_access(belady, view, &access, 1);
        if (ff__heap_has(&belady->heap, page / pages * pages))
            continue;
        come += pages;
        if (belady->heap.count >= room / pages && ff__belady_last(belady, view, &unit, &next))
            ff__belady_drop(belady);
        ff__belady_arrival(belady, view, access.block, &mask);
    }
    ff__belady_restart(belady);
    return come;
}

void ff__residents_choose(struct ff__residents *residents, struct ff__belady *belady,
                          const struct ff_view *view, uint32_t tier) {
    const struct ff_link_cost *link = ff_view_link(view, FF_TIER_HOST, tier);
    if (residents->chosen || belady->at > 0)
        return;
    residents->chosen = true;
    if (link->access_ps == 0 || link->bytes_per_second == 0)
        return;
    uint64_t room = room_of_devices(view);
    double page_ps = FF_PAGE_SIZE * 1e12 / (double)link->bytes_per_second;
    double stay = cost_of_staying(residents, belady->future, unit_pages(view), room, page_ps,
                                  (double)link->access_ps);
    residents->stay = stay < (double)rehearse(belady, view, room) * page_ps;
}

bool ff__residents_are_without(const struct ff__residents *residents,
                               const struct ff__belady *belady, const struct ff_view *view,
                               uint64_t page) {
    uint32_t block = (uint32_t)(page / FF_BLOCK_PAGES), pages = unit_pages(view);
    uint64_t unit = page / pages * pages;
    return residents->stay &&
           ff_mask_test(ff_view_resident(view, FF_TIER_HOST, block), page % FF_BLOCK_PAGES) &&
           !stays(residents, uses_of(belady->future, unit, pages), unit);
}

struct ff_mask ff__residents_remote(const struct ff__residents *residents,
                                    const struct ff__belady *belady, const struct ff_view *view,
                                    uint32_t block) {
    struct ff_mask remote = {0};
    uint64_t first = (uint64_t)block * FF_BLOCK_PAGES;
    for (uint32_t page = 0; residents->stay && page < view->blocks[block].page_count; page++)
        if (ff__residents_are_without(residents, belady, view, first + page))
            ff_mask_set(&remote, page);
    return remote;
}
