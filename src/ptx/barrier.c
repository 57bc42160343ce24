/* Barriers of a thread block: bar and barrier, with number and count, and their reductions. */
#include "ptx/block.h"

#include <string.h>

struct barrier {
    uint32_t waiting, needed; /* threads; needed 0: all of the block */
    uint32_t holds;           /* of the waiting ones, in how many the predicate is true */
    bool completes;
};

static bool is_barrier(enum ff_ptx_wait wait) {
    return wait == FF_PTX_BARRIER || wait == FF_PTX_BAR_POPC || wait == FF_PTX_BAR_AND ||
           wait == FF_PTX_BAR_OR;
}

static enum ff_ptx_wait wait_of(const struct ff__ptx_running *running, uint32_t region) {
    return region == FF_PTX_EXITED ? FF_PTX_NONE : running->grid->code->regions[region].wait;
}

static uint32_t *operands(const struct ff__ptx_running *running, const struct ff__ptx_group *group,
                          uint32_t row) {
    return group->lanes.in + (size_t)row * running->grid->code->lanes;
}

static uint32_t place_of(const struct ff__ptx_group *group, uint32_t lane) {
    return group->place != FF_PTX_MIXED ? group->place : group->lanes.at[lane];
}

static uint32_t number_of(struct ff__ptx_running *running, const struct ff__ptx_group *group,
                          uint32_t lane) {
    uint32_t number = operands(running, group, 0)[lane];
    if (number >= FF__PTX_BARRIERS)
        ff__ptx_block_fail(running, "kernel '%s', line %u: there is no barrier %u",
                           running->grid->name,
                           running->grid->code->regions[place_of(group, lane)].line, number);
    return number;
}

/* ---- arrivals ---- */

bool ff__ptx_arrivals(struct ff__ptx_running *running, struct ff__ptx_group *group) {
    if (group->place != FF_PTX_MIXED && wait_of(running, group->place) != FF_PTX_ARRIVE)
        return false;
    bool any = false;
    if (group->place != FF_PTX_MIXED)
        ff__ptx_group_part(group);
    for (uint32_t i = 0; i < group->lanes.count; i++) {
        uint32_t region = group->lanes.at[i];
        if (wait_of(running, region) != FF_PTX_ARRIVE)
            continue;
        running->arrived[number_of(running, group, i)]++;
        ff__ptx_group_run_part(running, group, region, i, 1);
        any = true;
    }
    if (any)
        ff__ptx_group_settle(group);
    return any;
}

/* ---- the whole block at one barrier ---- */

/* Of a row that is not empty: each is equal to the next one. */
static bool all_equal(const uint32_t *row, uint32_t count, uint32_t value) {
    return row[0] == value && memcmp(row, row + 1, (count - 1) * sizeof *row) == 0;
}

/* The common case: every thread waits at the same instruction, for the whole block. */
static bool whole_block(struct ff__ptx_running *running) {
    uint32_t place = running->groups[0].place;
    if (place >= FF_PTX_MIXED || wait_of(running, place) != FF_PTX_BARRIER)
        return false;
    uint32_t number = number_of(running, &running->groups[0], 0);
    uint32_t needed = operands(running, &running->groups[0], 1)[0];
    if ((needed != 0 && needed != running->threads) || running->arrived[number] != 0)
        return false;
    for (uint32_t i = 0; i < running->group_count; i++) {
        const struct ff__ptx_group *group = &running->groups[i];
        if (group->place != place ||
            !all_equal(operands(running, group, 0), group->lanes.count, number) ||
            !all_equal(operands(running, group, 1), group->lanes.count, needed))
            return false;
    }
    bool serial = running->grid->schedule == FF__PTX_SERIAL;
    for (uint32_t i = 0; i < running->group_count; i++) {
        struct ff__ptx_group *group = &running->groups[serial ? running->group_count - 1 - i : i];
        ff__ptx_group_run(running, group);
    }
    return true;
}

/* ---- any barriers ---- */

/* Counts who waits where; returns the threads that have not ended. */
static uint32_t count_waiting(struct ff__ptx_running *running, struct barrier *barriers) {
    uint32_t live = 0;
    for (uint32_t g = 0; g < running->group_count; g++) {
        const struct ff__ptx_group *group = &running->groups[g];
        for (uint32_t i = 0; i < group->lanes.count; i++) {
            uint32_t region = place_of(group, i);
            live += region != FF_PTX_EXITED;
            if (!is_barrier(wait_of(running, region)))
                continue;
            struct barrier *barrier = &barriers[number_of(running, group, i)];
            uint32_t needed = operands(running, group, 1)[i];
            barrier->waiting++;
            barrier->needed = needed > barrier->needed ? needed : barrier->needed;
            if (wait_of(running, region) != FF_PTX_BARRIER)
                barrier->holds += operands(running, group, 2)[i] != 0;
        }
    }
    return live;
}

/* Threads that have ended count as arrived, where the rest of the block waits. */
static bool find_complete(struct ff__ptx_running *running, struct barrier *barriers,
                          uint32_t live) {
    bool any = false;
    for (uint32_t n = 0; n < FF__PTX_BARRIERS; n++) {
        struct barrier *barrier = &barriers[n];
        uint32_t needed = barrier->needed != 0 && barrier->needed < live ? barrier->needed : live;
        barrier->completes =
            barrier->waiting != 0 && barrier->waiting + running->arrived[n] >= needed;
        if (barrier->completes)
            running->arrived[n] = 0;
        any |= barrier->completes;
    }
    return any;
}

static void leave_result(const struct ff__ptx_running *running, const struct ff__ptx_group *group,
                         uint32_t lane, const struct barrier *barrier) {
    enum ff_ptx_wait wait = wait_of(running, place_of(group, lane));
    group->lanes.out[lane] = wait == FF_PTX_BAR_POPC  ? barrier->holds
                             : wait == FF_PTX_BAR_AND ? barrier->holds == barrier->waiting
                                                      : barrier->holds != 0;
}

/* They are marked first: one that runs may come to the same barrier again. */
static void release(struct ff__ptx_running *running, struct ff__ptx_group *group,
                    const struct barrier *barriers) {
    bool goes[FF_PTX_MAX_LANES];
    const uint32_t *at = group->lanes.at;
    uint32_t count = group->lanes.count;
    if (group->place != FF_PTX_MIXED)
        ff__ptx_group_part(group);
    for (uint32_t i = 0; i < count; i++) {
        goes[i] =
            is_barrier(wait_of(running, at[i])) && barriers[number_of(running, group, i)].completes;
        if (goes[i])
            leave_result(running, group, i, &barriers[number_of(running, group, i)]);
    }
    for (uint32_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && goes[end] == goes[i] && at[end] == at[i];)
            end++;
        if (goes[i])
            ff__ptx_group_run_part(running, group, at[i], i, end - i);
    }
    ff__ptx_group_settle(group);
}

bool ff__ptx_barriers(struct ff__ptx_running *running) {
    if (whole_block(running))
        return true;
    struct barrier barriers[FF__PTX_BARRIERS] = {0};
    uint32_t live = count_waiting(running, barriers);
    if (!find_complete(running, barriers, live))
        return false;
    for (uint32_t i = 0; i < running->group_count; i++)
        release(running, &running->groups[i], barriers);
    return true;
}
