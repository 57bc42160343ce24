#include "engine/fault_places.h"

static struct ff__fault_place *find(struct ff__fault_places *places, uint64_t code) {
    struct ff__fault_place *least = &places->of[0];
    for (uint32_t i = 0; i < places->count; i++) {
        if (places->of[i].code == code)
            return &places->of[i];
        if (places->of[i].faults < least->faults)
            least = &places->of[i];
    }
    if (places->count < FF__FAULT_PLACES)
        least = &places->of[places->count++];
    least->code = code;
    return least;
}

void ff__fault_places_note(struct ff__fault_places *places, uint64_t code) {
    find(places, code)->faults++;
    places->faults++;
}
