#include "policy/common/migration_order.h"

static void unlink_block(struct ff__order *order, uint32_t block) {
    struct ff__order_link *link = ff__order_at(order, block);
    if (link->list == FF__ORDER_NONE)
        return;
    if (link->prev == FF_NONE)
        order->head[link->list] = link->next;
    else
        ff__order_at(order, link->prev)->next = link->next;
    if (link->next == FF_NONE)
        order->tail[link->list] = link->prev;
    else
        ff__order_at(order, link->next)->prev = link->prev;
    link->list = FF__ORDER_NONE;
}

static void move_to_tail(struct ff__order *order, uint32_t block, enum ff__order_list list) {
    unlink_block(order, block);
    uint32_t last = order->tail[list];
    *ff__order_at(order, block) = (struct ff__order_link){FF_NONE, last, list, ++order->clock};
    order->tail[list] = block;
    if (last == FF_NONE)
        order->head[list] = block;
    else
        ff__order_at(order, last)->next = block;
}

void ff__order_start(struct ff__order *order, void *links, size_t stride) {
    order->links = links;
    order->stride = stride;
    order->clock = FF__ORDER_RECENT;
    for (int list = 0; list < FF__ORDER_LISTS; list++)
        order->head[list] = order->tail[list] = FF_NONE;
}

void ff__order_on_activate(void *order, const struct ff_view *view, uint32_t block) {
    (void)view;
    move_to_tail(order, block, FF__ORDER_USED);
}

bool ff__order_is_movable(const struct ff__order *order, const struct ff_view *view,
                          uint32_t block) {
    return ff__order_at(order, block)->list != FF__ORDER_NONE &&
           view->blocks[block].page_count == FF_BLOCK_PAGES;
}

void ff__order_on_used(void *order, const struct ff_view *view, uint32_t block,
                       const struct ff_mask *pages) {
    (void)pages;
    if (ff__order_is_movable(order, view, block))
        move_to_tail(order, block, FF__ORDER_USED);
}

void ff__order_on_discarded(void *order, const struct ff_view *view, uint32_t block) {
    if (ff__order_is_movable(order, view, block))
        move_to_tail(order, block, FF__ORDER_DISCARDED);
}

void ff__order_on_release(void *order, const struct ff_view *view, uint32_t block) {
    (void)view;
    unlink_block(order, block);
}

void ff__order_block_freed(void *order, uint32_t block) {
    unlink_block(order, block);
}

uint32_t ff__order_next(const struct ff__order *order, uint32_t block) {
    uint32_t next = FF_NONE;
    int list = FF__ORDER_DISCARDED;
    if (block != FF_NONE) {
        next = ff__order_at(order, block)->next;
        list = (int)ff__order_at(order, block)->list + 1;
    }
    for (; next == FF_NONE && list < FF__ORDER_LISTS; list++)
        next = order->head[list];
    return next;
}
