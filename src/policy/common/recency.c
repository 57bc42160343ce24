#include "policy/common/recency.h"

#define NOBODY   0u
#define RESERVED FF__RECENCY_RESERVED

static inline struct ff__recency_link *at(const struct ff__recency *list, uint32_t number) {
    return ff__recency_link(list, number - 1);
}

static void cut(struct ff__recency *list, uint32_t number) {
    struct ff__recency_link *link = at(list, number);
    uint32_t next = link->next, prev = link->prev & ~RESERVED;
    if (list->edge == number)
        list->edge = next;
    list->reserved -= link->prev >> 31;
    if (prev == NOBODY)
        list->head = next;
    else
        at(list, prev)->next = next;
    if (next == NOBODY)
        list->tail = prev;
    else if (list->percent == 0) /* not even looked at: it may be far from the processor */
        at(list, next)->prev = prev;
    else
        at(list, next)->prev = (at(list, next)->prev & RESERVED) | prev;
    *link = (struct ff__recency_link){NOBODY, NOBODY};
    list->count--;
}

static void append(struct ff__recency *list, uint32_t number) {
    uint32_t last = list->tail;
    *at(list, number) = (struct ff__recency_link){NOBODY, last};
    list->tail = number;
    list->count++;
    if (last == NOBODY)
        list->head = number;
    else
        at(list, last)->next = number;
    if (list->edge == NOBODY)
        list->edge = number;
}

/* Moves the edge to where it belongs: a step or two, as the list changes by one unit at a time. */
static void settle(struct ff__recency *list) {
    uint32_t wanted = (uint32_t)((uint64_t)list->count * list->percent / 100);
    for (; list->reserved < wanted; list->reserved++) {
        at(list, list->edge)->prev |= RESERVED;
        list->edge = at(list, list->edge)->next;
    }
    for (; list->reserved > wanted; list->reserved--) {
        list->edge = list->edge ? at(list, list->edge)->prev & ~RESERVED : list->tail;
        at(list, list->edge)->prev &= ~RESERVED;
    }
}

/* cut() and append() in one, if nothing is reserved and the unit is not the last. */
static void move_last(struct ff__recency *list, uint32_t number) {
    struct ff__recency_link *link = at(list, number);
    uint32_t next = link->next, prev = link->prev, last = list->tail;
    if (list->edge == number)
        list->edge = next;
    if (prev == NOBODY)
        list->head = next;
    else
        at(list, prev)->next = next;
    at(list, next)->prev = prev;
    at(list, last)->next = number;
    link->next = NOBODY;
    link->prev = last;
    list->tail = number;
}

void ff__recency_touch(struct ff__recency *list, uint32_t id) {
    if (list->tail == id + 1)
        return;
    bool there = ff__recency_has(list, id);
    if (there && list->percent == 0) {
        move_last(list, id + 1);
        return;
    }
    if (there)
        cut(list, id + 1);
    append(list, id + 1);
    if (list->percent > 0)
        settle(list);
}

void ff__recency_remove(struct ff__recency *list, uint32_t id) {
    if (!ff__recency_has(list, id))
        return;
    cut(list, id + 1);
    if (list->percent > 0)
        settle(list);
}
