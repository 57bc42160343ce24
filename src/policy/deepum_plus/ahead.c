#include "policy/deepum_plus/ahead.h"

void ff__ahead_insert(uint32_t block, uint64_t use, uint64_t uses[FF__AHEAD_NAMED], uint32_t most,
                      struct ff_victim_list *victims) {
    if (victims->count == most && use <= uses[most - 1])
        return;
    uint32_t at = victims->count < most ? victims->count++ : most - 1;
    for (; at > 0 && uses[at - 1] < use; at--) {
        uses[at] = uses[at - 1];
        victims->items[at].block = victims->items[at - 1].block;
    }
    uses[at] = use;
    victims->items[at].block = block;
}

/* The first next use of the blocks that share the victim's chunk; FF_NO_USE: it shares its chunk
 * with none. */
static uint64_t next_of_chunk(const struct ff_view *view, uint32_t tier, uint32_t victim) {
    uint32_t mates[FF_CHUNK_LEAVES], count = ff_view_mates(view, tier, victim, mates);
    uint64_t next = FF_NO_USE;
    for (uint32_t i = 0; i < count && count > 1; i++) {
        uint64_t use = ff_view_next_use(view, tier, mates[i]);
        next = use < next ? use : next;
    }
    return next;
}

void ff__ahead_judge_chunks(const struct ff_view *view, const struct ff_evict_request *request,
                            struct ff_victim_list *victims) {
    uint64_t uses[FF__AHEAD_NAMED], needed = 0;
    uint32_t tier = request->tier, count = victims->count;
    if (request->granule < FF_BLOCK_PAGES || !view->forecast.hooks)
        return; /* no block leaves for sharing a chunk */
    if (request->cause == FF_EVICT_FOR_PREFETCH)
        needed = ff_view_next_use(view, tier, request->for_block);
    victims->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t block = victims->items[i].block;
        uint64_t use = next_of_chunk(view, tier, block);
        bool too_soon = request->cause == FF_EVICT_FOR_PREFETCH && use <= needed;
        if (use == FF_NO_USE || !too_soon)
            ff__ahead_insert(block, use, uses, FF__AHEAD_NAMED, victims);
    }
}
