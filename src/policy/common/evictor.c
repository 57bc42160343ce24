#include "policy/common/evictor.h"

#include "policy/common/recency.h"

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

uint64_t ff__evictor_reserve(void *state, const struct ff_view *view) {
    const struct ff__evictor *evictor = state;
    return evictor->buffer ? view->capacity[evictor->tier] * evictor->buffer / 100 : 0;
}

/* What is named of a block is wanted as a whole, so that the order of the pieces is of no account.
 */
static bool joins(const struct ff__naming *naming, uint32_t block, const struct ff_mask *pages) {
    const struct ff_victim_list *victims = naming->victims;
    for (uint32_t i = victims->count; i-- > 0;) {
        struct ff_victim *item = &victims->items[i];
        if (item->block == block) {
            item->pages = ff_mask_or(&item->pages, pages);
            return true;
        }
    }
    return false;
}

void ff__name(struct ff__naming *naming, uint32_t block, const struct ff_mask *pages) {
    struct ff_victim_list *victims = naming->victims;
    if (!joins(naming, block, pages)) {
        naming->full = victims->count == victims->capacity;
        if (naming->full)
            return;
        victims->items[victims->count++] = (struct ff_victim){block, *pages};
    }
    naming->named += ff_mask_count(pages);
}
