#include "policy/deepum/buddy.h"

#include <farfault/policy.h>

/* In a free region's first bytes. */
struct free_region {
    uint32_t next, before;
};

static struct free_region *link_of(const struct ff__buddy *buddy, uint32_t unit) {
    return ff__buddy_at(buddy, unit);
}

void ff__buddy_start(struct ff__buddy *buddy, void *memory, size_t size, size_t unit_size,
                     uint32_t top) {
    size_t region = (size_t)1 << top, count = size / (region * (unit_size + 1));
    buddy->units = memory;
    buddy->count = count < FF_NONE >> top ? (uint32_t)count : FF_NONE >> top;
    buddy->free = buddy->units + buddy->count * region * unit_size;
    buddy->unit_size = unit_size;
    buddy->top = top;
    buddy->fresh = 0;
    for (uint32_t order = 0; order < FF__BUDDY_ORDERS; order++)
        buddy->head[order] = FF_NONE;
}

static void push(struct ff__buddy *buddy, uint32_t unit, uint32_t order) {
    uint32_t next = buddy->head[order];
    *link_of(buddy, unit) = (struct free_region){next, FF_NONE};
    if (next != FF_NONE)
        link_of(buddy, next)->before = unit;
    buddy->head[order] = unit;
    buddy->free[unit] = (uint8_t)(order + 1);
}

static void unlink_region(struct ff__buddy *buddy, uint32_t unit, uint32_t order) {
    struct free_region link = *link_of(buddy, unit);
    if (link.before == FF_NONE)
        buddy->head[order] = link.next;
    else
        link_of(buddy, link.before)->next = link.next;
    if (link.next != FF_NONE)
        link_of(buddy, link.next)->before = link.before;
    buddy->free[unit] = 0;
}

/* The smallest free region that will do, or one that was never taken. */
static uint32_t find(struct ff__buddy *buddy, uint32_t *order) {
    for (; *order <= buddy->top; ++*order) {
        uint32_t unit = buddy->head[*order];
        if (unit != FF_NONE) {
            unlink_region(buddy, unit, *order);
            return unit;
        }
    }
    *order = buddy->top;
    return buddy->fresh < buddy->count ? buddy->fresh++ << buddy->top : FF_NONE;
}

uint32_t ff__buddy_take(struct ff__buddy *buddy, uint32_t order) {
    uint32_t found = order, unit = find(buddy, &found);
    if (unit == FF_NONE)
        return FF_NONE;
    while (found > order) {
        found--;
        push(buddy, unit + (1u << found), found);
    }
    return unit;
}

void ff__buddy_give(struct ff__buddy *buddy, uint32_t unit, uint32_t order) {
    for (; order < buddy->top; order++) {
        uint32_t other = unit ^ (1u << order);
        if (buddy->free[other] != order + 1)
            break;
        unlink_region(buddy, other, order);
        unit &= ~(1u << order);
    }
    push(buddy, unit, order);
}
