/* The runs behind the tables of farfault repro deepum. A run is a few iterations of training; the
 * seconds of 100 are those of the few, and of as many more as the last one. */
#ifndef FF_STUDY_REPRO_DEEPUM_RUNS_H
#define FF_STUDY_REPRO_DEEPUM_RUNS_H

#include "study/repro/repro.h"
#include "study/sim/simulations.h"

#define FF__DEEPUM_ITERATIONS 100u /* of which the paper gives the time */
#define FF__DEEPUM_LEARNING   6u   /* in which systems that learn reach the steady state */
#define FF__DEEPUM_TABLES     "tables=1G"

/* Systems, beside those of the registry. */
#define FF__DEEPUM_UM       "nvidia"
#define FF__DEEPUM          "deepum:" FF__DEEPUM_TABLES
#define FF__DEEPUM_LMS      FF__LMS
#define FF__DEEPUM_LMS_MOD  FF__LMS_MOD
#define FF__DEEPUM_RESIDENT FF__RESIDENT

/* The paper's card (its Table 1); the same with a cost of the host that no source gives, and that
 * is chosen on half of the paper's rows: of a fault on a page that has one, or of an entry that the
 * driver drops before a replay; and the card with 16 GB. */
enum ff__deepum_card {
    FF__DEEPUM_CARD,
    FF__DEEPUM_DUPLICATES,
    FF__DEEPUM_FLUSHES,
    FF__DEEPUM_SMALL,
    FF__DEEPUM_CARDS
};

struct ff__deepum_runs {
    struct ff__gpu gpus[FF__DEEPUM_CARDS];
    uint64_t seed;
    struct ff__simulations runs;
};

/* 0 or, with one line on stderr, an exit status. Closed in any case. */
int ff__deepum_runs_open(struct ff__deepum_runs *work, const struct ff__repro_plan *plan);
void ff__deepum_runs_close(struct ff__deepum_runs *work);

/* Plans a run, unless it is planned already. */
void ff__deepum_runs_add(struct ff__deepum_runs *work, const char *workload, const char *system,
                         enum ff__deepum_card card);

/* 0 or an exit status. */
int ff__deepum_runs_make(struct ff__deepum_runs *work, const struct ff__repro_plan *plan);

/* What a run has found that was planned before. */
const struct ff__simulated *ff__deepum_run(struct ff__deepum_runs *work, const char *workload,
                                           const char *system, enum ff__deepum_card card);

/* A card, as for --gpu, and the bytes of it that programs get. */
const char *ff__deepum_gpu(enum ff__deepum_card card);
uint64_t ff__deepum_memory(enum ff__deepum_card card);

/* Of all iterations, of which some were simulated; the last one of those stands for the others.
 * NaN: the run failed. */
double ff__deepum_seconds(const struct ff__simulated *simulated);

/* Whether LMS runs a workload on a card, without a time limit. */
bool ff__deepum_lms_runs(const struct ff__deepum_runs *work, const struct ff__workload *workload,
                         enum ff__deepum_card card);

#endif
