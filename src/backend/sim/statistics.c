/* What a run has counted. Most of it is counted where it happens, for the job and the device. What
 * the engine counts is charged to the job that it was done for. */
#include "backend/sim/simulation.h"

#include <math.h>
#include <string.h>

static void charge(uint64_t *counter, uint64_t *charged, uint64_t now) {
    *counter += now - *charged;
    *charged = now;
}

void ff__sim_charge(struct sim *sim, struct ff__sim_result *counters) {
    const struct ff_stats *now = &sim->space->stats;
    struct ff_stats *charged = &sim->charged;
    charge(&counters->faults, &charged->faults, now->faults);
    charge(&counters->pages_out, &charged->pages_out, now->pages_out);
    charge(&counters->pages_dropped, &charged->pages_dropped, now->pages_dropped);
    charge(&counters->prefetched, &charged->prefetched, now->prefetched);
    charge(&counters->prefetched_used, &charged->prefetch_used, now->prefetch_used);
    charge(&counters->prefetched_useless, &charged->prefetch_useless, now->prefetch_useless);
}

static void add(struct ff__sim_result *sum, const struct ff__sim_result *part) {
    uint64_t words[FF__RESULT_WORDS], more[FF__RESULT_WORDS];
    memcpy(words, sum, sizeof words);
    memcpy(more, part, sizeof more);
    for (size_t i = 0; i < FF__RESULT_WORDS; i++)
        words[i] += more[i];
    memcpy(sum, words, sizeof words);
}

void ff__job_counted(const struct sim *sim, const struct job *job, uint64_t time,
                     struct ff__sim_result *out) {
    *out = job->own;
    for (uint32_t i = 0; i < sim->config->devices; i++)
        add(out, ff__sim_counters(sim, job, i));
    out->stats = sim->space->stats;
    if (!sim->model->takes_time) {
        out->demanded = out->accesses;
        out->demanded_hits = out->hits;
        return;
    }
    out->time_ps = time;
    if (sim->model->adds_faults) {
        out->fault_ns = out->faults * sim->gpu->fault_ns;
        out->time_ps += out->fault_ns * PS_PER_NS;
    }
    out->time_ns = ff__sim_ns(out->time_ps);
}

/* ---- the end ---- */

static void sum_up_job(const struct sim *sim, const struct job *job, struct ff__sim_result *out) {
    ff__job_counted(sim, job, (job->over ? job->end : sim->now) - job->start, out);
    add(out, &job->iterations.more);
    out->time_ns = ff__sim_ns(out->time_ps);
    out->kernels = ff__engine_launches_given(sim->engine);
    out->table_bytes = ff__engine_arena_used(sim->engine);
    out->tracker_bytes = sim->samples ? job->device_count * ff__tracker_bytes(1) : 0;
}

void ff__sim_sum_up(const struct sim *sim, struct ff__sim_job *jobs, struct ff__sim_result *all) {
    memset(all, 0, sizeof *all);
    uint64_t time_ps = 0;
    for (uint32_t i = 0; i < sim->job_count; i++) {
        struct ff__sim_result *result = &jobs[i].result;
        sum_up_job(sim, &sim->jobs[i], result);
        add(all, result);
        time_ps = result->time_ps > time_ps ? result->time_ps : time_ps;
    }
    all->time_ps = time_ps;
    all->time_ns = ff__sim_ns(time_ps);
    all->kernels = jobs[0].result.kernels; /* the engine's, as are the next two */
    all->table_bytes = jobs[0].result.table_bytes;
    all->stats = jobs[0].result.stats;
}

/* ---- figures ---- */

static double share(uint64_t part, uint64_t whole) {
    return whole ? (double)part / (double)whole : NAN;
}

double ff__sim_hit_rate(const struct ff__sim_result *result) {
    return share(result->demanded_hits, result->demanded);
}

double ff__sim_accuracy(const struct ff__sim_result *result) {
    return share(result->prefetched_used, result->prefetched);
}

double ff__sim_coverage(const struct ff__sim_result *result, const struct ff__sim_result *without) {
    return without->faults
               ? ((double)without->faults - (double)result->faults) / (double)without->faults
               : NAN;
}

double ff__sim_ipc(const struct ff__sim_result *result, const struct ff__gpu *gpu) {
    return result->time_ns
               ? (double)result->instructions / ((double)result->time_ns * 1e-9 * gpu->clock_hz)
               : NAN;
}
