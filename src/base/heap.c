#include "base/heap.h"

static void put(struct ff__heap *heap, uint32_t place, uint32_t unit, uint64_t key) {
    struct ff__heap_place *at = ff__heap_at(heap, place);
    at->unit = unit;
    at->key = key;
    ff__heap_at(heap, unit)->where = place + 1;
}

static void copy(struct ff__heap *heap, uint32_t to, uint32_t from) {
    const struct ff__heap_place *at = ff__heap_at(heap, from);
    put(heap, to, at->unit, at->key);
}

/* Finds a place for the key, from the hole at `place` on, upwards or downwards. */
static void settle(struct ff__heap *heap, uint32_t place, uint32_t unit, uint64_t key) {
    while (place > 0 && ff__heap_at(heap, (place - 1) / 2)->key < key) {
        copy(heap, place, (place - 1) / 2);
        place = (place - 1) / 2;
    }
    for (uint32_t child; (child = 2 * place + 1) < heap->count; place = child) {
        if (child + 1 < heap->count &&
            ff__heap_at(heap, child + 1)->key > ff__heap_at(heap, child)->key)
            child++;
        if (ff__heap_at(heap, child)->key <= key)
            break;
        copy(heap, place, child);
    }
    put(heap, place, unit, key);
}

void ff__heap_set(struct ff__heap *heap, uint32_t unit, uint64_t key) {
    uint32_t where = ff__heap_at(heap, unit)->where;
    if (where == 0)
        where = ++heap->count;
    settle(heap, where - 1, unit, key);
}

void ff__heap_remove(struct ff__heap *heap, uint32_t unit) {
    uint32_t where = ff__heap_at(heap, unit)->where;
    if (where == 0)
        return;
    ff__heap_at(heap, unit)->where = 0;
    struct ff__heap_place last = *ff__heap_at(heap, --heap->count);
    if (last.unit != unit)
        settle(heap, where - 1, last.unit, last.key);
}
