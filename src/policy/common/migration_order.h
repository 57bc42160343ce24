/* Blocks of a device in the order of their last service: the NVIDIA driver's lists (595.45.04,
 * uvm_pmm_gpu.c), for the policies that begin with it.
 *
 * The driver keeps its 2 MiB root chunks on three lists and always evicts the head of the first
 * list that has one; whatever happens to a chunk moves it to a tail. "Happens" means service: an
 * access that hits is invisible, so this is not LRU of accesses.
 *
 * Two of the three lists are here. The driver's first one, UNUSED, holds chunks whose last resident
 * page left while the block kept the memory; no hook tells that, because the engine gives memory
 * back in that case. FF_LEAVE_RELEASED then takes the block off its list, and the frame is free,
 * which is where the driver looks even before UNUSED. */
#ifndef FF_POLICY_COMMON_MIGRATION_ORDER_H
#define FF_POLICY_COMMON_MIGRATION_ORDER_H

#include "policy/common/recency.h"

#include <farfault/policy.h>

enum ff__order_list {
    FF__ORDER_NONE, /* zero is "on no list" */
    FF__ORDER_DISCARDED,
    FF__ORDER_USED,
    FF__ORDER_LISTS
}; /* searched in this order */

struct ff__order_link {
    struct ff__recency_link link; /* on its list */
    uint32_t list;
    uint32_t when; /* of its last service */
};

/* The head of every such policy's state. */
struct ff__order {
    struct ff__recency lists[FF__ORDER_LISTS - FF__ORDER_DISCARDED]; /* they share their links */
    uint32_t clock;                                                  /* services so far */
};

static inline struct ff__order_link *ff__order_at(const struct ff__order *order, uint32_t block) {
    return (struct ff__order_link *)(void *)ff__recency_link(&order->lists[0], block);
}

/* `links`: the one of block 0, zero at first, `stride` bytes before that of block 1. */
void ff__order_start(struct ff__order *order, void *links, size_t stride);

/* Hooks, for a policy whose state begins with the order. */
void ff__order_on_arrival(void *order, const struct ff_view *view,
                          const struct ff_arrival *arrival);
void ff__order_on_leave(void *order, const struct ff_view *view, const struct ff_leave *leave);
void ff__order_block_freed(void *order, uint32_t block);

/* Whether service and discard move the block. In the driver only a block of a whole 2 MiB owns its
 * root chunk; a shorter one shares roots by 64 KiB and 4 KiB chunks, and keeps the place that its
 * allocation gave it. */
bool ff__order_is_movable(const struct ff__order *order, const struct ff_view *view,
                          uint32_t block);

/* Whether it was served so lately that the faulting threads may still be using it. */
#define FF__ORDER_RECENT 8u
static inline bool ff__order_is_recent(const struct ff__order *order, uint32_t block) {
    return order->clock - ff__order_at(order, block)->when < FF__ORDER_RECENT;
}

/* The block after this one (FF_NONE: the first), whichever list it is on; FF_NONE: the end. */
uint32_t ff__order_next(const struct ff__order *order, uint32_t block);

/* Names what can leave, in this order. Costs the victims and the busy blocks passed over, not the
 * blocks there are. */
void ff__order_name(const struct ff__order *order, const struct ff_view *view,
                    const struct ff_evict_request *request, struct ff_victim_list *victims);

#endif
