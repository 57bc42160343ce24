/* A comparison of programs that really run: a matrix (study/matrix.h) of programs and lines, each
 * run of a line being a cell of its own. compare.c makes it, cells.c runs it, bound.c has its lower
 * bounds, show.c and json.c have what only programs tell. */
#ifndef FF_STUDY_LIVE_COMPARE_H
#define FF_STUDY_LIVE_COMPARE_H

#include "study/cells.h"
#include "study/live/result.h"
#include "study/matrix.h"
#include "trace/model/bound.h"

/* The lines without a system. */
enum { FF__LINE_PLAIN, FF__LINE_IN_MEMORY, FF__LINE_SYSTEMS };

/* What a program must move at least, at one of the sizes of memory. */
struct ff__limit {
    struct ff__bound bound;     /* whatever the order of the threads */
    struct ff__bound reference; /* in the order of the recording */
};

/* What no run of a program can be better than, from a recording of its touches. */
struct ff__limits {
    struct ff__limit *items; /* [budget]; NULL: not known */
    char reason[FF__REASON]; /* why not */
    bool parallel;           /* other runs may have another order: the reference is no bound */
    double rate;             /* bytes per second of the link, each way */
};

/* What became of one program. */
struct ff__outcome {
    bool untried; /* it already failed when its footprint was to be learned */
    struct ff__result *lines;
    int output; /* of the first run, or -1 */
    struct ff__limits limits;
};

struct ff__comparison {
    struct ff__matrix matrix;     /* its subjects: the programs' names */
    struct ff__programs programs; /* [subject] */
    const char *preload;          /* libraries, as LD_PRELOAD has them */
    unsigned devices;
    const struct ff_link *link; /* to the host */
    uint64_t limit_ns;          /* of a run; 0: none */
    const struct ff__outputs *outputs;
    struct ff__study study;       /* where runs are kept */
    const char *settings;         /* what else decides their results, as text */
    bool same_output;             /* commands must print the same in every run */
    bool bound;                   /* lower bounds are wanted */
    struct ff__outcome *outcomes; /* [program] */
    int interrupted;              /* the signal that asked us to stop */
    const char *opencl;           /* its version; empty: not needed */
};

/* Runs all of it, shows the tables or writes JSON. Returns an exit status. */
int ff__compare_run(struct ff__comparison *comparison);
void ff__compare_free(struct ff__comparison *comparison);

/* Of a cell of the matrix. */
static inline struct ff__result *ff__compare_result(const struct ff__comparison *comparison,
                                                    unsigned cell) {
    unsigned lines = ff__matrix_lines(&comparison->matrix);
    return &comparison->outcomes[cell / lines].lines[cell % lines];
}

/* ---- runs: cells.c ---- */

/* The run beforehand, whose summary and output the caller owns; and those that are measured, in
 * turn, line by line, so that a machine that is slow for a while is slow for all systems alike.
 * Runs that the study has are not made again. */
void ff__compare_try(struct ff__comparison *comparison, unsigned program, struct ff__trial *out);
void ff__compare_measure(struct ff__comparison *comparison, unsigned program);

/* ---- lower bounds: recording.c finds them, bound.c tells them ---- */

/* Bytes of device memory at one of the sizes. */
uint64_t ff__limits_memory(const struct ff__comparison *comparison, unsigned program,
                           unsigned budget);

/* Finds them, from a recording that it makes of the program. */
void ff__limits_learn(struct ff__comparison *comparison, unsigned program);

/* Measures what the link gives. Called several times, the fastest counts. */
void ff__limits_time_link(struct ff__limits *limits, const struct ff_link *link);

void ff__limits_free(struct ff__limits *limits);

/* Geometric mean over the programs: times of the system over the lower bound of their time. */
struct ff__mean ff__limits_above(const struct ff__comparison *comparison,
                                 const struct ff__matrix_place *place);

/* Lines of the program's table, as wide as those of systems; and what there is to say below it. */
void ff__limits_add_lines(struct ff__table *table, const struct ff__comparison *comparison,
                          unsigned program);
void ff__limits_show_notes(const struct ff__comparison *comparison, unsigned program);

/* All of them; the caller owns it. */
json_t *ff__limits_results(const struct ff__comparison *comparison);

/* ---- for people and programs ---- */

/* Tables on stdout: one a program as soon as it is done, and the means at the end. */
void ff__compare_show_program(const struct ff__comparison *comparison, unsigned program);
void ff__compare_show_means(const struct ff__comparison *comparison);

/* Everything; the caller owns it. And its parts that only programs have (struct ff__executor). */
json_t *ff__compare_results(const struct ff__comparison *comparison);
const char *ff__compare_measures(const void *self, unsigned cell, struct ff__run_measures *out);
void ff__compare_add_run(const void *self, unsigned cell, json_t *run);
void ff__compare_add_mean(const void *self, const struct ff__matrix_place *place, json_t *mean);

#endif
