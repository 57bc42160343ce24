/* Objects that the caller owns, in no order; a map says where each one's is. */
#include "preload/preload.h"

#include "base/grow.h"

static uint64_t key_of(const void *handle) {
    return (uintptr_t)handle;
}

bool ff__handles_put(struct ff__handles *handles, const void *handle, void *object) {
    if (ff__grow(&handles->items, handles->count, sizeof *handles->items) ||
        ff__map_put(&handles->places, key_of(handle), handles->count))
        return false;
    handles->items[handles->count++] = (struct ff__handle){handle, object};
    return true;
}

void *ff__handles_find(const struct ff__handles *handles, const void *handle) {
    uint32_t place;
    return ff__map_get(&handles->places, key_of(handle), &place) ? handles->items[place].object
                                                                 : NULL;
}

/* The last one takes its place. */
void *ff__handles_take(struct ff__handles *handles, const void *handle) {
    uint32_t place;
    if (!ff__map_get(&handles->places, key_of(handle), &place))
        return NULL;
    void *object = handles->items[place].object;
    ff__map_remove(&handles->places, key_of(handle));
    const struct ff__handle last = handles->items[--handles->count];
    handles->items[place] = last;
    if (place < handles->count) /* the map has room, as there was for the one that is gone */
        ff__map_put(&handles->places, key_of(last.handle), place);
    return object;
}
