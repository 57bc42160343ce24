#include "policy/memharvester/lenders.h"

/* A quarter of the device at most, as pre-eviction has it, so that small devices lend, too. What
 * the broker keeps of a neighbour's memory, it has not lent to this program in the first place. */
static uint64_t kept(const struct ff__lenders *lenders, const struct ff_view *view, uint32_t tier) {
    uint64_t most = view->capacity[tier] / 4;
    if (view->lending[tier].guests_only)
        return 0;
    return lenders->keep < most ? lenders->keep : most;
}

/* Memory that is free, or is at once when guests with a copy on the host go; and of it what may be
 * lent. */
static bool can_lend(const struct ff__lenders *lenders, const struct ff_view *view, uint32_t tier) {
    const struct ff_lending *lending = &view->lending[tier];
    uint64_t there = ff_view_free_pages(view, tier) + lending->removable;
    bool has_room = lending->removable > 0 || lending->lent < lending->limit;
    return lending->limit > 0 && has_room && there > kept(lenders, view, tier);
}

static uint64_t dirty_guests(const struct ff_view *view, uint32_t tier) {
    return view->lending[tier].lent - view->lending[tier].removable;
}

static void sort_by_dirty(const struct ff_view *view, uint32_t *tiers, uint32_t count) {
    for (uint32_t i = 1; i < count; i++)
        for (uint32_t j = i; j > 0; j--) {
            uint32_t tier = tiers[j], before = tiers[j - 1];
            uint64_t mine = dirty_guests(view, tier), its = dirty_guests(view, before);
            if (its < mine || (its == mine && before < tier))
                break;
            tiers[j] = before;
            tiers[j - 1] = tier;
        }
}

uint32_t ff__lenders_list(struct ff__lenders *lenders, const struct ff_view *view, uint32_t user,
                          uint32_t tiers[FF_TIERS_MAX]) {
    uint32_t devices = view->tier_count - 1, count = 0;
    for (uint32_t i = 0; i < devices; i++) {
        uint32_t tier = 1 + (lenders->next + i) % devices;
        if (tier != user && can_lend(lenders, view, tier))
            tiers[count++] = tier;
    }
    if (lenders->choice == FF__LENDER_FEWEST_DIRTY)
        sort_by_dirty(view, tiers, count);
    else if (count > 0)
        lenders->next = tiers[0] % devices; /* the tier after it */
    return count;
}
