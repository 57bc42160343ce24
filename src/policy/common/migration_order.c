#include "policy/common/migration_order.h"

static struct ff__recency *list_of(struct ff__order *order, uint32_t list) {
    return &order->lists[list - FF__ORDER_DISCARDED];
}

static void take_out(struct ff__order *order, uint32_t block) {
    struct ff__order_link *link = ff__order_at(order, block);
    if (link->list == FF__ORDER_NONE)
        return;
    ff__recency_remove(list_of(order, link->list), block);
    link->list = FF__ORDER_NONE;
}

static void move_to_tail(struct ff__order *order, uint32_t block, enum ff__order_list list) {
    struct ff__order_link *link = ff__order_at(order, block);
    if (link->list != list)
        take_out(order, block);
    ff__recency_touch(list_of(order, list), block);
    link->list = list;
    link->when = ++order->clock;
}

void ff__order_start(struct ff__order *order, void *links, size_t stride) {
    order->clock = FF__ORDER_RECENT;
    for (uint32_t list = FF__ORDER_DISCARDED; list < FF__ORDER_LISTS; list++)
        *list_of(order, list) = (struct ff__recency){.links = links, .stride = stride};
}

bool ff__order_is_movable(const struct ff__order *order, const struct ff_view *view,
                          uint32_t block) {
    return ff__order_at(order, block)->list != FF__ORDER_NONE &&
           view->blocks[block].page_count == FF_BLOCK_PAGES;
}

void ff__order_on_arrival(void *order, const struct ff_view *view,
                          const struct ff_arrival *arrival) {
    if (arrival->kind == FF_ARRIVAL_ALLOCATED || ff__order_is_movable(order, view, arrival->block))
        move_to_tail(order, arrival->block, FF__ORDER_USED);
}

void ff__order_on_leave(void *order, const struct ff_view *view, const struct ff_leave *leave) {
    if (leave->kind == FF_LEAVE_RELEASED)
        take_out(order, leave->block);
    else if (leave->kind == FF_LEAVE_DEAD && ff__order_is_movable(order, view, leave->block))
        move_to_tail(order, leave->block, FF__ORDER_DISCARDED);
}

void ff__order_block_freed(void *order, uint32_t block) {
    take_out(order, block);
}

uint32_t ff__order_next(const struct ff__order *order, uint32_t block) {
    uint32_t next = 0, list = FF__ORDER_DISCARDED; /* next: plus one; 0: none */
    if (block != FF_NONE) {
        next = ff__order_at(order, block)->link.next;
        list = ff__order_at(order, block)->list + 1;
    }
    for (; next == 0 && list < FF__ORDER_LISTS; list++)
        next = order->lists[list - FF__ORDER_DISCARDED].head;
    return next == 0 ? FF_NONE : next - 1;
}

void ff__order_name(const struct ff__order *order, const struct ff_view *view,
                    const struct ff_evict_request *request, struct ff_victim_list *victims) {
    for (uint32_t block = ff__order_next(order, FF_NONE);
         block != FF_NONE && victims->count < victims->capacity;
         block = ff__order_next(order, block)) {
        if (block == request->for_block || !ff_view_evictable(view, request->tier, block))
            continue;
        ff_victim_add(victims, block);
    }
}
