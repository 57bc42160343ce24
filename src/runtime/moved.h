/* What moved, by kernel and by allocation: names and launches beside the engine's totals. */
#ifndef FF_RUNTIME_MOVED_H
#define FF_RUNTIME_MOVED_H

#include "base/map.h"
#include "engine/engine.h"

#include <farfault/farfault.h>

struct ff__moved_kernel {
    char name[sizeof((struct ff_moved *)0)->kernel];
    uint64_t launches, largest; /* bytes of the operands of a launch */
};

/* A kernel's name, copied from memory that may be managed. */
struct ff__moved_name {
    uint64_t hash;
    char text[sizeof((struct ff_moved *)0)->kernel];
    bool is_there;
};

void ff__moved_name(struct ff__moved_name *to, const char *name);

/* The pipeline's lock guards it. */
struct ff__moved {
    struct ff__moved_kernel *kernels; /* [FF__KERNELS_MAX]; 0: without a name, and those beyond */
    uint32_t kernel_count;            /* that have a name */
    struct ff__map kernel_numbers;    /* hash of a name -> number; with room for all */
    struct ff_moved_list freed;       /* allocations */
};

struct ff_context;
struct ff__allocation;

/* 0 or -ENOMEM. */
int ff__moved_init(struct ff__moved *moved);
void ff__moved_fini(struct ff__moved *moved);

/* All of these with the pipeline's lock held. */

/* The number of a kernel with this name; 0: it has none, or there are too many. */
uint32_t ff__moved_kernel(struct ff_context *context, const struct ff__moved_name *name);

/* A launch of the kernel begins that names operands of `bytes` in all. */
void ff__moved_launch(struct ff_context *context, uint32_t kernel, uint64_t bytes);

/* The launch that has begun names this operand. `stride`: FF_STRIDE_UNKNOWN, or any other. */
void ff__moved_use(struct ff__allocation *allocation, uint32_t kernel, uint8_t stride);

/* An allocation is freed, and its range still there. */
void ff__moved_end(struct ff_context *context, struct ff__allocation *allocation);

#endif
