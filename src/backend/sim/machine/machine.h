/* A machine: devices of one kind, what links them, and which of them share a way to the host. Its
 * presets are files, each number with its source, as those of devices. */
#ifndef FF_BACKEND_SIM_MACHINE_MACHINE_H
#define FF_BACKEND_SIM_MACHINE_MACHINE_H

#include "backend/sim/machine/gpu.h"

#include <farfault/policy.h>

#define FF__MACHINE_DEVICES (FF_TIERS_MAX - 1)

struct ff__machine {
    char name[32], summary[96];
    struct ff__gpu gpu;
    uint32_t devices;
    /* [device][device] rate of the link between two devices, as a share of the device preset's
     * `peer` */
    double peer[FF__MACHINE_DEVICES][FF__MACHINE_DEVICES];
    /* devices with the same number share one way to the host, and one back */
    uint32_t switch_of[FF__MACHINE_DEVICES];
    /* The driver's time to allocate and map a page of the host, small or large, for an eviction */
    uint64_t host_page_ns;
};

/* Reads data/machines/NAME.json and the preset of its device; `folder`: data. -ENOENT, -EINVAL:
 * what is wrong. */
int ff__machine_read(const char *name, const char *folder, struct ff__machine *out,
                     struct ff_error *error);

#endif
