/* The runs behind a paper's tables: on several threads, each shown as it ends and kept in a file,
 * so that a repro that was interrupted goes on where it was. */
#ifndef FF_STUDY_REPRO_RUNS_H
#define FF_STUDY_REPRO_RUNS_H

#include "study/repro/repro.h"
#include "study/sim/simulate.h"

/* Where a run leaves what it finds, and, when it has ended, what that was. */
struct ff__repro_found {
    /* all that tables read of the run; without pointers, because it goes to a file and comes back
     */
    void *bytes;
    size_t size;         /* 0: it is kept in some other way */
    const char *failure; /* why there is nothing to be kept; NULL: there is */
    double figure;       /* shown with its unit; NaN: none */
    const char *unit;
};

struct ff__repro_runs {
    unsigned count;
    void (*job)(void *self, unsigned index); /* on any thread, all at the same time */
    /* What decides the result, but for the plan's seed, farfault itself and its data on devices.
     * Shown to people, too. To be freed. NULL: the run is not kept. */
    char *(*name)(const void *self, unsigned index);
    struct ff__repro_found (*found)(void *self, unsigned index);
    void *self;
};

/* Makes those runs that the plan's file does not have. 0 or an exit status; of a run that fails it
 * is one line on stderr. */
int ff__repro_run_all(const struct ff__repro_plan *plan, const struct ff__repro_runs *runs);

/* Of a run that is a simulation; shows its modelled seconds. */
struct ff__repro_found ff__repro_simulated(struct ff__simulated *simulated);

/* Opens plan->kept: `path`, or a file in the user's cache that is named for the paper. Says in one
 * line on stderr if nothing can be kept: 0 then, too, unless the user has named the file. Closed
 * with ff__kept_close(). */
int ff__repro_keep(struct ff__repro_plan *plan, const char *paper, const char *path, bool fresh);

#endif
