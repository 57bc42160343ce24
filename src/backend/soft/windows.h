/* Which windows (2 MiB) of the managed area the program may access: those of live ranges.
 *
 * The kernel keeps a mapping for each run of windows with the same access, and lets a process have
 * only so many (vm.max_map_count); beyond that its threads and allocations fail. So there is a
 * limit to the runs: where it is reached, a freed window stays open until its neighbours are freed,
 * and a new one is opened together with what lies between it and the nearest open one. An access
 * to an open window without a range is a fault that is rejected (ff__soft_reject). */
#ifndef FF_SOFT_WINDOWS_H
#define FF_SOFT_WINDOWS_H

#include "base/lock.h"

#include <stdbool.h>
#include <stdint.h>

enum ff__window_state {
    FF__WINDOW_SHUT,
    FF__WINDOW_IDLE, /* open, without a range */
    FF__WINDOW_LIVE,
};

struct ff__windows {
    char *managed;
    unsigned char *state; /* [window] enum ff__window_state */
    uint32_t count;
    uint32_t borders;     /* between a window that is open and a neighbour that is shut */
    uint32_t borders_max; /* that it may have */
    struct ff__lock lock;
};

/* All are shut. 0 or -ENOMEM; fini may follow. */
int ff__windows_init(struct ff__windows *windows, char *managed, uint32_t count);
void ff__windows_fini(struct ff__windows *windows);

/* Windows [first, first + count) belong to a range from now on. -ENOMEM: they are as before. */
int ff__windows_open(struct ff__windows *windows, uint32_t first, uint32_t count);

/* Takes the windows out of use again. */
void ff__windows_shut(struct ff__windows *windows, uint32_t first, uint32_t count);

#endif
