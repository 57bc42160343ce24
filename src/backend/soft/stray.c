#include "backend/soft/stray.h"

/* So many faults in a row by one thread on one address, within this time, are a mistake. Faults
 * that were overtaken are far rarer. Ours. */
#define CERTAIN   16u
#define WITHIN_NS 1000000000u

bool ff__stray_is_mistake(struct ff__strays *strays, const struct ff__fault *fault,
                          uint64_t now_ns) {
    struct ff__stray *last = &strays->last[(uint32_t)fault->thread % FF__STRAYS];
    bool is_same = last->count > 0 && last->thread == fault->thread &&
                   last->address == fault->address && now_ns - last->first_ns < WITHIN_NS;
    if (!is_same)
        *last = (struct ff__stray){fault->address, now_ns, fault->thread, 0};
    return ++last->count >= CERTAIN;
}
