/* An indexed heap: units with a 64-bit key each, the greatest on top. It lies in memory that its
 * owner lends, one place a unit, wherever the owner has it; nothing is allocated. */
#ifndef FF_BASE_HEAP_H
#define FF_BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the heap keeps by unit id: where the unit is in the heap, and what is at the place of that
 * number. */
struct ff__heap_place {
    uint64_t key;   /* of the unit at this place */
    uint32_t unit;  /* at this place */
    uint32_t where; /* this unit's place, plus one; 0: not in the heap */
};

struct ff__heap {
    unsigned char *places;
    size_t stride;
    uint32_t count;
};

static inline struct ff__heap_place *ff__heap_at(const struct ff__heap *heap, uint32_t place) {
    return (struct ff__heap_place *)(heap->places + (size_t)place * heap->stride);
}

static inline bool ff__heap_has(const struct ff__heap *heap, uint32_t unit) {
    return ff__heap_at(heap, unit)->where != 0;
}

/* The unit with the greatest key; the heap must not be empty. */
static inline uint32_t ff__heap_top(const struct ff__heap *heap) {
    return ff__heap_at(heap, 0)->unit;
}

static inline uint64_t ff__heap_key(const struct ff__heap *heap, uint32_t unit) {
    return ff__heap_at(heap, ff__heap_at(heap, unit)->where - 1)->key;
}

/* Puts the unit in, or changes its key. */
void ff__heap_set(struct ff__heap *heap, uint32_t unit, uint64_t key);

/* Nothing if it is not in the heap. */
void ff__heap_remove(struct ff__heap *heap, uint32_t unit);

#endif
