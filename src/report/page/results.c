/* What the page shows of the results of a command. */
#include "report/json.h"
#include "report/page/page.h"

#include <string.h>

static const char *const run_members[] = {
    "subject", "system",   "device",    "memory",     "share",     "footprint", "good",    "reason",
    "seconds", "slowdown", "faults",    "bytes_in",   "bytes_out", "hit_rate",  "runs",    "min",
    "max",     "paired",   "refaults",  "evictions",  "launches",  "kernels",   "buffers", "tip",
    "places",  "stall_ns", "kernel_ns", "link_in_ns", NULL};

/* Of its members, those that the page shows. */
static json_t *pick(const json_t *from, const char *const names[]) {
    json_t *out = ff__must(json_object());
    for (size_t i = 0; names[i]; i++) {
        json_t *value = json_object_get(from, names[i]);
        if (value)
            json_object_set(out, names[i], value);
    }
    return out;
}

static json_t *pick_each(const json_t *array, const char *const names[]) {
    json_t *out = ff__must(json_array()), *item;
    size_t i;
    json_array_foreach(array, i, item) {
        json_array_append_new(out, pick(item, names));
    }
    return out;
}

/* `compare` has them in the summary of the run with the median time. */
static void lift_summary(const json_t *runs, json_t *picked) {
    static const char *const members[] = {"refaults", "evictions", "launches", "kernels",
                                          "buffers",  "tip",       "places",   NULL};
    const json_t *run;
    size_t i;
    json_array_foreach(runs, i, run) {
        json_t *more = pick(json_object_get(run, "summary"), members);
        json_object_update_missing(json_array_get(picked, i), more);
        json_decref(more);
    }
}

static const char *what_is_wrong(const json_t *results) {
    static const char *const commands[] = {"run", "record", "compare", "sim", "replay"};
    const char *command = json_string_value(json_object_get(results, "command"));
    const json_t *runs = json_object_get(results, "runs"), *run;
    size_t i;
    bool known = false;
    for (i = 0; command && i < sizeof commands / sizeof commands[0]; i++)
        known = known || strcmp(command, commands[i]) == 0;
    if (!known || !json_is_string(json_object_get(results, "farfault")))
        return "neither a trace, a file of runs, nor the JSON of farfault run, record, compare, "
               "sim or replay";
    if (!json_is_array(runs) || json_array_size(runs) == 0)
        return "has no runs";
    json_array_foreach(runs, i, run) {
        if (!json_is_string(json_object_get(run, "subject")) || !json_object_get(run, "seconds"))
            return "has runs that are none of farfault's";
    }
    return NULL;
}

json_t *ff__page_of_results(const json_t *results, const char *file, const char **why) {
    static const char *const members[] = {"farfault", "command", "good",    "reason", "machine",
                                          "seed",     "devices", "untimed", NULL};
    static const char *const mean_members[] = {"system",   "device",   "share",  "faster",
                                               "slowdown", "subjects", "paired", NULL};
    *why = what_is_wrong(results);
    if (*why)
        return NULL;
    json_t *all = pick(results, members);
    const json_t *runs = json_object_get(results, "runs");
    json_t *picked = pick_each(runs, run_members);
    lift_summary(runs, picked);
    json_t *tips = ff__must(json_array());
    ff__page_compare(json_object_get(results, "bounds"), picked, tips);
    ff__json_set(all, "tips", tips);
    ff__json_set(all, "kind", ff__json_text("results"));
    ff__json_set(all, "file", ff__json_text(file));
    ff__json_set(all, "runs", picked);
    ff__json_set(all, "means", pick_each(json_object_get(results, "means"), mean_members));
    return all;
}
