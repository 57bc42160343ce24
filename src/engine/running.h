/* The launches that run on a device: several where a program has several queues. The caller
 * serializes. */
#ifndef FF_ENGINE_RUNNING_H
#define FF_ENGINE_RUNNING_H

#include "engine/prediction.h"

#include <farfault/policy.h>

#define FF__RUNNING_MAX      16u /* launches at a time; with one more, the oldest is forgotten */
#define FF__RUNNING_OPERANDS 16u /* of a launch; further ones are not known */

struct ff__running_launch {
    uint32_t id; /* execution ID */
    uint32_t operands[FF__RUNNING_OPERANDS], operand_count;
    struct ff__prediction *prediction; /* NULL: there is none */
};

/* Of a device; zero at first. */
struct ff__running {
    struct ff__running_launch launches[FF__RUNNING_MAX]; /* in the order in which they began */
    uint32_t count;
};

/* `operands`: NULL if they are not known. `prediction`: NULL, or the caller's until the end. */
void ff__running_begin(struct ff__running *running, uint32_t id, const struct ff_operand *operands,
                       uint32_t operand_count, struct ff__prediction *prediction);

/* Of several launches with one ID and one prediction, or none, the oldest ends. */
void ff__running_end(struct ff__running *running, uint32_t id,
                     const struct ff__prediction *prediction);

/* What has happened: the ID's slot has a new owner, so that no end will be heard of; a range was
 * freed. */
void ff__running_forget_slot(struct ff__running *running, uint32_t slot);
void ff__running_forget_range(struct ff__running *running, uint32_t range);

bool ff__running_has(const struct ff__running *running, uint32_t id);

/* The ID of the launch that began last; FF_NONE: nothing runs. */
uint32_t ff__running_latest(const struct ff__running *running);

/* The ID of the launch that began last of those that use the range; if none is known to, of all. */
uint32_t ff__running_with(const struct ff__running *running, uint32_t range);

/* Of the launch that runs alone; NULL: none does, or it has none. */
static inline struct ff__prediction *ff__running_prediction(const struct ff__running *running) {
    return running->count == 1 ? running->launches[0].prediction : NULL;
}

#endif
