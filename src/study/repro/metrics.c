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

static double known(run_of *run, double value) {
    return run->good ? value : (double)NAN;
}

/* ---- time ---- */

/* Of all iterations, of which some were simulated; the last one of those stands for the others. */
static double seconds_of(run_of *run, unsigned iterations) {
    double more = iterations ? (double)(iterations - run->result.iterations) *
                                   (double)run->result.last_iteration.time_ns
                             : 0;
    return known(run, ((double)run->result.time_ns + more) * 1e-9);
}

static double seconds(measured *m) {
    return seconds_of(m->run, m->iterations);
}

static double faster(measured *m) {
    return seconds_of(m->base, m->iterations) / seconds_of(m->run, m->iterations);
}

static double slower(measured *m) {
    return seconds_of(m->run, m->iterations) / seconds_of(m->base, m->iterations);
}

/* From the launch, where the axis of HLSH's Figure 11 begins. */
static double cycles(measured *m) {
    double ns = (double)(m->run->result.kernel_ns + m->gpu->launch_ns);
    return known(m->run, ns) * m->gpu->clock_hz / 1e9;
}

/* By GPGPU-Sim's cycles, which leave out what a far fault costs beyond its transfer. */
static double kernel_speed(run_of *run) {
    return known(run, (double)run->result.instructions / (double)run->result.kernel_ns);
}

static double total_speed(run_of *run) {
    double ns = (double)(run->result.kernel_ns + run->result.fault_ns);
    return known(run, (double)run->result.instructions / ns);
}

static double ipc(measured *m) {
    return kernel_speed(m->run) / kernel_speed(m->base);
}

static double total_ipc(measured *m) {
    return total_speed(m->run) / total_speed(m->base);
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
    return (idle_watts + core_watts) * seconds_of(run, m->iterations) +
           kernel_watts * seconds_of(m->alone, m->iterations) + byte_joules * bytes;
}

static double energy(measured *m) {
    return joules(m->run, m) / joules(m->base, m);
}

/* ---- faults and tables ---- */

static double faults(measured *m) {
    return known(m->run, (double)m->run->result.faults);
}

/* Entries of the fault buffer, duplicates among them. */
static double iteration_faults(measured *m) {
    const struct ff__sim_iteration *last = &m->run->result.last_iteration;
    return known(m->run, (double)(last->faults + last->duplicates));
}

static double table_mib(measured *m) {
    return known(m->run, (double)m->run->result.table_bytes / 0x1p20);
}

/* What a full table for every execution ID that ever had a fault would take. */
static double full_table_mib(measured *m) {
    return known(m->run, (double)(m->run->result.kernels_faulted * FULL_TABLE) / 0x1p20);
}

/* ---- what prefetches are worth ---- */

static double instructions(measured *m) {
    return known(m->run, (double)m->run->result.instructions * LANES);
}

static double hit_rate(measured *m) {
    return known(m->run, ff__sim_hit_rate(&m->run->result));
}

/* As UVMSmart counts: of all walks of the page table, those that find a valid page. */
static double walk_hits(measured *m) {
    const struct ff__sim_result *r = &m->run->result;
    return known(m->run, 1 - (double)(r->accesses - r->hits) / (double)r->walks);
}

/* Of all accesses of warps. */
static double access_hits(measured *m) {
    return known(m->run, (double)m->run->result.hits / (double)m->run->result.accesses);
}

/* Of pages, with those that are under way when they are first accessed. */
static double coming_hits(measured *m) {
    const struct ff__sim_result *r = &m->run->result;
    return known(m->run, 1 - (double)r->faults / (double)r->demanded);
}

static double accuracy(measured *m) {
    return known(m->run, ff__sim_accuracy(&m->run->result));
}

/* The baseline is what only demands. */
static double coverage(measured *m) {
    return known(m->base, known(m->run, ff__sim_coverage(&m->run->result, &m->base->result)));
}

static double unity(measured *m) {
    return cbrt(accuracy(m) * coverage(m) * hit_rate(m));
}

static double bytes_of(run_of *run) {
    return known(run, (double)(run->result.bytes_in + run->result.bytes_out));
}

static double traffic(measured *m) {
    return bytes_of(m->run) / bytes_of(m->base);
}

const struct ff__metric *ff__metric_find(const char *name) {
    static const struct ff__metric metrics[] = {
        {"seconds", seconds, false, false},
        {"faster", faster, true, false},
        {"slower", slower, true, false},
        {"cycles", cycles, false, false},
        {"ipc", ipc, true, false},
        {"total_ipc", total_ipc, true, false},
        {"energy", energy, true, true},
        {"faults", faults, false, false},
        {"iteration_faults", iteration_faults, false, false},
        {"table_mib", table_mib, false, false},
        {"full_table_mib", full_table_mib, false, false},
        {"instructions", instructions, false, false},
        {"hit_rate", hit_rate, false, false},
        {"walk_hits", walk_hits, false, false},
        {"access_hits", access_hits, false, false},
        {"coming_hits", coming_hits, false, false},
        {"accuracy", accuracy, false, false},
        {"coverage", coverage, true, false},
        {"unity", unity, true, false},
        {"traffic", traffic, true, false},
    };
    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++)
        if (strcmp(metrics[i].name, name) == 0)
            return &metrics[i];
    return NULL;
}
