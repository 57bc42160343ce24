#include "study/outputs.h"

#include "report/complain.h"
#include "report/csv.h"
#include "report/machine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- where ---- */

static bool is_stdout(const char *path) {
    return path && strcmp(path, "-") == 0;
}

bool ff__outputs_leave_tables(const struct ff__outputs *outputs) {
    return !is_stdout(outputs->json) && !is_stdout(outputs->csv);
}

static int complain_write(const char *path, int status) {
    return ff__complain(FF__EXIT_FAILURE, "cannot write %s: %s",
                        is_stdout(path) ? "to standard output" : path, strerror(-status));
}

/* Good are results all of whose runs are good, or say nothing about it. */
static void judge(json_t *all) {
    const json_t *run;
    size_t i;
    json_array_foreach(json_object_get(all, "runs"), i, run) {
        if (!json_is_false(json_object_get(run, "good")))
            continue;
        ff__json_set(all, "good", json_false());
        json_object_set(all, "reason", json_object_get(run, "reason"));
        return;
    }
}

int ff__outputs_write(const struct ff__outputs *outputs, json_t *all) {
    judge(all);
    int status = outputs->json ? ff__json_write(all, outputs->json) : 0;
    ff__outputs_expect(NULL);
    if (status)
        return complain_write(outputs->json, status);
    status = outputs->csv ? ff__csv_write(json_object_get(all, "runs"), outputs->csv) : 0;
    return status ? complain_write(outputs->csv, status) : 0;
}

/* ---- a command without results ---- */

static char *expected;

void ff__outputs_expect(const char *json) {
    free(expected);
    expected = json ? ff__text("%s", json) : NULL;
}

void ff__outputs_fail(const char *command) {
    if (!expected)
        return;
    json_t *all = ff__results_new(command);
    ff__json_set(all, "good", json_false());
    ff__json_set(all, "reason", ff__json_text(ff__complaint()));
    ff__json_set(all, "runs", json_array());
    ff__json_write(all, expected); /* if even that fails, the exit status has said so */
    json_decref(all);
    ff__outputs_expect(NULL);
}

/* ---- what ---- */

json_t *ff__results_new(const char *command) {
    json_t *all = ff__must(json_object());
    ff__json_set(all, "farfault", ff__json_text(FARFAULT_VERSION));
    ff__json_set(all, "command", ff__json_text(command));
    ff__json_set(all, "good", json_true());
    ff__json_set(all, "reason", json_null());
    ff__json_set(all, "machine", ff__machine_facts());
    return all;
}

json_t *ff__run_new(const struct ff__run_subject *subject, const struct ff__run_measures *measures,
                    const char *reason, json_t *verified) {
    static const struct ff__run_measures unknown = {
        .seconds = (double)NAN, .slowdown = (double)NAN, .hit_rate = (double)NAN};
    const struct ff__run_measures *known = measures ? measures : &unknown;
    json_t *run = ff__must(json_object());
    ff__json_set(run, "subject", ff__json_text(subject->subject));
    ff__json_set(run, "system", ff__json_text(subject->system));
    ff__json_set(run, "device", ff__json_text(subject->device));
    ff__json_set(run, "memory", subject->memory ? ff__json_count(subject->memory) : json_null());
    ff__json_set(run, "share", ff__json_text(subject->share));
    ff__json_set(run, "footprint", ff__json_count(subject->footprint));
    ff__json_set(run, "good", json_boolean(measures != NULL));
    ff__json_set(run, "reason", ff__json_text(measures ? NULL : reason));
    ff__json_set(run, "verified", verified);
    ff__json_set(run, "seconds", ff__json_number(known->seconds));
    ff__json_set(run, "slowdown", ff__json_number(known->slowdown));
    ff__json_set(run, "faults", measures ? ff__json_count(known->faults) : json_null());
    ff__json_set(run, "bytes_in", measures ? ff__json_count(known->bytes_in) : json_null());
    ff__json_set(run, "bytes_out", measures ? ff__json_count(known->bytes_out) : json_null());
    ff__json_set(run, "hit_rate", ff__json_number(known->hit_rate));
    return run;
}

json_t *ff__mean_new(const struct ff__run_subject *subject, double faster, double slowdown,
                     unsigned count) {
    json_t *mean = ff__must(json_object());
    ff__json_set(mean, "system", ff__json_text(subject->system));
    ff__json_set(mean, "device", ff__json_text(subject->device));
    ff__json_set(mean, "share", ff__json_text(subject->share));
    ff__json_set(mean, "faster", ff__json_number(faster));
    ff__json_set(mean, "slowdown", ff__json_number(slowdown));
    ff__json_set(mean, "subjects", ff__json_count(count));
    return mean;
}
