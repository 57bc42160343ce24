#include "policy/evict/evictor.h"

#include "policy/evict/recency.h"

#include <errno.h>

const struct ff_param ff__evictor_params[FF__EVICTOR_PARAMS + 1] = {FF__EVICTOR_ROWS};

int ff__evictor_start(struct ff__evictor *evictor, const struct ff_policy_env *env,
                      uint32_t units_of_block) {
    if (env->block_limit > FF__RECENCY_UNITS / units_of_block)
        return -EINVAL;
    evictor->tier = env->tier;
    evictor->reserve = (uint32_t)env->params[FF__PARAM_RESERVE];
    evictor->buffer = (uint32_t)env->params[FF__PARAM_BUFFER];
    return 0;
}

uint64_t ff__evictor_stock(void *state, const struct ff_view *view) {
    const struct ff__evictor *evictor = state;
    return evictor->buffer ? view->capacity[evictor->tier] * evictor->buffer / 100 : 0;
}

/* The block's entry; a new one has no pages. NULL if it cannot be had. What is named is wanted as a
 * whole, so that the order of the pieces is of no account. */
static struct ff_advice *entry_of(struct ff__naming *naming, uint32_t block) {
    struct ff_advice_list *victims = naming->victims;
    for (uint32_t i = victims->count; i-- > 0;)
        if (victims->items[i].block == block)
            return &victims->items[i];
    naming->full = victims->count == victims->capacity;
    if (naming->full)
        return NULL;
    struct ff_advice *entry = &victims->items[victims->count++];
    entry->block = block;
    entry->tier = naming->request->tier;
    entry->launch = FF_NONE;
    ff_mask_clear(&entry->pages);
    return entry;
}

void ff__name(struct ff__naming *naming, uint32_t block, const struct ff_mask *pages) {
    struct ff_advice *entry = entry_of(naming, block);
    if (!entry)
        return;
    naming->named += ff_mask_count(pages);
    entry->pages = ff_mask_or(&entry->pages, pages);
}

void ff__name_page(struct ff__naming *naming, uint32_t block, uint32_t page) {
    struct ff_advice *entry = entry_of(naming, block);
    if (!entry)
        return;
    naming->named++;
    ff_mask_set(&entry->pages, page);
}
