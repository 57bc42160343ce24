/* A thread block while it runs: its threads' places, its memory, its barriers.
 *
 * Threads are kept in groups that advance together: warps, or the whole block where the kernel has
 * no operation of warps. A round runs every thread that waits for nothing up to where it waits,
 * then carries out what all that take part wait for. */
#ifndef FF_PTX_BLOCK_H
#define FF_PTX_BLOCK_H

#include <setjmp.h>
#include <stdbool.h>

#include "ptx/device/abi.h"
#include "ptx/exec.h"

/* What the thread blocks of a launch have in common. */
struct ff__ptx_grid {
    const struct ff_ptx_code *code;
    const char *name; /* as messages have it */
    uint32_t blocks[3], threads[3];
    uint32_t dynamic_shared; /* bytes */
    enum ff__ptx_schedule schedule;
    struct ff__ptx_heap *heap; /* or NULL */
    const uint8_t *parameters; /* aligned to 16 bytes */
    const struct ff_ptx_services *services;
};

#define FF__PTX_BARRIERS 16u

struct ff__ptx_group {
    struct ff_ptx_lanes lanes;
    /* The region at which all its lanes are, or FF_PTX_EXITED; FF_PTX_MIXED: lanes.at has it */
    uint32_t place;
};

struct ff__ptx_running {
    struct ff_ptx_block block; /* first: translated code knows this alone */
    const struct ff__ptx_grid *grid;
    struct ff__ptx_group *groups;
    uint32_t group_count, threads;
    /* Lanes of the warp that is run that go on in this round; UINT32_MAX: it is not known which */
    uint32_t advancing;
    uint32_t arrived[FF__PTX_BARRIERS]; /* threads that do not wait themselves (bar.arrive) */
    /* Where services->fail leaves to, and what it has said */
    jmp_buf *leave;
    char failure[256];
    int code;                                      /* of the failure; 0: -ENOTRECOVERABLE */
    struct ff__ptx_recording *recording;           /* NULL: its accesses are not recorded */
    uint32_t rest[FF_PTX_MAX_LANES / FF_PTX_WARP]; /* instructions that are not recorded yet */
};

/* Bytes of memory for one block, a multiple of 256. */
size_t ff__ptx_block_size(const struct ff__ptx_grid *grid);
/* Lays it out in memory of that size, aligned to 256 bytes, whatever it holds. */
struct ff__ptx_running *ff__ptx_block_place(void *memory, const struct ff__ptx_grid *grid);
/* Begins block number `number` of the grid, x fastest. */
void ff__ptx_block_start(struct ff__ptx_running *running, uint64_t number);
/* One round. Whether any thread has advanced. */
bool ff__ptx_block_round(struct ff__ptx_running *running);
bool ff__ptx_block_has_ended(const struct ff__ptx_running *running);
/* One line on what the threads wait for, for a block that can not advance. */
void ff__ptx_block_describe(const struct ff__ptx_running *running, char *out, size_t size);

/* ---- for barrier.c ---- */

/* Runs all lanes of a group, which are at one place. */
void ff__ptx_group_run(struct ff__ptx_running *running, struct ff__ptx_group *group);
/* Runs the lanes [first, first + count) of a group that is mixed, all at `region`. */
void ff__ptx_group_run_part(struct ff__ptx_running *running, struct ff__ptx_group *group,
                            uint32_t region, uint32_t first, uint32_t count);
/* Before some of its lanes run: it is mixed from here on. After they have: finds its place. */
void ff__ptx_group_part(struct ff__ptx_group *group);
void ff__ptx_group_settle(struct ff__ptx_group *group);
_Noreturn void ff__ptx_block_fail(struct ff__ptx_running *running, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Threads that arrive at a barrier without waiting go on; then those go on that wait at a barrier
 * to which all have come. Whether there were any. */
bool ff__ptx_arrivals(struct ff__ptx_running *running, struct ff__ptx_group *group);
bool ff__ptx_barriers(struct ff__ptx_running *running);

#endif
