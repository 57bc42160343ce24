/* Virtual time, in picoseconds: a cycle is less than a nanosecond. */
#ifndef FF_BACKEND_SIM_MACHINE_VIRTUAL_TIME_H
#define FF_BACKEND_SIM_MACHINE_VIRTUAL_TIME_H

#include <stdint.h>

#define PS_PER_NS UINT64_C(1000)
#define NEVER     UINT64_MAX

static inline uint64_t ff__sim_ns(uint64_t ps) {
    return ps / PS_PER_NS;
}

#endif
