/* What moved, by kernel and by allocation: names, numbers and launches beside the engine's totals. */
#ifndef FF_RUNTIME_MOVED_H
#define FF_RUNTIME_MOVED_H

#include "base/map.h"
#include "engine/engine.h"

#include <farfault/farfault.h>

struct ff__moved_kernel {
    char name[sizeof((struct ff_moved *)0)->kernel];
    uint64_t launches, largest; /* bytes of the operands of a launch */
};

struct ff__moved_range {
    uint64_t size; /* bytes */
    uint64_t launches;
    uint32_t number; /* in the order of allocation */
    uint16_t kernel; /* the first that named it; 0: none has */
    bool is_strided;
    bool is_live;
};

/* The pipeline's lock guards it. */
struct ff__moved {
    struct ff__moved_kernel *kernels; /* [FF__KERNELS_MAX]; 0: without a name, and those beyond */
    uint32_t kernel_count;            /* that have a name */
    struct ff__map kernel_numbers;    /* hash of a name -> number */
    struct ff__moved_range *ranges;   /* [range_limit], by the engine's number */
    uint32_t range_limit;
    uint32_t allocated;         /* so far */
    struct ff_moved_list freed; /* allocations */
};

struct ff_context;

/* 0 or -ENOMEM. */
int ff__moved_init(struct ff__moved *moved);
void ff__moved_fini(struct ff__moved *moved);

/* A range is there. If there is no memory to note it, it is in no list. */
void ff__moved_add_range(struct ff_context *context, uint32_t range);

/* It is about to go. */
void ff__moved_drop_range(struct ff_context *context, uint32_t range);

/* A launch begins that names operands of `bytes` in all. Returns its kernel's number for the engine. The pipeline's lock is
 * held. */
uint32_t ff__moved_launch(struct ff_context *context, const struct ff__launch *launch,
                          const char *name, uint64_t bytes);

#endif
