/* Pieces of 32, 64, 128, ... bytes: each size has a list of those that were given back, and new
 * ones come behind all others. A piece stays of its size. */
#include "ptx/heap.h"

#include "base/lock.h"

#include <stdint.h>
#include <stdlib.h>

#define UNIT  32u /* bytes */
#define SIZES 32u

struct ff__ptx_heap {
    struct ff__lock lock;
    uint8_t *memory;
    size_t units, used;
    uint32_t
        free[SIZES]; /* a list by size: 1 + the unit at which its first piece begins; 0: none */
    uint32_t *next;  /* [units]: of a free piece, as above */
    uint8_t *taken;  /* [units]: 1 + the size of a piece that begins there; 0: none does */
};

struct ff__ptx_heap *ff__ptx_heap_make(void *memory, size_t size) {
    struct ff__ptx_heap *heap = calloc(1, sizeof *heap);
    if (heap == NULL)
        return NULL;
    heap->memory = memory;
    heap->units = size / UNIT < UINT32_MAX ? size / UNIT : UINT32_MAX - 1;
    heap->next = calloc(heap->units + 1, sizeof *heap->next);
    heap->taken = calloc(heap->units + 1, sizeof *heap->taken);
    ff__lock_init(&heap->lock);
    if (heap->next == NULL || heap->taken == NULL) {
        ff__ptx_heap_free(heap);
        return NULL;
    }
    return heap;
}

void ff__ptx_heap_free(struct ff__ptx_heap *heap) {
    if (heap == NULL)
        return;
    ff__lock_fini(&heap->lock);
    free(heap->next);
    free(heap->taken);
    free(heap);
}

/* A piece of at least this size: 1 + its unit; 0: none. */
static uint32_t take(struct ff__ptx_heap *heap, uint32_t size) {
    size_t units = (size_t)1 << size;
    uint32_t found = (uint32_t)heap->used + 1;
    if (heap->free[size] == 0 && units <= heap->units - heap->used) {
        heap->used += units;
        heap->taken[found - 1] = (uint8_t)(size + 1);
        return found;
    }
    while (size < SIZES && heap->free[size] == 0)
        size++;
    if (size == SIZES)
        return 0;
    found = heap->free[size];
    heap->free[size] = heap->next[found - 1];
    heap->taken[found - 1] = (uint8_t)(size + 1);
    return found;
}

void *ff__ptx_heap_take(struct ff__ptx_heap *heap, size_t size) {
    uint32_t wanted = 0;
    while (wanted < SIZES && ((size_t)UNIT << wanted) < size)
        wanted++;
    if (wanted == SIZES)
        return NULL;
    ff__lock_acquire(&heap->lock);
    uint32_t found = take(heap, wanted);
    ff__lock_release(&heap->lock);
    return found != 0 ? heap->memory + (size_t)(found - 1) * UNIT : NULL;
}

static bool give(struct ff__ptx_heap *heap, size_t unit) {
    if (unit >= heap->units || heap->taken[unit] == 0)
        return false;
    uint32_t size = heap->taken[unit] - 1u;
    heap->taken[unit] = 0;
    heap->next[unit] = heap->free[size];
    heap->free[size] = (uint32_t)unit + 1;
    return true;
}

bool ff__ptx_heap_give(struct ff__ptx_heap *heap, void *piece) {
    uintptr_t offset = (uintptr_t)piece - (uintptr_t)heap->memory;
    if (piece == NULL)
        return true;
    ff__lock_acquire(&heap->lock);
    bool was_taken = offset % UNIT == 0 && give(heap, offset / UNIT);
    ff__lock_release(&heap->lock);
    return was_taken;
}
