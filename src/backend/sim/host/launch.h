/* Launches, which wait for their device and run in order. */
#ifndef FF_BACKEND_SIM_HOST_LAUNCH_H
#define FF_BACKEND_SIM_HOST_LAUNCH_H

#include "workload/workload.h"

struct device;
struct job;
struct sim;

/* A kernel, or something that takes effect in its turn. */
struct launch {
    struct job *job;
    struct ff__kernel kernel;
    uint32_t number;
    bool is_note; /* no kernel: these bytes become inactive, or active again */
    bool inactive;
    uint32_t array;
    uint64_t offset, bytes;
};

/* A ring of launches to come. */
struct launch_queue {
    struct launch *launches;
    uint32_t head, count, capacity;
};

/* The host launches a kernel, or tells what is to take effect between launches. */
void ff__launch_kernel(struct sim *sim, struct job *job, const struct ff__action *action,
                       uint64_t time);
void ff__launch_note(struct sim *sim, struct job *job, const struct ff__action *action);

/* Has a kernel wait for its turn on the device. */
void ff__launch_queue(struct sim *sim, struct device *device, const struct launch *launch,
                      uint64_t time);

/* Tells the policies that a kernel starts or has ended, and queues their advice. */
void ff__launch_tell(struct sim *sim, struct device *device, const struct ff__kernel *kernel,
                     uint64_t time, bool begins);

/* The device's next kernel starts; the current one has ended. */
void ff__launch_start(struct sim *sim, struct device *device, uint64_t time);
void ff__launch_end(struct sim *sim, struct device *device);

#endif
