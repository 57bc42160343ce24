/* A launch without operands, whose advice is ignored. */
#ifndef FF_TESTS_ENGINE_LAUNCH_H
#define FF_TESTS_ENGINE_LAUNCH_H

#include "engine/internal.h"

static inline int tell_launch(struct ff__engine *engine, uint64_t now_ns, uint32_t tier,
                              uint64_t identity, bool begins) {
    struct ff_advice items[16];
    struct ff_advice_list advice = {.items = items, .capacity = 16};
    const struct ff__launch launch = {.tier = tier, .begins = begins, .identity = identity};
    if (!ff__engine_can_tell(engine))
        ff__engine_learn_all(engine);
    return ff__engine_launch(engine, now_ns, &launch, &advice);
}

#endif
