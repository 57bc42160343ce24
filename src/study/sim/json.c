/* A sweep as JSON; docs/simulation.md describes what is not in docs/running.md. */
#include "study/outputs.h"
#include "study/sim/record.h"
#include "study/sim/sweep.h"

#include <math.h>
#include <string.h>

static void set_counters(json_t *run, const struct ff__sweep *sweep, unsigned cell) {
    const struct ff__sim_result *result = &ff__sweep_at(sweep, cell)->result;
    const struct ff__gpu *gpu = &sweep->gpus[ff__matrix_place(&sweep->matrix, cell).device];
    const struct ff__counter *counter;
    for (unsigned i = 0; (counter = ff__counter_at(i)); i++) {
        bool known = counter->kind != FF__COUNTER_TIMED || !sweep->untimed;
        if (counter->kind != FF__COUNTER_INNER)
            ff__json_set(run, counter->name,
                         known ? ff__json_count(ff__counter_value(counter, result)) : json_null());
    }
    ff__json_set(run, "accuracy", ff__json_number(ff__sim_accuracy(result)));
    ff__json_set(run, "coverage", ff__json_number(ff__sweep_coverage(sweep, cell)));
    ff__json_set(run, "ipc", ff__json_number(ff__sim_ipc(result, gpu)));
}

/* The programs beside the workload, in the order of their devices. */
static json_t *beside_of(const struct ff__sweep *sweep, const struct ff__simulated *simulated) {
    json_t *list = ff__must(json_array());
    unsigned program = 0;
    for (unsigned i = 0; i < sweep->beside.count; i++) {
        json_t *object = ff__must(json_object());
        bool is_idle = strcmp(sweep->beside.items[i], FF__IDLE_DEVICE) == 0;
        const struct ff__sim_result *result = is_idle ? NULL : &simulated->beside[program++];
        ff__json_set(object, "subject", ff__json_text(sweep->beside.items[i]));
        ff__json_set(object, "repetitions", ff__json_count(result ? result->repetitions : 0));
        ff__json_set(object, "repetition_ms",
                     ff__json_number(result ? ff__sweep_repetition_ms(result) : (double)NAN));
        json_array_append_new(list, object);
    }
    return list;
}

const char *ff__sweep_measures(const void *self, unsigned cell, struct ff__run_measures *out) {
    const struct ff__sweep *sweep = self;
    const struct ff__simulated *simulated = ff__sweep_at(sweep, cell);
    const struct ff__sim_result *result = &simulated->result;
    *out = (struct ff__run_measures){
        .seconds = sweep->untimed ? (double)NAN : (double)result->time_ns / 1e9,
        .faults = result->faults,
        .bytes_in = result->bytes_in,
        .bytes_out = result->bytes_out,
        .hit_rate = ff__sim_hit_rate(result),
    };
    return simulated->good ? NULL : simulated->reason;
}

void ff__sweep_add_run(const void *self, unsigned cell, json_t *run) {
    const struct ff__sweep *sweep = self;
    const struct ff__simulated *simulated = ff__sweep_at(sweep, cell);
    if (!simulated->good && !ff__sweep_failed(sweep, cell))
        ff__json_set(run, "good", json_null());
    if (!simulated->good)
        return;
    set_counters(run, sweep, cell);
    if (sweep->beside.count > 0)
        ff__json_set(run, "beside", beside_of(sweep, simulated));
    if (sweep->explains)
        ff__json_set(run, "findings", ff__findings_json(simulated));
}

json_t *ff__sweep_results(const struct ff__sweep *sweep) {
    json_t *all = ff__results_new(sweep->traces ? "replay" : "sim");
    ff__json_set(all, "untimed", json_boolean(sweep->untimed));
    ff__json_set(all, "seed", ff__json_count(sweep->study.seed));
    ff__json_set(all, "devices", ff__json_count(sweep->devices));
    ff__matrix_add_results(&sweep->matrix, all);
    return all;
}
