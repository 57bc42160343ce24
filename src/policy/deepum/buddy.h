/* Regions of 2^order units each from one piece of memory that its owner lends: a buddy allocator.
 * Memory that was never taken is never touched. */
#ifndef FF_POLICY_DEEPUM_BUDDY_H
#define FF_POLICY_DEEPUM_BUDDY_H

#include <stddef.h>
#include <stdint.h>

#define FF__BUDDY_ORDERS 16u

struct ff__buddy {
    unsigned char *units;
    uint8_t *free; /* [unit] of a free region's first unit: its order plus one; else 0 */
    size_t unit_size;
    uint32_t top;                    /* order of the largest regions */
    uint32_t count, fresh;           /* largest regions: how many there are, and were ever taken */
    uint32_t head[FF__BUDDY_ORDERS]; /* free regions by order; FF_NONE: none */
};

/* Lays itself out in `size` zeroed bytes. `unit_size`: at least 8, a multiple of 4. */
void ff__buddy_start(struct ff__buddy *buddy, void *memory, size_t size, size_t unit_size,
                     uint32_t top);

/* A region's first unit, or FF_NONE. */
uint32_t ff__buddy_take(struct ff__buddy *buddy, uint32_t order);
void ff__buddy_give(struct ff__buddy *buddy, uint32_t unit, uint32_t order);

static inline void *ff__buddy_at(const struct ff__buddy *buddy, uint32_t unit) {
    return buddy->units + unit * buddy->unit_size;
}

#endif
