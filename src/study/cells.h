/* The cells of an experiment: runs side by side, each shown and kept as it ends, so that an
 * experiment that was interrupted goes on where it was, and so that several machines can share its
 * cells. */
#ifndef FF_STUDY_CELLS_H
#define FF_STUDY_CELLS_H

#include "study/store.h"

#include <stdint.h>

/* How the cells of an experiment are run. */
struct ff__study {
    uint64_t seed;
    unsigned jobs;           /* cells at the same time */
    unsigned part, parts;    /* only those whose number is `part` modulo `parts`; 0: all */
    struct ff__store *store; /* runs that have ended, or NULL */
    bool shows_runs;         /* a line on stdout as each ends */
};

/* What a cell has found. */
struct ff__found {
    const char *failure; /* why it has no result; NULL: it has one */
    double seconds;      /* NaN: none */
    double figure;       /* shown with its unit; NaN: none */
    const char *unit;
};

struct ff__cells {
    unsigned count;
    void (*run)(void *self, unsigned cell); /* on any thread, all at the same time */
    /* What decides the result. Texts stay `self`'s, but `options` is to be freed; false: the
     * cell is not to be kept. */
    bool (*key)(const void *self, unsigned cell, struct ff__store_key *out);
    struct ff__found (*found)(const void *self, unsigned cell);
    /* All that tables read of a cell that has ended; the caller owns it. And from that, the cell as
     * if it had just ended, which it may have done; false: it is something else. */
    json_t *(*result)(const void *self, unsigned cell);
    bool (*restore)(void *self, unsigned cell, const json_t *result);
    /* The cell and all before it have ended; it may print. NULL: nothing is to be done then. */
    void (*done)(void *self, unsigned cell);
    void *self;
};

/* Whether a cell is among those that are run. */
static inline bool ff__study_has(const struct ff__study *study, unsigned cell) {
    return !study->parts || cell % study->parts == study->part;
}

/* Runs those cells that the store does not have, together with the other ranks, if there are any
 * (study/jobs/ranks.h). 0 or an exit status; of a cell that fails it is
 * one line on stderr, unless `done` tells. */
int ff__cells_run(const struct ff__study *study, const struct ff__cells *cells);

/* Continues a checksum over the bytes of files, a list with colons. 0 or the negative errno of one
 * that cannot be read. */
int ff__study_add_files(const char *paths, uint32_t *sum);

/* Keeps the results of the whole command, for farfault report. */
void ff__study_put_results(struct ff__store *store, const char *command, const json_t *results);

/* Opens study->store: `path`, or a file in the user's cache that is named for the paper; `policy`:
 * a file with more policies, or NULL. Says in one line on stderr if nothing can be kept: 0 then,
 * too, unless the user has named the file. Closed with ff__store_close(). */
int ff__study_keep(struct ff__study *study, const char *paper, const char *path, bool fresh,
                   const char *policy);

#endif
