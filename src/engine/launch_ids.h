/* Execution IDs (DeepUM, section 4.2): the number that launches of one identity share, which is a
 * kernel's name and arguments.
 *
 * A program can make new identities without end, so only a limited number is known at a time; then
 * the one that was launched longest ago is forgotten, and gives its slot to the new one. An ID is
 * made of the slot and of how often it has changed hands (ff_launch_slot() in policy.h), so that
 * what a policy has learned under one ID is never taken for another kernel's. Up to the limit, IDs
 * are 0, 1, 2 and so on. The caller serializes. */
#ifndef FF_ENGINE_LAUNCH_IDS_H
#define FF_ENGINE_LAUNCH_IDS_H

#include "base/map.h"

#include <farfault/policy.h>

struct ff__launch_slot {
    uint64_t identity;
    uint32_t id;
    uint32_t older, newer; /* slots, by their last launch; FF_NONE: none */
};

struct ff__launch_ids {
    struct ff__map slots;       /* identity -> slot */
    struct ff__launch_slot *at; /* [limit], paid for as touched */
    uint32_t count, limit;
    uint32_t oldest, newest; /* slots, by their last launch */
    uint64_t given;          /* IDs so far */
};

/* `limit`: how many identities are known at a time, at most FF_LAUNCH_SLOTS and at least 1. 0 or
 * -ENOMEM. */
int ff__launch_ids_init(struct ff__launch_ids *ids, uint32_t limit);
void ff__launch_ids_fini(struct ff__launch_ids *ids);

/* The ID of an identity that is launched now. 0, or -ENOMEM: nothing has changed. */
int ff__launch_ids_launch(struct ff__launch_ids *ids, uint64_t identity, uint32_t *id);

/* The ID of an identity; FF_NONE: it was never launched, or has been forgotten. */
uint32_t ff__launch_ids_find(const struct ff__launch_ids *ids, uint64_t identity);

#endif
