/* Names for the places in the program's code at which faults are met. */
#ifndef FF_RUNTIME_PLACES_H
#define FF_RUNTIME_PLACES_H

#include "base/lock.h"
#include "engine/fault_places.h"

#include <farfault/farfault.h>

/* Names that were found while their code was there. */
struct ff__named_places {
    struct ff__lock lock;
    uint32_t count;
    uint64_t code[FF__FAULT_PLACES];
    struct ff_place of[FF__FAULT_PLACES];
};

#endif
