#include "engine/running.h"

#include <string.h>

static void forget(struct ff__running *running, uint32_t index) {
    struct ff__running_launch *at = &running->launches[index];
    memmove(at, at + 1, (--running->count - index) * sizeof *at);
}

/* Faults may be of any of those that run. */
static void disturb(struct ff__running *running) {
    for (uint32_t i = 0; i < running->count; i++)
        if (running->launches[i].prediction)
            ff__prediction_disturb(running->launches[i].prediction);
}

void ff__running_begin(struct ff__running *running, uint32_t id, const struct ff_operand *operands,
                       uint32_t operand_count, struct ff__prediction *prediction) {
    if (running->count == FF__RUNNING_MAX)
        forget(running, 0);
    struct ff__running_launch *launch = &running->launches[running->count++];
    launch->id = id;
    launch->operand_count = 0;
    launch->prediction = prediction;
    if (running->count > 1)
        disturb(running);
    for (uint32_t i = 0; operands && i < operand_count && i < FF__RUNNING_OPERANDS; i++)
        launch->operands[launch->operand_count++] = operands[i].range;
}

/* FF__RUNNING_MAX: none. */
static uint32_t find(const struct ff__running *running, uint32_t id) {
    for (uint32_t i = 0; i < running->count; i++)
        if (running->launches[i].id == id)
            return i;
    return FF__RUNNING_MAX;
}

void ff__running_end(struct ff__running *running, uint32_t id,
                     const struct ff__prediction *prediction) {
    const struct ff__running_launch *launches = running->launches;
    uint32_t index = 0;
    while (index < running->count &&
           (launches[index].id != id || launches[index].prediction != prediction))
        index++;
    if (index < running->count)
        forget(running, index);
}

void ff__running_forget_slot(struct ff__running *running, uint32_t slot) {
    for (uint32_t i = running->count; i-- > 0;)
        if (ff_launch_slot(running->launches[i].id) == slot)
            forget(running, i);
}

static bool uses(const struct ff__running_launch *launch, uint32_t range) {
    for (uint32_t i = 0; i < launch->operand_count; i++)
        if (launch->operands[i] == range)
            return true;
    return false;
}

void ff__running_forget_range(struct ff__running *running, uint32_t range) {
    for (uint32_t l = 0; l < running->count; l++) {
        struct ff__running_launch *launch = &running->launches[l];
        for (uint32_t i = launch->operand_count; i-- > 0;)
            if (launch->operands[i] == range)
                launch->operands[i] = launch->operands[--launch->operand_count];
    }
}

bool ff__running_has(const struct ff__running *running, uint32_t id) {
    return find(running, id) < FF__RUNNING_MAX;
}

uint32_t ff__running_latest(const struct ff__running *running) {
    return running->count > 0 ? running->launches[running->count - 1].id : FF_NONE;
}

uint32_t ff__running_with(const struct ff__running *running, uint32_t range) {
    for (uint32_t l = running->count; running->count > 1 && l-- > 0;)
        if (uses(&running->launches[l], range))
            return running->launches[l].id;
    return ff__running_latest(running);
}
