/* A comparison: programs x lines, a line being a system at a size of memory. compare.c makes it,
 * means.c sums it up, show.c and json.c give it to people and to programs. */
#ifndef FF_STUDY_LIVE_COMPARE_H
#define FF_STUDY_LIVE_COMPARE_H

#include "report/progress.h"
#include "report/table.h"
#include "report/text.h"
#include "study/amount.h"
#include "study/cells.h"
#include "study/live/result.h"
#include "study/paired.h"
#include "trace/model/bound.h"

enum { FF__LINE_PLAIN, FF__LINE_IN_MEMORY, FF__LINE_SYSTEMS }; /* systems begin at the third */

/* What a program must move at least, at one of the amounts. */
struct ff__limit {
    struct ff__bound bound;     /* whatever the order of the threads */
    struct ff__bound reference; /* in the order of the recording */
};

/* What no run of a program can be better than, from a recording of its touches. */
struct ff__limits {
    struct ff__limit *items; /* [amount]; NULL: not known */
    char reason[FF__REASON]; /* why not */
    bool parallel;           /* other runs may have another order: the reference is no bound */
    double rate;             /* bytes per second of the link, each way */
};

/* What became of one program. */
struct ff__outcome {
    uint64_t footprint;
    bool untried; /* it already failed when its footprint was to be learned */
    struct ff__result *lines;
    int output; /* of the first run, or -1 */
    struct ff__limits limits;
};

struct ff__comparison {
    const char *preload; /* libraries, as LD_PRELOAD has them */
    unsigned devices;
    const struct ff_link *link; /* to the host */
    uint64_t limit_ns;          /* of a run; 0: none */
    const struct ff__outputs *outputs;
    struct ff__study study; /* where runs are kept */
    const char *settings;   /* what else decides their results, as text */
    struct ff__programs programs;
    struct ff__words systems;
    struct ff__words amount_texts; /* as given: "66%" */
    struct ff__amount *amounts;
    unsigned runs, line_count;
    bool same_output;             /* commands must print the same in every run */
    bool bound;                   /* lower bounds are wanted */
    struct ff__outcome *outcomes; /* [program] */
    struct ff__progress progress;
    int interrupted;         /* the signal that asked us to stop */
    const char *description; /* of the device */
    const char *opencl;      /* its version; empty: not needed */
};

/* Runs all of it, shows the tables or writes JSON. Returns an exit status. */
int ff__compare_run(struct ff__comparison *comparison);
void ff__compare_free(struct ff__comparison *comparison);

/* The run of a line, from 1, if it is kept; run 0 is the one beforehand. The caller owns what is
 * found. And keeps one, unless it is not good. */
bool ff__trial_find(const struct ff__comparison *comparison, unsigned program, unsigned line,
                    unsigned run, struct ff__trial *out);
void ff__trial_keep(const struct ff__comparison *comparison, unsigned program, unsigned line,
                    unsigned run, const struct ff__trial *trial);

/* What a line is made of. */
static inline const char *ff__line_system(const struct ff__comparison *comparison, unsigned line) {
    if (line == FF__LINE_PLAIN)
        return "plain";
    if (line == FF__LINE_IN_MEMORY)
        return "in-memory";
    return comparison->systems.items[(line - FF__LINE_SYSTEMS) % comparison->systems.count];
}

/* Which of the amounts; only for the lines of systems. */
static inline unsigned ff__line_amount(const struct ff__comparison *comparison, unsigned line) {
    return (line - FF__LINE_SYSTEMS) / comparison->systems.count;
}

static inline unsigned ff__line_of(const struct ff__comparison *comparison, unsigned system,
                                   unsigned amount) {
    return FF__LINE_SYSTEMS + amount * comparison->systems.count + system;
}

/* Bytes of device memory; 0 for plain. */
uint64_t ff__line_memory(const struct ff__comparison *comparison, unsigned program, unsigned line);

/* ---- lower bounds: bound.c ---- */

/* Reads a recording of the program's touches. */
void ff__limits_read(struct ff__comparison *comparison, unsigned program, const char *trace);

/* Measures what the link gives. Called several times, the fastest counts. */
void ff__limits_time_link(struct ff__limits *limits, const struct ff_link *link);

void ff__limits_free(struct ff__limits *limits);

/* Seconds that moving so much takes at least, or the in-memory time if that is longer; `why`: which
 * of them it is. NaN: there is no in-memory time. */
double ff__limit_seconds(const struct ff__outcome *outcome, const struct ff__bound *bound,
                         const char **why);

/* Lines of the program's table, as wide as those of systems; and what there is to say below it. */
void ff__limits_add_lines(struct ff__table *table, const struct ff__comparison *comparison,
                          unsigned program);
void ff__limits_show_notes(const struct ff__comparison *comparison, unsigned program);

/* All of them; the caller owns it. */
json_t *ff__limits_results(const struct ff__comparison *comparison);

/* ---- means ---- */

/* Geometric means over the programs at amounts[first..end): times of the baseline, and of
 * in-memory, and of the system. NaN where nothing can be compared. */
struct ff__mean ff__compare_speedup(const struct ff__comparison *comparison, unsigned system,
                                    unsigned first, unsigned end);
struct ff__mean ff__compare_slowdown(const struct ff__comparison *comparison, unsigned system,
                                     unsigned first, unsigned end);

/* Geometric mean over the programs: times of the system over the lower bound of their time. */
struct ff__mean ff__compare_above_bound(const struct ff__comparison *comparison, unsigned system,
                                        unsigned amount);

/* Times of the system over those of the first one at the same amount, by pairs of the same turn: of
 * one program, and of all that both ran well, a pair being the geometric means over the programs in
 * one turn. Nothing of the first system. */
struct ff__paired ff__compare_paired(const struct ff__comparison *comparison, unsigned program,
                                     unsigned system, unsigned amount);
struct ff__paired ff__compare_paired_mean(const struct ff__comparison *comparison, unsigned system,
                                          unsigned amount);

/* Whether there are enough runs for it. */
static inline bool ff__compare_pairs(const struct ff__comparison *comparison) {
    return comparison->runs >= FF__PAIRS_MIN && comparison->systems.count > 1;
}

/* Bytes in and out of the devices, of all programs together. */
uint64_t ff__compare_moved(const struct ff__comparison *comparison, unsigned system,
                           unsigned amount);

/* Tables on stdout: one a program as soon as it is done, and the means at the end. */
void ff__compare_show_program(const struct ff__comparison *comparison, unsigned program);
void ff__compare_show_means(const struct ff__comparison *comparison);

/* Everything; the caller owns it. */
json_t *ff__compare_results(const struct ff__comparison *comparison);

#endif
