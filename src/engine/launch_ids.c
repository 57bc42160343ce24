#include "engine/launch_ids.h"

#include "base/lazy.h"

#include <errno.h>
#include <string.h>

#define NONE_LEFT                                                                                  \
    (UINT32_MAX - UINT32_MAX % FF_LAUNCH_SLOTS) /* IDs from here on would reach FF_NONE */

int ff__launch_ids_init(struct ff__launch_ids *ids, uint32_t limit) {
    memset(ids, 0, sizeof *ids);
    ids->limit = limit;
    ids->oldest = ids->newest = FF_NONE;
    ids->at = ff__lazy_map(limit * sizeof *ids->at);
    int status =
        ff__map_reserve(&ids->slots, limit + 1); /* a new one is put before the oldest goes */
    return ids->at ? status : -ENOMEM;
}

void ff__launch_ids_fini(struct ff__launch_ids *ids) {
    ff__map_fini(&ids->slots);
    ff__lazy_unmap(ids->at, ids->limit * sizeof *ids->at);
    memset(ids, 0, sizeof *ids);
}

/* ---- by last launch ---- */

static void leave_order(struct ff__launch_ids *ids, uint32_t slot) {
    const struct ff__launch_slot *at = &ids->at[slot];
    if (at->older == FF_NONE)
        ids->oldest = at->newer;
    else
        ids->at[at->older].newer = at->newer;
    if (at->newer == FF_NONE)
        ids->newest = at->older;
    else
        ids->at[at->newer].older = at->older;
}

static void join_order(struct ff__launch_ids *ids, uint32_t slot) {
    ids->at[slot].older = ids->newest;
    ids->at[slot].newer = FF_NONE;
    if (ids->newest == FF_NONE)
        ids->oldest = slot;
    else
        ids->at[ids->newest].newer = slot;
    ids->newest = slot;
}

/* ---- slots ---- */

/* The ID of the slot's next owner. After 4095 owners it begins anew: nothing is known of so long
 * ago. */
static uint32_t next_id(uint32_t id) {
    uint32_t next = id + FF_LAUNCH_SLOTS;
    return next < NONE_LEFT ? next : ff_launch_slot(id);
}

/* A slot for a new identity: an unused one, or the oldest one's. */
static int take_slot(struct ff__launch_ids *ids, uint64_t identity, uint32_t *slot) {
    bool is_full = ids->count == ids->limit;
    *slot = is_full ? ids->oldest : ids->count;
    if (ff__map_put(&ids->slots, identity, *slot))
        return -ENOMEM;
    struct ff__launch_slot *at = &ids->at[*slot];
    if (is_full) {
        ff__map_remove(&ids->slots, at->identity);
        leave_order(ids, *slot);
        at->id = next_id(at->id);
    } else {
        at->id = ids->count++;
    }
    at->identity = identity;
    join_order(ids, *slot);
    ids->given++;
    return 0;
}

/* ---- public to the library ---- */

int ff__launch_ids_launch(struct ff__launch_ids *ids, uint64_t identity, uint32_t *id) {
    uint32_t slot;
    if (ff__map_get(&ids->slots, identity, &slot)) {
        leave_order(ids, slot);
        join_order(ids, slot);
    } else if (take_slot(ids, identity, &slot)) {
        return -ENOMEM;
    }
    *id = ids->at[slot].id;
    return 0;
}

uint32_t ff__launch_ids_find(const struct ff__launch_ids *ids, uint64_t identity) {
    uint32_t slot;
    return ff__map_get(&ids->slots, identity, &slot) ? ids->at[slot].id : FF_NONE;
}
