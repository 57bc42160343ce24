/* Rounds of a program: what each took, and whether the rest will be like those before.
 *
 * A simulation is a function of its state, so that a state that comes back brings back all that followed
 * it. It is not compared as a whole. What a round leaves behind is taken to be the same as before if the
 * last rounds have the same counts and times as those one period earlier (a period is one to four
 * rounds). Learning systems keep changing their tables a little: they have settled if the last four
 * rounds lie within a thousandth of their mean in time and in bytes either way. */
#include "backend/sim/internal.h"

#include <string.h>

#define SHARE    0.001
#define ROUND_NS 2 /* what is left of equal times when they are cut to nanoseconds */

_Static_assert(sizeof(struct ff__sim_result) % sizeof(uint64_t) == 0, "counters only");

/* The state of all counters after a round; `back` rounds ago. */
static struct ff__sim_result *counters(struct laps *laps, uint64_t back) {
    return &laps->at[(laps->count - back) % LAPS_KEPT];
}

static struct ff__sim_lap lap_of(struct laps *laps, uint64_t back) {
    const struct ff__sim_result *end = counters(laps, back), *start = counters(laps, back + 1);
    return (struct ff__sim_lap){
        end->time_ns - start->time_ns,   end->time_ps - start->time_ps,
        end->faults - start->faults,     end->duplicates - start->duplicates,
        end->pages_in - start->pages_in, end->pages_out - start->pages_out};
}

static bool is_like(const struct ff__sim_lap *a, const struct ff__sim_lap *b) {
    uint64_t later = a->time_ns > b->time_ns ? a->time_ns - b->time_ns : b->time_ns - a->time_ns;
    return later <= ROUND_NS && a->faults == b->faults && a->duplicates == b->duplicates &&
           a->pages_in == b->pages_in && a->pages_out == b->pages_out;
}

/* The last `period` rounds are like those before them. */
static bool repeats(struct laps *laps, uint64_t period) {
    if (laps->count < 2 * period)
        return false;
    for (uint64_t i = 0; i < period; i++) {
        struct ff__sim_lap now = lap_of(laps, i), before = lap_of(laps, i + period);
        if (!is_like(&now, &before))
            return false;
    }
    return true;
}

static bool is_near(uint64_t value, double mean) {
    return (double)value <= mean * (1 + SHARE) && (double)value >= mean * (1 - SHARE);
}

static bool lies_close(struct laps *laps) {
    double time = 0, in = 0, out = 0;
    if (laps->count < 2 * LAP_PERIOD)
        return false;
    for (uint64_t i = 0; i < LAP_PERIOD; i++) {
        struct ff__sim_lap lap = lap_of(laps, i);
        time += (double)lap.time_ns / LAP_PERIOD;
        in += (double)lap.pages_in / LAP_PERIOD;
        out += (double)lap.pages_out / LAP_PERIOD;
    }
    for (uint64_t i = 0; i < LAP_PERIOD; i++) {
        struct ff__sim_lap lap = lap_of(laps, i);
        if (!is_near(lap.time_ns, time) || !is_near(lap.pages_in, in) ||
            !is_near(lap.pages_out, out))
            return false;
    }
    return true;
}

/* With memory for everything: the last rounds had no faults and moved nothing, so that they left nothing
 * behind, and took exactly the same time as each other. */
static bool rests(struct laps *laps) {
    struct ff__sim_lap now = lap_of(laps, 0), before;
    if (laps->count < 2)
        return false;
    before = lap_of(laps, 1);
    return now.faults + now.pages_in + now.pages_out == 0 &&
           before.faults + before.pages_in + before.pages_out == 0 && now.time_ps == before.time_ps;
}

/* After how many rounds the same comes again; 0: not yet known. */
static uint64_t period_of(struct laps *laps) {
    for (uint64_t period = 1; period <= LAP_PERIOD; period++)
        if (repeats(laps, period))
            return period;
    return lies_close(laps) ? LAP_PERIOD : 0;
}

/* Rounds to come; *last is the action that ends the last one. */
static uint64_t rounds_left(const struct sim *sim, uint64_t *last) {
    struct ff__action action;
    uint64_t rounds = 0;
    for (uint64_t i = sim->next_action + 1; sim->workload->type->action(sim->workload, i, &action);
         i++) {
        if (action.kind != FF__ACTION_LAP)
            continue;
        *last = i;
        rounds++;
    }
    return rounds;
}

/* What `rounds` more add to each counter. */
static void multiply(struct laps *laps, uint64_t period, uint64_t rounds) {
    uint64_t now[LAP_WORDS], start[LAP_WORDS], part[LAP_WORDS], more[LAP_WORDS];
    memcpy(now, counters(laps, 0), sizeof now);
    memcpy(start, counters(laps, period), sizeof start);
    memcpy(part, counters(laps, period - rounds % period), sizeof part);
    for (size_t i = 0; i < LAP_WORDS; i++)
        more[i] = (now[i] - start[i]) * (rounds / period) + (part[i] - start[i]);
    memcpy(&laps->more, more, sizeof more);
    memset(&laps->more.lap, 0, sizeof laps->more.lap);
    laps->more.laps_run = 0;
}

void ff__laps_end(struct sim *sim, uint64_t time) {
    struct laps *laps = &sim->laps;
    uint64_t last = sim->next_action;
    sim->result->laps++;
    sim->result->laps_run++;
    laps->count++;
    *counters(laps, 0) = *sim->result;
    ff__sim_stock(sim, time, counters(laps, 0));
    sim->result->lap = lap_of(laps, 0);
    uint64_t period = sim->config->settles ? period_of(laps) : 0;
    if (sim->config->memory == 0 && rests(laps))
        period = 1;
    if (period == 0 || sim->config->observe)
        return;
    uint64_t rounds = rounds_left(sim, &last);
    multiply(laps, period, rounds);
    sim->next_action = last; /* on with what comes after the last round */
}

void ff__laps_add(const struct laps *laps, struct ff__sim_result *result) {
    uint64_t sum[LAP_WORDS], more[LAP_WORDS];
    memcpy(sum, result, sizeof sum);
    memcpy(more, &laps->more, sizeof more);
    for (size_t i = 0; i < LAP_WORDS; i++)
        sum[i] += more[i];
    memcpy(result, sum, sizeof sum);
}
