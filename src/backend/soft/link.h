/* One direction of a paced link: makes transfers take the time that a slower link would need, so
 * that a fast machine can stand in for PCIe or NVLink. Transfers queue. */
#ifndef FF_SOFT_LINK_H
#define FF_SOFT_LINK_H

#include <farfault/farfault.h>

struct ff__link {
    struct ff_link speed;
    uint64_t busy_until; /* atomic */
};

/* When a transfer that could start at `now_ns` will be through; reserves the link for it. */
uint64_t ff__link_reserve(struct ff__link *link, uint64_t now_ns, uint64_t bytes);

/* Waits for that time: sleeps while it is far, spins when it is near. False: *aborted has become
 * true, which is atomic. */
bool ff__link_wait(uint64_t until_ns, const bool *aborted);

#endif
