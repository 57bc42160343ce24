/* Iterations of a program: what each took, and whether the rest will be like those before.
 *
 * A simulation is a function of its state, so that a state that comes back brings back all that
 * followed it. It is not compared as a whole. What an iteration leaves behind is taken to be the
 * same as before if the last iterations have the same counts and times as those one period earlier
 * (a period is one to four iterations). Learning systems keep changing their tables a little: they
 * are in the steady state if the last four iterations lie within a thousandth of their mean in time
 * and in bytes either way. */
#include "backend/sim/simulation.h"

#include <string.h>

#define SHARE        0.001
#define ITERATION_NS 2 /* what is left of equal times when they are cut to nanoseconds */

#define WORDS        (sizeof(struct ff__sim_result) / sizeof(uint64_t))

_Static_assert(sizeof(struct ff__sim_result) % sizeof(uint64_t) == 0, "counters only");

/* The state of all counters after an iteration; `back` iterations ago. */
static struct ff__sim_result *counters(struct iterations *iterations, uint64_t back) {
    return &iterations->at[(iterations->count - back) % ITERATIONS_KEPT];
}

static struct ff__sim_iteration iteration_before(struct iterations *iterations, uint64_t back) {
    const struct ff__sim_result *end = counters(iterations, back),
                                *start = counters(iterations, back + 1);
    return (struct ff__sim_iteration){
        end->time_ns - start->time_ns,   end->time_ps - start->time_ps,
        end->faults - start->faults,     end->duplicates - start->duplicates,
        end->pages_in - start->pages_in, end->pages_out - start->pages_out};
}

static bool is_like(const struct ff__sim_iteration *a, const struct ff__sim_iteration *b) {
    uint64_t later = a->time_ns > b->time_ns ? a->time_ns - b->time_ns : b->time_ns - a->time_ns;
    return later <= ITERATION_NS && a->faults == b->faults && a->duplicates == b->duplicates &&
           a->pages_in == b->pages_in && a->pages_out == b->pages_out;
}

/* The last `period` iterations are like those before them. */
static bool repeats(struct iterations *iterations, uint64_t period) {
    if (iterations->count < 2 * period)
        return false;
    for (uint64_t i = 0; i < period; i++) {
        struct ff__sim_iteration now = iteration_before(iterations, i),
                                 before = iteration_before(iterations, i + period);
        if (!is_like(&now, &before))
            return false;
    }
    return true;
}

static bool is_near(uint64_t value, double mean) {
    return (double)value <= mean * (1 + SHARE) && (double)value >= mean * (1 - SHARE);
}

static bool lies_close(struct iterations *iterations) {
    double time = 0, in = 0, out = 0;
    if (iterations->count < 2 * ITERATIONS_PERIOD)
        return false;
    for (uint64_t i = 0; i < ITERATIONS_PERIOD; i++) {
        struct ff__sim_iteration iteration = iteration_before(iterations, i);
        time += (double)iteration.time_ns / ITERATIONS_PERIOD;
        in += (double)iteration.pages_in / ITERATIONS_PERIOD;
        out += (double)iteration.pages_out / ITERATIONS_PERIOD;
    }
    for (uint64_t i = 0; i < ITERATIONS_PERIOD; i++) {
        struct ff__sim_iteration iteration = iteration_before(iterations, i);
        if (!is_near(iteration.time_ns, time) || !is_near(iteration.pages_in, in) ||
            !is_near(iteration.pages_out, out))
            return false;
    }
    return true;
}

/* Fully resident: the last iterations had no faults and moved nothing, so that they left nothing
 * behind, and took exactly the same time as each other. */
static bool rests(struct iterations *iterations) {
    struct ff__sim_iteration now = iteration_before(iterations, 0), before;
    if (iterations->count < 2)
        return false;
    before = iteration_before(iterations, 1);
    return now.faults + now.pages_in + now.pages_out == 0 &&
           before.faults + before.pages_in + before.pages_out == 0 && now.time_ps == before.time_ps;
}

/* After how many iterations the same comes again; 0: not yet known. */
static uint64_t period_of(struct iterations *iterations) {
    for (uint64_t period = 1; period <= ITERATIONS_PERIOD; period++)
        if (repeats(iterations, period))
            return period;
    return lies_close(iterations) ? ITERATIONS_PERIOD : 0;
}

/* Iterations to come; *last is the action that ends the last one. */
static uint64_t iterations_left(const struct job *job, uint64_t *last) {
    struct ff__action action;
    uint64_t count = 0;
    for (uint64_t i = job->next_action + 1; job->workload->type->action(job->workload, i, &action);
         i++) {
        if (action.kind != FF__ACTION_ITERATION)
            continue;
        *last = i;
        count++;
    }
    return count;
}

/* What `left` iterations more add to each counter. */
static void multiply(struct iterations *iterations, uint64_t period, uint64_t left) {
    uint64_t now[FF__RESULT_WORDS], start[FF__RESULT_WORDS], part[FF__RESULT_WORDS],
        more[FF__RESULT_WORDS];
    memcpy(now, counters(iterations, 0), sizeof now);
    memcpy(start, counters(iterations, period), sizeof start);
    memcpy(part, counters(iterations, period - left % period), sizeof part);
    for (size_t i = 0; i < FF__RESULT_WORDS; i++)
        more[i] = (now[i] - start[i]) * (left / period) + (part[i] - start[i]);
    memcpy(&iterations->more, more, sizeof more);
    memset(&iterations->more.last_iteration, 0, sizeof iterations->more.last_iteration);
    iterations->more.iterations_run = 0;
}

void ff__iterations_end(struct sim *sim, struct job *job, uint64_t time) {
    struct iterations *iterations = &job->iterations;
    uint64_t last = job->next_action;
    job->own.iterations++;
    job->own.iterations_run++;
    iterations->count++;
    ff__job_count_repetition(sim, job, time);
    ff__sim_charge(sim, ff__sim_counters(sim, job, job->first_device));
    ff__job_counted(sim, job, time - job->start, counters(iterations, 0));
    job->own.last_iteration = iteration_before(iterations, 0);
    uint64_t period = sim->config->extrapolates ? period_of(iterations) : 0;
    if (sim->config->memory == 0 && rests(iterations))
        period = 1;
    if (period == 0 || sim->config->observe || sim->job_count > 1 || job->repeats)
        return;
    multiply(iterations, period, iterations_left(job, &last));
    job->next_action = last; /* on with what comes after the last iteration */
}
