#include "backend/sim/curve/curve.h"

#include "backend/sim/curve/stack_distance.h"
#include "backend/sim/curve/turns.h"
#include "base/error.h"
#include "base/grow.h"
#include "base/lazy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NO_USE UINT32_MAX /* FF__LEAST_NO_USE */

struct counting {
    struct ff__workload *workload;
    const struct ff__gpu *gpu;
    struct ff__curve *curve;
    struct ff__stack stack;
    uint64_t page_count; /* of all arrays */
    uint8_t *known;      /* [page / 8] a bit for each page that has been accessed */
    uint32_t *latest;    /* [page] its latest access; NULL: next uses are not wanted */
    /* gathered accesses */
    uint32_t pages[FF__STACK_BATCH + FF__STEP_PAGES];
    uint32_t count;
    int failure;
};

/* ---- accesses ---- */

static void note_cold(struct counting *counting, uint32_t page) {
    uint8_t bit = (uint8_t)(1u << page % 8);
    counting->curve->cold++;
    counting->curve->pages += !(counting->known[page / 8] & bit);
    counting->known[page / 8] |= bit;
}

/* More than are kept: none are. */
static void forget_next(struct counting *counting) {
    free(counting->curve->next);
    counting->curve->next = NULL;
    ff__lazy_unmap(counting->latest, counting->page_count * sizeof *counting->latest);
    counting->latest = NULL;
}

static void note_next(struct counting *counting, uint32_t page, bool cold) {
    struct ff__curve *curve = counting->curve;
    if (curve->accesses == FF__CURVE_FUTURE) {
        forget_next(counting);
        return;
    }
    if (ff__grow(&curve->next, curve->accesses, sizeof *curve->next)) {
        counting->failure = -ENOMEM;
        return;
    }
    curve->next[curve->accesses] = NO_USE;
    if (!cold)
        curve->next[counting->latest[page]] = (uint32_t)curve->accesses;
    counting->latest[page] = (uint32_t)curve->accesses;
}

static void use_gathered(struct counting *counting) {
    uint32_t distances[FF__STACK_BATCH], *pages = counting->pages;
    uint32_t count = counting->count < FF__STACK_BATCH ? counting->count : FF__STACK_BATCH;
    ff__stack_use(&counting->stack, pages, count, distances);
    for (uint32_t i = 0; i < count && !counting->failure; i++) {
        if (distances[i] == 0)
            note_cold(counting, pages[i]);
        if (counting->latest)
            note_next(counting, pages[i], distances[i] == 0);
        counting->curve->accesses++;
    }
    counting->count -= count;
    memcpy(pages, pages + count, counting->count * sizeof *pages);
}

static bool gather(void *self, uint32_t slot, const struct ff__step *step) {
    struct counting *counting = self;
    (void)slot;
    for (uint32_t i = 0; i < step->page_count; i++) {
        if (step->page[i] >= counting->page_count) {
            counting->failure = -EINVAL;
            return false;
        }
        uint32_t page = (uint32_t)step->page[i];
        if (counting->count < FF__STACK_AHEAD)
            __builtin_prefetch(&counting->stack.last[page], 1);
        counting->pages[counting->count++] = page;
    }
    if (counting->count >= FF__STACK_BATCH)
        use_gathered(counting);
    return !counting->failure;
}

/* ---- the program ---- */

static int launch(struct counting *counting, const struct ff__kernel *kernel,
                  struct ff_error *error) {
    const struct ff__gpu *gpu = counting->gpu;
    if (!kernel->step)
        return ff__fail(error, -ENOTSUP,
                        "analytical kernels have no single accesses, and no miss-ratio curve");
    if (kernel->warps > gpu->warps_per_sm || kernel->warps == 0 || kernel->ctas == 0)
        return ff__fail(error, -EINVAL, "a kernel's CTAs do not fit on an SM");
    uint64_t slots = (uint64_t)gpu->sms * gpu->warps_per_sm;
    int status = ff__turns_take(counting->workload, kernel, slots, gather, counting);
    while (counting->count > 0 && !counting->failure)
        use_gathered(counting);
    status = status ? status : counting->failure;
    if (status == -EINVAL)
        return ff__fail(error, status, "a touch outside every array");
    return status;
}

/* These bytes are not on the device any more. */
static void remove_pages(struct counting *counting, uint32_t array, uint64_t offset,
                         uint64_t bytes) {
    uint64_t first = counting->workload->arrays[array].first_page;
    uint64_t end = first + (offset + bytes + FF_PAGE_SIZE - 1) / FF_PAGE_SIZE;
    for (uint64_t page = first + offset / FF_PAGE_SIZE; page < end && bytes > 0; page++)
        ff__stack_remove(&counting->stack, (uint32_t)page);
}

static int act(struct counting *counting, const struct ff__action *action, struct ff_error *error) {
    switch (action->kind) {
    case FF__ACTION_LAUNCH:
        return launch(counting, &action->kernel, error);
    case FF__ACTION_FREE:
        remove_pages(counting, action->array, 0, counting->workload->arrays[action->array].bytes);
        return 0;
    case FF__ACTION_HOST_READ:
    case FF__ACTION_HOST_WRITE:
        if (counting->gpu->host == FF__HOST_FAULTS)
            remove_pages(counting, action->array, action->offset, action->bytes);
        return 0;
    default:
        return 0;
    }
}

/* Each array has pages of its own: it may be allocated several times, but only at one place. */
static void place_arrays(struct counting *counting) {
    struct ff__workload *workload = counting->workload;
    for (uint32_t i = 0; i < workload->array_count; i++) {
        workload->arrays[i].first_page = counting->page_count;
        counting->page_count += (workload->arrays[i].bytes + FF_PAGE_SIZE - 1) / FF_PAGE_SIZE;
    }
}

/* Sums up the uses by distance; the curve takes over their array. */
static void sum_up(struct counting *counting) {
    struct ff__curve *curve = counting->curve;
    uint64_t *misses = counting->stack.uses, sum = misses[0];
    curve->depth = counting->stack.depth;
    curve->room = counting->page_count + 1;
    curve->misses = misses;
    counting->stack.uses = NULL;
    for (uint64_t pages = curve->depth; pages > 0; pages--) {
        uint64_t uses = misses[pages];
        misses[pages] = sum;
        sum += uses;
    }
    misses[0] = sum;
}

static int run(struct counting *counting, struct ff_error *error) {
    const struct ff__workload *workload = counting->workload;
    struct ff__action action;
    int status = ff__stack_init(&counting->stack, counting->page_count);
    for (uint64_t i = 0; !status && workload->type->action(workload, i, &action); i++)
        status = act(counting, &action, error);
    return status;
}

int ff__curve_count(struct ff__workload *workload, const struct ff__gpu *gpu, bool future,
                    struct ff__curve *out, struct ff_error *error) {
    struct counting counting = {.workload = workload, .gpu = gpu, .curve = out};
    *out = (struct ff__curve){0};
    error->message[0] = '\0';
    place_arrays(&counting);
    counting.known = ff__lazy_map(counting.page_count / 8 + 1);
    if (future)
        counting.latest = ff__lazy_map(counting.page_count * sizeof *counting.latest);
    int status = counting.known && (counting.latest || !future) ? 0 : -ENOMEM;
    if (!status)
        status = run(&counting, error);
    if (!status)
        sum_up(&counting);
    else if (!error->message[0])
        ff__fail(error, status, "the miss-ratio curve: %s", strerror(-status));
    ff__stack_fini(&counting.stack);
    ff__lazy_unmap(counting.latest, counting.page_count * sizeof *counting.latest);
    ff__lazy_unmap(counting.known, counting.page_count / 8 + 1);
    return status;
}

void ff__curve_free(struct ff__curve *curve) {
    ff__lazy_unmap(curve->misses, curve->room * sizeof *curve->misses);
    free(curve->next);
    *curve = (struct ff__curve){0};
}
