/* Which addresses a context has taken: for whoever stands between the program and calls that act on
 * all of memory. */
#include "backend/soft/context.h"

static bool overlaps(const char *area, uint64_t area_size, uintptr_t low, uintptr_t high) {
    return area && low < (uintptr_t)area + area_size && high > (uintptr_t)area;
}

bool ff_context_owns(struct ff_context *context, const void *pointer, size_t size) {
    const struct ff__memory *memory = &context->soft.memory;
    uintptr_t low = (uintptr_t)pointer, high = size > UINTPTR_MAX - low ? UINTPTR_MAX : low + size;
    bool owns = overlaps(memory->managed, memory->size, low, high) ||
                overlaps(memory->host, memory->size, low, high) ||
                overlaps(memory->zeros, FF_BLOCK_SIZE, low, high);
    for (uint32_t tier = 1; tier < memory->tier_count && !owns; tier++)
        owns = overlaps(memory->frames[tier], memory->frames_size, low, high) ||
               overlaps(memory->nursery[tier], memory->frames_size, low, high);
    return owns;
}
