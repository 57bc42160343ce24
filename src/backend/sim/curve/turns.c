#include "backend/sim/curve/turns.h"

#include <errno.h>
#include <stdlib.h>

/* A slot, and the warp in it. */
struct lane {
    uint32_t cta, warp, step;
};

/* A kernel on its way. */
struct turns {
    const struct ff__workload *workload;
    const struct ff__kernel *kernel;
    struct lane *lanes;
    uint32_t lane_count;
    uint64_t next_warp, warp_count; /* of all CTAs, in order */
};

static bool next_warp(struct turns *turns, struct lane *lane) {
    if (turns->next_warp == turns->warp_count)
        return false;
    uint64_t warp = turns->next_warp++, warps = turns->kernel->warps;
    *lane = (struct lane){(uint32_t)(warp / warps), (uint32_t)(warp % warps), 0};
    return true;
}

/* The next step of the lane's warp, or of those that come in its place. False: there are no more.
 */
static bool advance(struct turns *turns, struct lane *lane, struct ff__step *step) {
    const struct ff__kernel *kernel = turns->kernel;
    while (!kernel->step(turns->workload, kernel, lane->cta, lane->warp, lane->step, step))
        if (!next_warp(turns, lane))
            return false;
    lane->step++;
    return true;
}

int ff__turns_take(const struct ff__workload *workload, const struct ff__kernel *kernel,
                   uint64_t slots,
                   bool (*take)(void *self, uint32_t slot, const struct ff__step *step),
                   void *self) {
    struct turns turns = {.workload = workload,
                          .kernel = kernel,
                          .lanes = calloc(slots, sizeof *turns.lanes),
                          .warp_count = (uint64_t)kernel->ctas * kernel->warps};
    struct ff__step step;
    bool goes_on = true;
    if (!turns.lanes)
        return -ENOMEM;
    while (turns.lane_count < slots && next_warp(&turns, &turns.lanes[turns.lane_count]))
        turns.lane_count++;
    while (turns.lane_count > 0 && goes_on) { /* lanes that have run out are taken out, in order */
        uint32_t kept = 0;
        for (uint32_t i = 0; i < turns.lane_count && goes_on; i++)
            if (advance(&turns, &turns.lanes[i], &step)) {
                goes_on = take(self, i, &step);
                turns.lanes[kept++] = turns.lanes[i];
            }
        turns.lane_count = kept;
    }
    free(turns.lanes);
    return 0;
}
