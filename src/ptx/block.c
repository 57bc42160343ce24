/* Rounds of a thread block. */
#include "ptx/block.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ptx/warp.h"

/* ---- memory ---- */

static size_t rounded(size_t size) {
    return (size + 255) / 256 * 256;
}

static uint32_t threads_of(const struct ff__ptx_grid *grid) {
    return grid->threads[0] * grid->threads[1] * grid->threads[2];
}

static uint32_t groups_of(const struct ff__ptx_grid *grid) {
    return (threads_of(grid) + grid->code->lanes - 1) / grid->code->lanes;
}

/* Memory of one group: places, operands, results, registers that live across regions, local
 * memory. */
struct layout {
    size_t in, out, state, local, end;
};

static struct layout layout_of(const struct ff_ptx_code *code, uint32_t count) {
    struct layout layout;
    layout.in = rounded(code->lanes * sizeof(uint32_t));
    layout.out = layout.in + rounded(FF_PTX_IN * code->lanes * sizeof(uint32_t));
    layout.state = layout.out + rounded(FF_PTX_OUT * code->lanes * sizeof(uint32_t));
    layout.local = layout.state + rounded(code->state_size);
    layout.end = layout.local + rounded((size_t)code->local_size * count);
    return layout;
}

static size_t shared_size(const struct ff__ptx_grid *grid) {
    return (size_t)grid->code->static_shared + grid->dynamic_shared;
}

size_t ff__ptx_block_size(const struct ff__ptx_grid *grid) {
    uint32_t groups = groups_of(grid);
    return rounded(sizeof(struct ff__ptx_running)) +
           rounded(groups * sizeof(struct ff__ptx_group)) + rounded(shared_size(grid)) +
           groups * layout_of(grid->code, grid->code->lanes).end;
}

static void place_group(struct ff__ptx_group *group, const struct ff_ptx_code *code,
                        uint8_t *memory) {
    struct layout layout = layout_of(code, code->lanes);
    group->lanes = (struct ff_ptx_lanes){.at = (uint32_t *)memory,
                                         .state = memory + layout.state,
                                         .local = memory + layout.local,
                                         .in = (uint32_t *)(memory + layout.in),
                                         .out = (uint32_t *)(memory + layout.out)};
}

struct ff__ptx_running *ff__ptx_block_place(void *memory, const struct ff__ptx_grid *grid) {
    uint8_t *at = memory;
    struct ff__ptx_running *running = memory;
    at += rounded(sizeof *running);
    *running = (struct ff__ptx_running){.grid = grid,
                                        .groups = (struct ff__ptx_group *)at,
                                        .group_count = groups_of(grid),
                                        .threads = threads_of(grid)};
    at += rounded(running->group_count * sizeof *running->groups);
    running->block = (struct ff_ptx_block){.parameters = grid->parameters,
                                           .shared = at,
                                           .shared_size = (uint32_t)shared_size(grid),
                                           .dynamic_size = grid->dynamic_shared,
                                           .services = grid->services};
    memcpy(running->block.nctaid, grid->blocks, sizeof grid->blocks);
    memcpy(running->block.ntid, grid->threads, sizeof grid->threads);
    at += rounded(shared_size(grid));
    for (uint32_t i = 0; i < running->group_count; i++) {
        struct ff__ptx_group *group = &running->groups[i];
        place_group(group, grid->code, at);
        group->lanes.first = i * grid->code->lanes;
        uint32_t left = running->threads - group->lanes.first;
        group->lanes.count = left < grid->code->lanes ? left : grid->code->lanes;
        at += layout_of(grid->code, grid->code->lanes).end;
    }
    return running;
}

void ff__ptx_block_start(struct ff__ptx_running *running, uint64_t number) {
    const uint32_t *blocks = running->grid->blocks;
    running->block.ctaid[0] = (uint32_t)(number % blocks[0]);
    running->block.ctaid[1] = (uint32_t)(number / blocks[0] % blocks[1]);
    running->block.ctaid[2] = (uint32_t)(number / blocks[0] / blocks[1]);
    memset(running->arrived, 0, sizeof running->arrived);
    running->advancing = UINT32_MAX;
    for (uint32_t i = 0; i < running->group_count; i++)
        running->groups[i].place = 0;
}

/* ---- running lanes ---- */

_Noreturn void ff__ptx_block_fail(struct ff__ptx_running *running, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(running->failure, sizeof running->failure, format, arguments);
    va_end(arguments);
    longjmp(*running->leave, 1);
}

/* Sets where lanes are, if they are all at one place: then the region has not. */
static void put(struct ff__ptx_group *group, uint32_t first, uint32_t count, uint32_t place) {
    for (uint32_t i = 0; i < count && place != FF_PTX_MIXED; i++)
        group->lanes.at[first + i] = place;
}

void ff__ptx_group_part(struct ff__ptx_group *group) {
    put(group, 0, group->lanes.count, group->place);
    group->place = FF_PTX_MIXED;
}

void ff__ptx_group_settle(struct ff__ptx_group *group) {
    const uint32_t *at = group->lanes.at;
    uint32_t differs = 0;
    for (uint32_t i = 1; i < group->lanes.count; i++)
        differs |= at[i] ^ at[0];
    group->place = differs != 0 ? FF_PTX_MIXED : at[0];
}

/* Every thread by itself, the last one first: what another order changes is a race. */
static void run_alone(struct ff__ptx_running *running, struct ff__ptx_group *group, uint32_t region,
                      uint32_t first, uint32_t count) {
    const uint32_t *threads = running->grid->threads;
    for (uint32_t lane = first + count; lane-- > first;) {
        uint32_t linear = group->lanes.first + lane;
        put(group, lane, 1,
            running->grid->code->regions[region].run(
                &group->lanes, &running->block, lane, 1, linear % threads[0],
                linear / threads[0] % threads[1], linear / threads[0] / threads[1]));
    }
}

/* Runs lanes row by row; returns where they all are, or sets lanes->at and returns
 * FF_PTX_MIXED. */
static uint32_t run_rows(struct ff__ptx_running *running, struct ff__ptx_group *group,
                         uint32_t region, uint32_t first, uint32_t count) {
    ff_ptx_region_fn *run = running->grid->code->regions[region].run;
    const uint32_t *threads = running->grid->threads;
    uint32_t linear = group->lanes.first + first, begin = first;
    uint32_t x = linear % threads[0], row = linear / threads[0], place = FF_PTX_MIXED;
    while (count != 0) {
        uint32_t part = threads[0] - x < count ? threads[0] - x : count;
        uint32_t to =
            run(&group->lanes, &running->block, first, part, x, row % threads[1], row / threads[1]);
        if (first == begin) {
            place = to;
        } else if (place == FF_PTX_MIXED || to != place) {
            put(group, begin, first - begin, place);
            put(group, first, part, to);
            place = FF_PTX_MIXED;
        }
        first += part;
        count -= part;
        x = 0;
        row++;
    }
    return place;
}

void ff__ptx_group_run(struct ff__ptx_running *running, struct ff__ptx_group *group) {
    uint32_t region = group->place;
    if (running->grid->schedule == FF__PTX_SERIAL) {
        run_alone(running, group, region, 0, group->lanes.count);
        ff__ptx_group_settle(group);
        return;
    }
    group->place = run_rows(running, group, region, 0, group->lanes.count);
}

void ff__ptx_group_run_part(struct ff__ptx_running *running, struct ff__ptx_group *group,
                            uint32_t region, uint32_t first, uint32_t count) {
    if (running->grid->schedule == FF__PTX_SERIAL)
        run_alone(running, group, region, first, count);
    else
        put(group, first, count, run_rows(running, group, region, first, count));
}

static enum ff_ptx_wait wait_of(const struct ff__ptx_running *running, uint32_t region) {
    return running->grid->code->regions[region].wait;
}

static uint32_t lanes_missing(const struct ff__ptx_group *group) {
    return group->lanes.count == FF_PTX_WARP ? 0 : UINT32_MAX << group->lanes.count;
}

static uint32_t lanes_at_region(const struct ff__ptx_group *group, uint32_t region) {
    return ff__ptx_lanes_equal(group->lanes.at, region) & ~lanes_missing(group);
}

/* Lanes of a warp that others are among, by the rows of the block. */
static void run_apart(struct ff__ptx_running *running, struct ff__ptx_group *group, uint32_t region,
                      uint32_t members) {
    const struct ff_ptx_region *code = &running->grid->code->regions[region];
    const uint32_t *threads = running->grid->threads;
    while (members != 0) {
        uint32_t first = (uint32_t)__builtin_ctz(members), linear = group->lanes.first + first;
        uint32_t x = linear % threads[0], row = linear / threads[0], left = threads[0] - x;
        uint32_t part = members >> first;
        part &= left < FF_PTX_WARP ? (1u << left) - 1 : UINT32_MAX;
        uint32_t count = FF_PTX_WARP - (uint32_t)__builtin_clz(part);
        uint32_t absent = ~part & UINT32_MAX >> (FF_PTX_WARP - count);
        uint32_t y = row % threads[1], z = row / threads[1];
        if (absent == 0)
            put(group, first, count,
                code->run(&group->lanes, &running->block, first, count, x, y, z));
        else
            code->apart(&group->lanes, &running->block, first, count, x, y, z, absent);
        members &= ~(part << first);
    }
}

static void run_members(struct ff__ptx_running *running, struct ff__ptx_group *group,
                        uint32_t region, uint32_t members) {
    if (running->grid->code->regions[region].apart != NULL &&
        running->grid->schedule != FF__PTX_SERIAL) {
        run_apart(running, group, region, members);
        return;
    }
    while (members != 0) {
        uint32_t first = (uint32_t)__builtin_ctz(members);
        uint32_t rest = ~(members >> first);
        uint32_t count = rest == 0 ? FF_PTX_WARP : (uint32_t)__builtin_ctz(rest);
        ff__ptx_group_run_part(running, group, region, first, count);
        members &= count == FF_PTX_WARP ? 0 : ~(((1u << count) - 1) << first);
    }
}

/* Lanes that wait for nothing, by runs of neighbours at the same region. */
static bool run_neighbours(struct ff__ptx_running *running, struct ff__ptx_group *group) {
    const uint32_t *at = group->lanes.at;
    bool any = false;
    for (uint32_t i = 0, end; i < group->lanes.count; i = end) {
        uint32_t region = at[i];
        for (end = i + 1; end < group->lanes.count && at[end] == region;)
            end++;
        if (region == FF_PTX_EXITED || wait_of(running, region) != FF_PTX_NONE)
            continue;
        ff__ptx_group_run_part(running, group, region, i, end - i);
        any = true;
    }
    return any;
}

/* The same of a warp: those at one region follow each other. */
static bool run_parted(struct ff__ptx_running *running, struct ff__ptx_group *group) {
    const uint32_t *at = group->lanes.at;
    uint32_t left = ~(lanes_missing(group) | lanes_at_region(group, FF_PTX_EXITED)), free = 0;
    uint32_t regions[FF_PTX_WARP], here[FF_PTX_WARP], count = 0;
    while (left != 0) {
        uint32_t region = at[__builtin_ctz(left)], lanes = lanes_at_region(group, region);
        left &= ~lanes;
        if (wait_of(running, region) != FF_PTX_NONE)
            continue;
        regions[count] = region;
        here[count++] = lanes;
        free |= lanes;
    }
    running->advancing = free;
    for (uint32_t i = 0; i < count; i++)
        run_members(running, group, regions[i], here[i]);
    running->advancing = UINT32_MAX;
    return free != 0;
}

static bool run_mixed(struct ff__ptx_running *running, struct ff__ptx_group *group) {
    return running->grid->code->lanes == FF_PTX_WARP ? run_parted(running, group)
                                                     : run_neighbours(running, group);
}

static bool run_free(struct ff__ptx_running *running, struct ff__ptx_group *group) {
    if (group->place != FF_PTX_MIXED) {
        bool free = wait_of(running, group->place) == FF_PTX_NONE;
        if (free)
            ff__ptx_group_run(running, group);
        return free;
    }
    bool any = run_mixed(running, group);
    if (any)
        ff__ptx_group_settle(group);
    return any;
}

/* ---- operations of warps ---- */

static bool is_of_warp(enum ff_ptx_wait wait) {
    return wait >= FF_PTX_WARP_SYNC;
}

/* One set of lanes at one region goes on, if it can. */
static bool run_set(struct ff__ptx_running *running, struct ff__ptx_group *group, uint32_t region,
                    uint32_t here, uint32_t gone, bool force) {
    const struct ff_ptx_region *operation = &running->grid->code->regions[region];
    uint32_t members = ff__ptx_warp_ready(operation, &group->lanes, here, gone, force);
    if (members == 0)
        return false;
    ff__ptx_warp(operation, &group->lanes, members, &running->block);
    if ((members | gone) == UINT32_MAX && group->place != FF_PTX_MIXED) {
        ff__ptx_group_run(running, group);
        return true;
    }
    if (group->place != FF_PTX_MIXED)
        ff__ptx_group_part(group);
    run_members(running, group, region, members);
    ff__ptx_group_settle(group);
    return true;
}

/* `force`: nothing else of the block can advance, so those go on that are there, where the
 * operation permits it. */
static bool run_warp(struct ff__ptx_running *running, struct ff__ptx_group *group, bool force) {
    uint32_t gone = lanes_missing(group), waiting = 0;
    if (group->place != FF_PTX_MIXED)
        return is_of_warp(wait_of(running, group->place)) &&
               run_set(running, group, group->place, ~gone, gone, force);
    const uint32_t *at = group->lanes.at;
    for (uint32_t i = 0; i < group->lanes.count; i++) {
        if (at[i] == FF_PTX_EXITED)
            gone |= 1u << i;
        else if (is_of_warp(wait_of(running, at[i])))
            waiting |= 1u << i;
    }
    while (waiting != 0) {
        uint32_t region = at[__builtin_ctz(waiting)], here = lanes_at_region(group, region);
        waiting &= ~here;
        if (run_set(running, group, region, here, gone, force))
            return true;
    }
    return false;
}

/* Lanes that ask who is active get an answer without those that only come back to where they are:
 * these may wait for one that asks. */
static bool run_asking(struct ff__ptx_running *running, struct ff__ptx_group *group) {
    const uint32_t *at = group->lanes.at;
    uint32_t gone = lanes_missing(group), region = 0;
    for (uint32_t i = group->lanes.count; i-- > 0;) {
        if (at[i] == FF_PTX_EXITED)
            gone |= 1u << i;
        else if (wait_of(running, at[i]) == FF_PTX_ACTIVEMASK)
            region = at[i];
    }
    return region != 0 &&
           run_set(running, group, region, lanes_at_region(group, region), gone, true);
}

static bool run_free_of_warp(struct ff__ptx_running *running, struct ff__ptx_group *group) {
    uint32_t before[FF_PTX_WARP];
    bool mixed = group->place == FF_PTX_MIXED;
    size_t size = group->lanes.count * sizeof *before;
    if (mixed)
        memcpy(before, group->lanes.at, size);
    if (!run_free(running, group))
        return false;
    if (mixed && group->place == FF_PTX_MIXED && memcmp(before, group->lanes.at, size) == 0)
        run_asking(running, group);
    return true;
}

static bool advance_once(struct ff__ptx_running *running, struct ff__ptx_group *group) {
    bool by_warps = running->grid->code->lanes == FF_PTX_WARP;
    if (group->place == FF_PTX_EXITED)
        return false;
    if (by_warps ? run_free_of_warp(running, group) : run_free(running, group))
        return true;
    return ff__ptx_arrivals(running, group) || (by_warps && run_warp(running, group, false));
}

/* How often a warp goes on by itself: it may spin until another one has done something. */
#define MOST_TURNS 4096u

static bool advance(struct ff__ptx_running *running, struct ff__ptx_group *group) {
    bool any = advance_once(running, group);
    if (any && running->grid->schedule == FF__PTX_SERIAL)
        for (uint32_t turns = 0; turns < MOST_TURNS && advance_once(running, group); turns++) {
        }
    return any;
}

/* ---- rounds ---- */

static bool force_one(struct ff__ptx_running *running) {
    if (running->grid->code->lanes != FF_PTX_WARP)
        return false;
    for (uint32_t i = 0; i < running->group_count; i++)
        if (running->groups[i].place != FF_PTX_EXITED &&
            run_warp(running, &running->groups[i], true))
            return true;
    return false;
}

bool ff__ptx_block_round(struct ff__ptx_running *running) {
    bool any = false, serial = running->grid->schedule == FF__PTX_SERIAL;
    for (uint32_t i = 0; i < running->group_count; i++)
        any |= advance(running, &running->groups[serial ? running->group_count - 1 - i : i]);
    return any || ff__ptx_barriers(running) || force_one(running);
}

bool ff__ptx_block_has_ended(const struct ff__ptx_running *running) {
    for (uint32_t i = 0; i < running->group_count; i++)
        if (running->groups[i].place != FF_PTX_EXITED)
            return false;
    return true;
}

/* ---- messages ---- */

static const char *name_of(enum ff_ptx_wait wait) {
    if (wait < FF_PTX_WARP_SYNC)
        return "a barrier";
    return wait == FF_PTX_WARP_SYNC ? "bar.warp.sync" : "an operation of its warp";
}

static uint32_t lanes_at(const struct ff__ptx_group *group, uint32_t region) {
    uint32_t count = 0;
    if (group->place != FF_PTX_MIXED)
        return group->place == region ? group->lanes.count : 0;
    for (uint32_t i = 0; i < group->lanes.count; i++)
        count += group->lanes.at[i] == region;
    return count;
}

void ff__ptx_block_describe(const struct ff__ptx_running *running, char *out, size_t size) {
    const struct ff_ptx_code *code = running->grid->code;
    const uint32_t *ctaid = running->block.ctaid;
    int used = snprintf(out, size, "kernel '%s', block (%u, %u, %u):", running->grid->name,
                        ctaid[0], ctaid[1], ctaid[2]);
    for (uint32_t region = 0; region < code->region_count; region++) {
        uint32_t count = 0;
        for (uint32_t g = 0; g < running->group_count; g++)
            count += lanes_at(&running->groups[g], region);
        if (count == 0 || used < 0 || (size_t)used >= size)
            continue;
        used += snprintf(out + used, size - (size_t)used, " %u thread%s wait%s for %s in line %u;",
                         count, count == 1 ? "" : "s", count == 1 ? "s" : "",
                         name_of(code->regions[region].wait), code->regions[region].line);
    }
    if (used > 0 && (size_t)used < size)
        snprintf(out + used, size - (size_t)used, " none can go on");
}
