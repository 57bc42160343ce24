/* Where in the program's code faults are met: few places make most of them (Eden, NSDI 2025).
 *
 * The heaviest of all places so far, by the Space-Saving algorithm (Metwally et al., ICDT 2005): a
 * place that is not known takes the row of the one with the fewest faults, and counts on from
 * there. A place with more than a 64th of all faults is never missed. */
#ifndef FF_ENGINE_FAULT_PLACES_H
#define FF_ENGINE_FAULT_PLACES_H

#include <stdint.h>

#define FF__FAULT_PLACES 64u

struct ff__fault_place {
    uint64_t code; /* the address of the instruction */
    uint64_t faults;
};

struct ff__fault_places {
    uint32_t count;
    uint64_t faults; /* of all places */
    struct ff__fault_place of[FF__FAULT_PLACES];
};

void ff__fault_places_note(struct ff__fault_places *places, uint64_t code);

#endif
