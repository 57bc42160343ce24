/* The cost of a fault: one after the other, and several at once. The lower bound is a userfaultfd
 * loop that does nothing else (bare.h). */
#include "bench.h"

#include "bare.h"
#include "touch.h"

#include <farfault/policy.h>

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PASSES 5 /* a run */

/* What is measured: `size` bytes that `threads` fault in at once, each its own blocks, by `unit`.
 */
struct shape {
    size_t unit, size;
    enum ff_handler handler;
    unsigned threads;
};

/* Memory that the host holds, a fault every `unit` bytes; it all fits, so that nothing is evicted.
 * Units below a block are allocations of their own, so that one fault brings exactly one unit. */
struct faulting {
    const struct shape *shape;
    struct ff_context *context;
    struct bare *bare;
    size_t range_size, count;
    char **ranges;
};

static void run_on(unsigned cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

/* Waking a thread on an idle CPU costs several times as much as on the same CPU, and the kernel's
 * choice of CPU varies. So with one faulting thread, that thread is pinned to one CPU, and both
 * handlers, farfault's and the bound's, to another. Several faulting threads are not pinned. */
static void open_faulting(struct faulting *faulting, const struct shape *shape) {
    struct ff_config defaults;
    size_t size = shape->size, unit = shape->unit;
    bool pins = shape->threads == 1;
    if (pins)
        run_on(sysconf(_SC_NPROCESSORS_ONLN) > 1 ? 1 : 0);
    ff_config_init(&defaults);
    faulting->shape = shape;
    faulting->range_size = unit == FF_LEAF_SIZE ? FF_LEAF_SIZE : size;
    faulting->count = size / faulting->range_size;
    faulting->context =
        open_context(unit == FF_PAGE_SIZE ? "demand" : "nvidia-1", size + 8 * MB, shape->handler);
    faulting->bare =
        bare_open(size, unit, shape->handler, defaults.spin_ns, pins ? 1 : BARE_HANDLERS_MAX);
    faulting->ranges = calloc(faulting->count, sizeof *faulting->ranges);
    if (!faulting->bare || !faulting->ranges) {
        fprintf(stderr, "farfault-bench: no memory or no userfaultfd for the bound\n");
        exit(1);
    }
    if (pins)
        run_on(0);
    for (size_t i = 0; i < faulting->count; i++) {
        faulting->ranges[i] = alloc_managed(faulting->context, faulting->range_size);
        memset(faulting->ranges[i], 1, faulting->range_size);
    }
}

static void close_faulting(struct faulting *faulting) {
    free(faulting->ranges);
    bare_close(faulting->bare);
    ff_close(faulting->context);
}

static double fault_seconds(struct faulting *faulting) {
    for (size_t i = 0; i < faulting->count; i++)
        ff_mem_hint(faulting->context, faulting->ranges[i], faulting->range_size, FF_HINT_EVICT, 0);
    struct touching touching = {faulting->ranges, faulting->range_size, faulting->count,
                                faulting->shape->unit};
    return touch_seconds(&touching, faulting->shape->threads);
}

/* The two take turns in one process, on pages that go back and forth between them: memory that is
 * new to a virtual machine costs far more than a fault. */
static void bench_fault(const char *name, const struct shape *shape) {
    struct faulting faulting;
    struct series series = {.count = 0};
    double faults = (double)(shape->size / shape->unit) * PASSES;
    open_faulting(&faulting, shape);
    for (int run = -1; run < bench_runs(); run++) {
        double bound = 0, ours = 0;
        for (int pass = 0; pass < PASSES; pass++) {
            bound += bare_fault_seconds(faulting.bare, shape->threads);
            ours += fault_seconds(&faulting);
        }
        if (run >= 0)
            series_add(&series, ours / faults * 1e6, bound / faults * 1e6);
    }
    report(name, "us", &series);
    close_faulting(&faulting);
}

static const struct {
    const char *name;
    size_t unit, size;
} sizes[] = {
    {"4k", FF_PAGE_SIZE, 16 * MB}, {"64k", FF_LEAF_SIZE, 32 * MB}, {"2m", FF_BLOCK_SIZE, 128 * MB}};

#define SIZES (sizeof sizes / sizeof sizes[0])

void bench_faults(void) {
    static const struct {
        const char *suffix;
        enum ff_handler handler;
    } modes[] = {
        {"", FF_HANDLER_ADAPTIVE}, {".sleep", FF_HANDLER_SLEEP}, {".sigbus", FF_HANDLER_SIGBUS}};
    cpu_set_t before;
    sched_getaffinity(0, sizeof before, &before);
    for (size_t s = 0; s < SIZES; s++) {
        for (int m = 0; m < 3; m++) {
            char name[64];
            struct shape shape = {sizes[s].unit, sizes[s].size, modes[m].handler, 1};
            snprintf(name, sizeof name, "fault.%s%s", sizes[s].name, modes[m].suffix);
            bench_fault(name, &shape);
        }
    }
    sched_setaffinity(0, sizeof before, &before);
}

void bench_parallel_faults(void) {
    for (size_t s = 0; s < SIZES; s++) {
        char name[64];
        struct shape shape = {sizes[s].unit, sizes[s].size, FF_HANDLER_ADAPTIVE, TOUCHERS_MAX};
        snprintf(name, sizeof name, "fault.parallel.%s", sizes[s].name);
        bench_fault(name, &shape);
    }
}
