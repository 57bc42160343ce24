/* Names for the places in the program's code at which faults are met. */
#include "runtime/context.h"

#include "base/sized.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_faults(const void *a, const void *b) {
    const struct ff__fault_place *x = a, *y = b;
    return x->faults == y->faults  ? (x->code > y->code) - (x->code < y->code)
           : x->faults > y->faults ? -1
                                   : 1;
}

static struct ff_place describe(const struct ff__fault_place *place, uint64_t all) {
    struct ff_place out = {.share = (double)place->faults / (double)all, .offset = place->code};
    struct link_map *object = NULL;
    Dl_info about;
    if (!dladdr1((void *)(uintptr_t)place->code, &about, (void **)&object, RTLD_DL_LINKMAP))
        return out;
    if (about.dli_sname)
        snprintf(out.function, sizeof out.function, "%s", about.dli_sname);
    snprintf(out.object, sizeof out.object, "%s", about.dli_fname);
    out.offset = place->code - object->l_addr;
    return out;
}

uint32_t ff_places_read_sized(struct ff_context *context, struct ff_place *out, uint32_t capacity,
                              size_t size) {
    struct ff__fault_places places;
    uint32_t count;
    if (ff__context_is_inherited(context))
        return 0;
    ff__pipeline_lock(&context->pipeline);
    places = context->pipeline.places;
    ff__pipeline_unlock(&context->pipeline);
    qsort(places.of, places.count, sizeof places.of[0], by_faults);
    for (count = 0; count < places.count && count < capacity; count++) {
        struct ff_place place = describe(&places.of[count], places.faults);
        ff__sized_put((char *)out + count * size, size, &place, sizeof place);
    }
    return count;
}
