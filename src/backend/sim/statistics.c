/* What a run has counted. */
#include "backend/sim/internal.h"

#include <math.h>
#include <string.h>

/* What nobody wrote to is zero. */
static uint64_t arena_used(const struct ff__engine *engine) {
    const struct ff_policy *policy = engine->system.policy[FF__PREFETCH];
    const unsigned char *arena = engine->arena[FF__PREFETCH][0];
    size_t size = policy->arena_size ? policy->arena_size(engine->system.params[FF__PREFETCH]) : 0;
    static const unsigned char zeros[FF_PAGE_SIZE];
    uint64_t used = 0;
    for (size_t at = 0; at + FF_PAGE_SIZE <= size; at += FF_PAGE_SIZE)
        used += memcmp(arena + at, zeros, FF_PAGE_SIZE) ? FF_PAGE_SIZE : 0;
    return used;
}

void ff__sim_stock(const struct sim *sim, uint64_t time, struct ff__sim_result *out) {
    const struct ff_stats *stats = &sim->engine.space.stats;
    out->stats = *stats;
    out->faults = stats->faults;
    out->pages_out = stats->pages_out;
    out->pages_dropped = stats->pages_dropped;
    out->prefetched = stats->prefetched;
    out->prefetched_used = stats->prefetch_used;
    out->prefetched_useless = stats->prefetch_useless;
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

void ff__sim_sum_up(struct sim *sim) {
    struct ff__sim_result *result = sim->result;
    ff__sim_stock(sim, sim->now, result);
    ff__iterations_add(&sim->iterations, result);
    result->time_ns = ff__sim_ns(result->time_ps);
    result->kernels = sim->engine.launch_count;
    result->table_bytes = arena_used(&sim->engine);
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
