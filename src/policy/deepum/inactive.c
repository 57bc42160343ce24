/* DeepUM's invalidation (section 5.2): what belongs to an inactive block of an allocator is
 * dropped, not copied. The paper drops UM blocks; that a page wholly inside can go, too, is ours.
 */
#include "policy/registry.h"

struct inactive {
    bool parts;
};

enum { PARTS, PARAMS };

static const struct ff_param params[PARAMS + 1] = {
    [PARTS] = {"parts", FF_PARAM_BOOL, 0, 0, 1,
               "also drop the inactive pages of blocks that are inactive only in part"},
};

static int init(void *state, const struct ff_policy_env *env) {
    ((struct inactive *)state)->parts = env->params[PARTS] != 0;
    return 0;
}

static void dead(void *state, const struct ff_view *view, uint32_t block, struct ff_mask *pages) {
    const struct inactive *policy = state;
    struct ff_mask all = ff_mask_of_run(0, view->blocks[block].page_count);
    const struct ff_mask *inactive = &ff_view_facts(view, block)->inactive;
    if (policy->parts || ff_mask_within(&all, inactive))
        *pages = ff_mask_or(pages, inactive);
}

const struct ff_discard_policy ff__discard_inactive = {
    .base =
        {
            .name = "inactive",
            .summary = "pages of inactive allocator blocks are dropped, too (DeepUM)",
            .api = FF_POLICY_API,
            .state_size = sizeof(struct inactive),
            .params = params,
            .init = init,
        },
    .dead = dead,
};
