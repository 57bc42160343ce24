/* Results for programs, the same for all commands: `runs`, an object a run, and what they have in
 * common. docs/running.md describes them. */
#ifndef FF_STUDY_OUTPUTS_H
#define FF_STUDY_OUTPUTS_H

#include "report/json.h"

/* The system that the others' speed-ups refer to, and the one that shows what managing costs when
 * everything fits. */
#define FF__SYSTEM_BASELINE  "demand"
#define FF__SYSTEM_IN_MEMORY "nvidia-1"

/* Where they go: files, "-" for standard output, or NULL for nowhere. */
struct ff__outputs {
    const char *json, *csv;
};

/* Whether standard output is for people, too. */
bool ff__outputs_leave_tables(const struct ff__outputs *outputs);

/* Writes all of it as JSON, and its `runs` as CSV, each file as a whole. Sets `good` and `reason`:
 * whether all runs are good, and why the first that is not failed. Returns 0 or an exit status. */
int ff__outputs_write(const struct ff__outputs *outputs, json_t *all);

/* ---- a command without results ----
 *
 * With --json there is an object, also if the command fails before it has results. */

/* An object is expected at this path, "-" for standard output; NULL: it is
 * not expected any more. */
void ff__outputs_expect(const char *json);

/* Writes one that says that the command failed, with the last complaint as `reason`, if one is
 * still expected. */
void ff__outputs_fail(const char *command);

/* ---- what is written; the caller owns it ---- */

/* {"farfault", "command", "good", "reason", "machine"}, to which the command adds "runs" and what
 * else it has. */
json_t *ff__results_new(const char *command);

/* What was run. */
struct ff__run_subject {
    const char *subject, *system, *device, *share; /* NULL: null */
    uint64_t memory;                               /* bytes of each device; 0: null */
    uint64_t footprint;                            /* bytes */
};

/* What is known of every good run. NaN: null. */
struct ff__run_measures {
    double seconds, slowdown; /* x in-memory */
    uint64_t faults, bytes_in, bytes_out;
    double hit_rate;
};

/* A run, to which the command adds what only it knows. `measures`: NULL if it failed, for this
 * reason. `verified`: takes it over. */
json_t *ff__run_new(const struct ff__run_subject *subject, const struct ff__run_measures *measures,
                    const char *reason, json_t *verified);

/* A system's geometric means over several subjects: times of the baseline, and of the system, NaN:
 * null. */
json_t *ff__mean_new(const struct ff__run_subject *subject, double faster, double slowdown,
                     unsigned count);

#endif
