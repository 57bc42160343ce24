#include "study/repro/metrics.h"

#include <farfault/mask.h>
#include <math.h>
#include <string.h>

/* What the paper counts are instructions of threads. */
#define LANES 32

/* A table of DeepUM's shape, all rows there from the start: 2048 rows of 2 ways, each a block and 4
 * successors. That a block takes four bytes, as with us, is ours; the paper does not say. */
#define FULL_TABLE (2048u * 2 * (1 + 4) * 4)

typedef const struct ff__simulated run_of;
typedef const struct ff__measured measured;
typedef struct ff__ratio ratio;

static double known(run_of *run, double value) {
    return run->good ? value : (double)NAN;
}

/* Of the run alone. */
static ratio plain(measured *m, double value) {
    return (ratio){known(m->run, value), 1};
}

/* ---- time ---- */

/* Of all iterations, of which some were simulated; the last one of those stands for the others. */
static double ns_of(run_of *run, measured *m) {
    const struct ff__sim_result *result = &run->result;
    double more = m->iterations ? (double)(m->iterations - result->iterations) *
                                      (double)result->last_iteration.time_ns
                                : 0;
    return known(run, (double)result->time_ns + more);
}

static double seconds_of(run_of *run, measured *m) {
    return ns_of(run, m) * 1e-9;
}

static ratio seconds(measured *m) {
    return plain(m, seconds_of(m->run, m));
}

static ratio faster(measured *m) {
    return (ratio){ns_of(m->base, m), ns_of(m->run, m)};
}

static ratio slower(measured *m) {
    return (ratio){ns_of(m->run, m), ns_of(m->base, m)};
}

/* By cycles of kernels, as GPGPU-Sim prints them: without what faults cost beyond transfers. */
static ratio kernels(measured *m) {
    return (ratio){(double)m->base->result.kernel_ns, (double)m->run->result.kernel_ns};
}

/* Kernels and 45 us a fault, which the flat model of faults keeps apart. */
static ratio total_us(measured *m) {
    return plain(m, (double)(m->run->result.kernel_ns + m->run->result.fault_ns) / 1e3);
}

static double driver_ns(run_of *run) {
    return (double)(run->result.fault_ns + run->result.sample_ns);
}

static ratio driver(measured *m) {
    return (ratio){driver_ns(m->run), driver_ns(m->base)};
}

/* From the launch, where the axis of HLSH's Figure 11 begins. */
static ratio cycles(measured *m) {
    double ns = (double)(m->run->result.kernel_ns + m->gpu->launch_ns);
    return plain(m, ns * m->gpu->clock_hz / 1e9);
}

static double kernel_speed(run_of *run) {
    return known(run, (double)run->result.instructions / (double)run->result.kernel_ns);
}

static double total_speed(run_of *run) {
    double ns = (double)(run->result.kernel_ns + run->result.fault_ns);
    return known(run, (double)run->result.instructions / ns);
}

static ratio ipc(measured *m) {
    return (ratio){kernel_speed(m->run), kernel_speed(m->base)};
}

static ratio total_ipc(measured *m) {
    return (ratio){total_speed(m->run), total_speed(m->base)};
}

/* ---- energy ---- */

/* DeepUM's authors measure the whole host with a power meter (section 6.1). Here its parts have
 * powers that their data sheets give, or that are assumed; docs/results/deepum-energy.md says what
 * the ratios owe to the assumptions. */

/* W that the host takes all the time */
static const double idle_watts =
    2 * 65   /* two EPYC 7452 without work. Assumed; AMD gives 155 W at most */
    + 16 * 3 /* 512 GB as 16 modules of DDR4. Assumed */
    + 40     /* a V100 PCIe with a context, while all its warps wait. Assumed */
    + 60;    /* board, fans, disks. Assumed */

/* W beside these while kernels run: 250 W is the most that NVIDIA's data sheet gives for V100 PCIe
 */
static const double kernel_watts = 250 - 40;

/* W of the cores that are busy all the time, the program's and the driver's: of 32 cores each has
 * its part of what AMD gives for all of them under load, beside idle */
static const double core_watts = 2 * (155.0 - 65) / 32;

/* J of a byte that moves between host and device: 10 pJ a bit for PCIe 3.0 at both ends, 20 for
 * DDR4 and 4 for HBM2. Assumed */
static const double byte_joules = 8 * (10 + 20 + 4) * 1e-12;

static double joules(run_of *run, measured *m) {
    const struct ff__sim_result *result = &run->result;
    double more = (double)(m->iterations - result->iterations);
    double bytes = (double)(result->bytes_in + result->bytes_out) +
                   more * (double)FF_PAGE_SIZE *
                       (double)(result->last_iteration.pages_in + result->last_iteration.pages_out);
    return (idle_watts + core_watts) * seconds_of(run, m) + kernel_watts * seconds_of(m->alone, m) +
           byte_joules * bytes;
}

static ratio energy(measured *m) {
    return (ratio){joules(m->run, m), joules(m->base, m)};
}

/* ---- faults and tables ---- */

static ratio faults(measured *m) {
    return plain(m, (double)m->run->result.faults);
}

static ratio thrashed_pages(measured *m) {
    return plain(m, (double)m->run->result.thrashed);
}

static ratio pages_in(measured *m) {
    return plain(m, (double)m->run->result.pages_in);
}

static ratio thrashed(measured *m) {
    return (ratio){(double)m->run->result.thrashed, (double)m->base->result.thrashed};
}

static ratio untouched(measured *m) {
    const struct ff__sim_result *result = &m->run->result;
    return (ratio){100 * (double)result->prefetched_useless, (double)result->pages_in};
}

static ratio remigrated(measured *m) {
    return (ratio){(double)m->run->result.thrashed * FF_PAGE_SIZE, (double)m->run->footprint};
}

/* Entries of the fault buffer, duplicates among them. */
static ratio iteration_faults(measured *m) {
    const struct ff__sim_iteration *last = &m->run->result.last_iteration;
    return plain(m, (double)(last->faults + last->duplicates));
}

static ratio table_mib(measured *m) {
    return plain(m, (double)m->run->result.table_bytes / 0x1p20);
}

/* What a full table for every execution ID that ever had a fault would take. */
static ratio full_table_mib(measured *m) {
    return plain(m, (double)(m->run->result.kernels_faulted * FULL_TABLE) / 0x1p20);
}

/* ---- what prefetches are worth ---- */

static ratio instructions(measured *m) {
    return plain(m, (double)m->run->result.instructions * LANES);
}

static ratio hit_rate(measured *m) {
    return plain(m, ff__sim_hit_rate(&m->run->result));
}

/* As UVMSmart counts: of all walks of the page table, those that find a valid page. */
static ratio walk_hits(measured *m) {
    const struct ff__sim_result *r = &m->run->result;
    return plain(m, 1 - (double)(r->accesses - r->hits) / (double)r->walks);
}

/* Of all accesses of warps. */
static ratio access_hits(measured *m) {
    return plain(m, (double)m->run->result.hits / (double)m->run->result.accesses);
}

/* Of pages, with those that are under way when they are first accessed. */
static ratio coming_hits(measured *m) {
    const struct ff__sim_result *r = &m->run->result;
    return plain(m, 1 - (double)r->faults / (double)r->demanded);
}

static ratio accuracy(measured *m) {
    return plain(m, ff__sim_accuracy(&m->run->result));
}

/* The baseline is what only demands. */
static ratio coverage(measured *m) {
    return plain(m, known(m->base, ff__sim_coverage(&m->run->result, &m->base->result)));
}

static ratio unity(measured *m) {
    return plain(m, cbrt(accuracy(m).part * coverage(m).part * hit_rate(m).part));
}

static double bytes_of(run_of *run) {
    return known(run, (double)(run->result.bytes_in + run->result.bytes_out));
}

static ratio traffic(measured *m) {
    return (ratio){bytes_of(m->run), bytes_of(m->base)};
}

const struct ff__metric *ff__metric_find(const char *name) {
    enum { BASE = FF__METRIC_BASE, ALONE = FF__METRIC_ALONE, SUMS = FF__METRIC_SUMS };
    static const struct ff__metric metrics[] = {
        {"seconds", seconds, 0},
        {"faster", faster, BASE},
        {"slower", slower, BASE},
        {"kernels", kernels, BASE},
        {"total_us", total_us, 0},
        {"driver", driver, BASE | SUMS},
        {"cycles", cycles, 0},
        {"ipc", ipc, BASE},
        {"total_ipc", total_ipc, BASE},
        {"energy", energy, BASE | ALONE},
        {"faults", faults, 0},
        {"thrashed_pages", thrashed_pages, 0},
        {"pages_in", pages_in, 0},
        {"thrashed", thrashed, BASE | SUMS},
        {"untouched", untouched, SUMS},
        {"remigrated", remigrated, SUMS},
        {"iteration_faults", iteration_faults, 0},
        {"table_mib", table_mib, 0},
        {"full_table_mib", full_table_mib, 0},
        {"instructions", instructions, 0},
        {"hit_rate", hit_rate, 0},
        {"walk_hits", walk_hits, 0},
        {"access_hits", access_hits, 0},
        {"coming_hits", coming_hits, 0},
        {"accuracy", accuracy, 0},
        {"coverage", coverage, BASE},
        {"unity", unity, BASE},
        {"traffic", traffic, BASE},
    };
    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++)
        if (strcmp(metrics[i].name, name) == 0)
            return &metrics[i];
    return NULL;
}
