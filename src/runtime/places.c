#include "runtime/context.h"

#include "base/sized.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DESCRIPTORS "/proc/self/fd" /* an object without a name, which nobody else can open */

static int by_faults(const void *a, const void *b) {
    const struct ff__fault_place *x = a, *y = b;
    return x->faults == y->faults  ? (x->code > y->code) - (x->code < y->code)
           : x->faults > y->faults ? -1
                                   : 1;
}

/* Whether the linker knows the object that the code is in. */
static bool look_up(uint64_t code, struct ff_place *out) {
    struct link_map *object = NULL;
    Dl_info about;
    *out = (struct ff_place){.offset = code};
    if (!dladdr1((void *)(uintptr_t)code, &about, (void **)&object, RTLD_DL_LINKMAP))
        return false;
    if (about.dli_sname)
        snprintf(out->function, sizeof out->function, "%s", about.dli_sname);
    if (strncmp(about.dli_fname, DESCRIPTORS, sizeof DESCRIPTORS - 1) != 0)
        snprintf(out->object, sizeof out->object, "%s", about.dli_fname);
    out->offset = code - object->l_addr;
    return true;
}

static const struct ff_place *find_kept(const struct ff__named_places *named, uint64_t code) {
    for (uint32_t i = 0; i < named->count; i++)
        if (named->code[i] == code)
            return &named->of[i];
    return NULL;
}

/* Other code may lie where this was: what was kept counts. */
static struct ff_place describe(struct ff_context *context, uint64_t code) {
    struct ff_place out;
    ff__lock_acquire(&context->named_places.lock);
    const struct ff_place *kept = find_kept(&context->named_places, code);
    if (kept)
        out = *kept;
    ff__lock_release(&context->named_places.lock);
    if (!kept)
        look_up(code, &out);
    return out;
}

static struct ff__fault_places places_of(struct ff_context *context) {
    ff__pipeline_lock(&context->pipeline);
    struct ff__fault_places places = context->pipeline.places;
    ff__pipeline_unlock(&context->pipeline);
    return places;
}

static void keep(struct ff__named_places *named, uint64_t code, const struct ff_place *place) {
    ff__lock_acquire(&named->lock);
    if (named->count < FF__FAULT_PLACES && !find_kept(named, code)) {
        named->code[named->count] = code;
        named->of[named->count++] = *place;
    }
    ff__lock_release(&named->lock);
}

void ff_places_keep(struct ff_context *context) {
    if (!context || ff__context_is_inherited(context))
        return;
    const struct ff__fault_places places = places_of(context);
    for (uint32_t i = 0; i < places.count; i++) {
        struct ff_place place;
        if (look_up(places.of[i].code, &place))
            keep(&context->named_places, places.of[i].code, &place);
    }
}

uint32_t ff_places_read_sized(struct ff_context *context, struct ff_place *out, uint32_t capacity,
                              size_t size) {
    uint32_t count;
    if (ff__context_is_inherited(context))
        return 0;
    struct ff__fault_places places = places_of(context);
    qsort(places.of, places.count, sizeof places.of[0], by_faults);
    for (count = 0; count < places.count && count < capacity; count++) {
        struct ff_place place = describe(context, places.of[count].code);
        place.share = (double)places.of[count].faults / (double)places.faults;
        ff__sized_put((char *)out + count * size, size, &place, sizeof place);
    }
    return count;
}
