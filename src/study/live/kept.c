/* Runs of a comparison in its file of runs. */
#include "study/live/compare.h"

#include "report/complain.h"
#include "report/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What decides the result: the caller frees `options`. The program's file counts where it is
 * known; what a command for the shell starts is not. */
static struct ff__store_key key_of(const struct ff__comparison *comparison, unsigned program,
                                   unsigned line, unsigned run) {
    const struct ff__program *what = &comparison->programs.items[program];
    uint32_t data = 0;
    ff__study_add_files(comparison->preload, &data);
    if (what->bundled)
        ff__study_add_files(what->argv[0], &data);
    return (struct ff__store_key){.subject = what->name,
                                  .system = ff__line_system(comparison, line),
                                  .device = comparison->description,
                                  .memory = ff__line_memory(comparison, program, line),
                                  .seed = comparison->study.seed,
                                  .options = ff__text("run=%u%s", run, comparison->settings),
                                  .data = data,
                                  .measured = true};
}

static json_t *trial_json(const struct ff__trial *trial) {
    const struct ff__run_measures *measures = &trial->summary.measures;
    json_t *all = ff__must(json_object());
    ff__json_set(all, "seconds", ff__json_number(measures->seconds));
    ff__json_set(all, "faults", ff__json_count(measures->faults));
    ff__json_set(all, "bytes_in", ff__json_count(measures->bytes_in));
    ff__json_set(all, "bytes_out", ff__json_count(measures->bytes_out));
    ff__json_set(all, "hit_rate", ff__json_number(measures->hit_rate));
    ff__json_set(all, "footprint", ff__json_count(trial->summary.footprint));
    ff__json_set(all, "fallbacks", ff__json_count(trial->summary.fallbacks));
    ff__json_set(all, "summary", json_incref(trial->summary.all));
    return all;
}

static double number_of(const json_t *object, const char *name) {
    const json_t *value = json_object_get(object, name);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static uint64_t count_of(const json_t *object, const char *name) {
    return (uint64_t)json_integer_value(json_object_get(object, name));
}

static void read_trial(const json_t *all, struct ff__trial *out) {
    json_t *summary = json_incref(json_object_get(all, "summary"));
    *out = (struct ff__trial){
        .good = true,
        .output = -1,
        .summary = {.measures = {.seconds = number_of(all, "seconds"),
                                 .slowdown = (double)NAN,
                                 .faults = count_of(all, "faults"),
                                 .bytes_in = count_of(all, "bytes_in"),
                                 .bytes_out = count_of(all, "bytes_out"),
                                 .hit_rate = number_of(all, "hit_rate")},
                    .footprint = count_of(all, "footprint"),
                    .fallbacks = count_of(all, "fallbacks"),
                    .broken = json_string_value(json_object_get(summary, "broken")),
                    .all = summary}};
}

bool ff__trial_find(const struct ff__comparison *comparison, unsigned program, unsigned line,
                    unsigned run, struct ff__trial *out) {
    if (!comparison->study.store)
        return false;
    const struct ff__store_key key = key_of(comparison, program, line, run);
    json_t *all = ff__study_get(comparison->study.store, &key);
    bool found = json_is_object(json_object_get(all, "summary"));
    if (found)
        read_trial(all, out);
    json_decref(all);
    free((char *)key.options);
    return found;
}

void ff__trial_keep(const struct ff__comparison *comparison, unsigned program, unsigned line,
                    unsigned run, const struct ff__trial *trial) {
    if (!comparison->study.store || trial->end.interrupted)
        return;
    const struct ff__store_key key = key_of(comparison, program, line, run);
    ff__study_put(comparison->study.store, &key,
                  trial->good ? trial->summary.measures.seconds : (double)NAN,
                  trial->good ? trial_json(trial) : NULL, trial->reason);
    free((char *)key.options);
}
