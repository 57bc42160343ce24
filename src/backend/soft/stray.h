/* Faults outside every range. Most are messages that were read and then overtaken: another fault or
 * a prefetch brought the page, the thread went on, and the range has been freed since. Others are a
 * mistake of the program, whose thread faults on the same address again as soon as it is woken. */
#ifndef FF_SOFT_STRAY_H
#define FF_SOFT_STRAY_H

#include "engine/backend.h"

#define FF__STRAYS 64u

struct ff__stray {
    uint64_t address, first_ns;
    int32_t thread;
    uint32_t count;
};

struct ff__strays {
    struct ff__stray last[FF__STRAYS]; /* by thread; zero at first */
};

/* Whether the fault is the program's mistake. If not, the thread is to be woken: it faults again if
 * it still waits. */
bool ff__stray_is_mistake(struct ff__strays *strays, const struct ff__fault *fault,
                          uint64_t now_ns);

#endif
