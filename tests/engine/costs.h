/* What faults and links cost in tests for which it does not matter: an engine must be told. */
#ifndef FF_TESTS_ENGINE_COSTS_H
#define FF_TESTS_ENGINE_COSTS_H

#include "engine/engine.h"

static inline void set_costs(uint64_t *fault_ns,
                             struct ff_link_cost links[FF_TIERS_MAX][FF_TIERS_MAX]) {
    *fault_ns = 20000;
    for (uint32_t from = 0; from < FF_TIERS_MAX; from++)
        for (uint32_t to = 0; to < FF_TIERS_MAX; to++)
            links[from][to] = (struct ff_link_cost){10000, from == to ? 0 : 12000000000, 0};
}

#endif
