/* What faults and links cost in tests for which it does not matter: a backend must say it. */
#ifndef FF_TESTS_FAKE_COSTS_H
#define FF_TESTS_FAKE_COSTS_H

#include "engine/backend.h"

static inline void set_costs(struct ff__description *backend) {
    backend->fault_ns = 20000;
    for (uint32_t from = 0; from < backend->tier_count; from++)
        for (uint32_t to = 0; to < backend->tier_count; to++)
            backend->link[from][to] = (struct ff_link_cost){10000, from == to ? 0 : 12000000000, 0};
}

#endif
