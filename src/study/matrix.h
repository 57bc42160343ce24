/* An experiment as a matrix: subjects x devices x lines. The first lines have no system, the last
 * of them fully resident; then come the systems at each size of memory. What runs the cells, live
 * or simulated, is its executor. matrix.c has places, means, pairs and results, matrix_show.c the
 * tables. */
#ifndef FF_STUDY_MATRIX_H
#define FF_STUDY_MATRIX_H

#include "report/table.h"
#include "report/text.h"
#include "study/amount.h"
#include "study/mean.h"
#include "study/outputs.h"
#include "study/paired.h"

/* Memory of a device. */
struct ff__budget {
    char *text;               /* as given: "66%" */
    struct ff__amount amount; /* all 0: as much as the device has */
};

struct ff__matrix {
    struct ff__words subjects, devices, systems;
    struct ff__budget *budgets;
    unsigned budget_count;
    uint64_t *footprints; /* [subject] bytes */
    unsigned runs;        /* of each cell, in turn with the other lines; 0: turns are not told */
    const struct ff__executor *executor;
    const void *self; /* the executor's */
};

/* Where a cell is. */
struct ff__matrix_place {
    unsigned subject, device, line;
    bool of_system;                  /* only then the next two count */
    unsigned system, budget;         /* 0 otherwise */
    const char *system_name, *share; /* share: the budget as given, or NULL */
    uint64_t memory;                 /* bytes of each device; 0: as much as it has, or enough */
};

/* What is known of a cell, by those who ran it. */
struct ff__executor {
    const char *const *firsts; /* the names of the lines without a system; the last: in-memory */
    unsigned first_count;
    /* Of the subject there, with all of the place but this filled in. */
    uint64_t (*memory)(const void *self, const struct ff__matrix_place *place);
    /* In any unit; NaN: it can be no part of a ratio. */
    double (*time)(const void *self, unsigned cell);
    /* Of one of its runs, which are in the order of time. NULL with `runs` 0. */
    double (*turn)(const void *self, unsigned cell, unsigned run);
    /* All but `slowdown`. NULL, or why the cell has none. */
    const char *(*measures)(const void *self, unsigned cell, struct ff__run_measures *out);
    /* The table's word for a cell without measures, and what it has before the reason. */
    const char *(*verdict)(const void *self, unsigned cell);
    const char *before_reason;
    /* Adds what only the executor knows. */
    void (*add_run)(const void *self, unsigned cell, json_t *run);
    void (*add_mean)(const void *self, const struct ff__matrix_place *place, json_t *mean);
};

/* Takes over the text. */
void ff__matrix_add_budget(struct ff__matrix *matrix, char *text, const struct ff__amount *amount);

/* Not what `executor` and `self` are. */
void ff__matrix_free(struct ff__matrix *matrix);

/* ---- places ---- */

static inline unsigned ff__matrix_lines(const struct ff__matrix *matrix) {
    return matrix->executor->first_count + matrix->systems.count * matrix->budget_count;
}

static inline unsigned ff__matrix_count(const struct ff__matrix *matrix) {
    return matrix->subjects.count * matrix->devices.count * ff__matrix_lines(matrix);
}

/* Cells are numbered by subject, then device, then line. */
static inline unsigned ff__matrix_cell(const struct ff__matrix *matrix, unsigned subject,
                                       unsigned device, unsigned line) {
    return (subject * matrix->devices.count + device) * ff__matrix_lines(matrix) + line;
}

static inline unsigned ff__matrix_line(const struct ff__matrix *matrix, unsigned system,
                                       unsigned budget) {
    return matrix->executor->first_count + budget * matrix->systems.count + system;
}

struct ff__matrix_place ff__matrix_place(const struct ff__matrix *matrix, unsigned cell);

/* The cell of the same subject and device that is fully resident. */
unsigned ff__matrix_in_memory(const struct ff__matrix *matrix, unsigned cell);

/* The baseline at the same memory; false without one. */
bool ff__matrix_baseline(const struct ff__matrix *matrix, unsigned cell, unsigned *out);

/* ---- ratios ---- */

/* Time as a multiple of in-memory; NaN if either is missing. */
double ff__matrix_slowdown(const struct ff__matrix *matrix, unsigned cell);

/* Geometric means over the subjects, of times: of the baseline, and of in-memory, and of the
 * system. NaN where nothing can be compared. */
struct ff__matrix_mean {
    double faster, slowdown;
    unsigned count; /* subjects that have a slowdown */
};
struct ff__matrix_mean ff__matrix_mean(const struct ff__matrix *matrix, unsigned device,
                                       unsigned system, unsigned budget);

/* Times of the system over those of the first one at the same memory, by pairs of the same turn: of
 * subjects [first, end) that both ran well, a pair being the geometric means over them in one turn.
 * Nothing of the first system. */
struct ff__paired ff__matrix_paired(const struct ff__matrix *matrix, unsigned first, unsigned end,
                                    const struct ff__matrix_place *place);

/* Whether there are enough runs for it. */
static inline bool ff__matrix_pairs(const struct ff__matrix *matrix) {
    return matrix->runs >= FF__PAIRS_MIN && matrix->systems.count > 1;
}

/* ---- for programs ---- */

/* null: there is none. The caller owns it. */
json_t *ff__matrix_paired_json(const struct ff__matrix *matrix, struct ff__paired paired);

/* Adds `runs` and `means` to a command's results. */
void ff__matrix_add_results(const struct ff__matrix *matrix, json_t *all);

/* ---- for people ---- */

/* A column of a subject's table: what it says of a cell with measures. */
struct ff__column {
    char align; /* l or r */
    const char *heading;
    void (*cell)(struct ff__table *table, const struct ff__matrix *matrix, unsigned cell);
};

/* Bytes moved, faults and hit rate: four columns that all tables have. Time as a multiple of
 * in-memory. */
#define FF__COLUMNS_MOVED 4
extern const struct ff__column ff__columns_moved[FF__COLUMNS_MOVED];
extern const struct ff__column ff__column_slowdown;

/* Single cells: a ratio, a share, a pair; "-" where there is none. */
void ff__ratio_cell(struct ff__table *table, double value);
void ff__share_cell(struct ff__table *table, double value);
void ff__paired_cell(struct ff__table *table, struct ff__paired paired);

/* Begins the table and adds a line a cell; system and memory are the first two columns, and the
 * last has the reason of a cell that failed. `align`: of FF__TABLE_COLUMNS + 1 letters, which has
 * to last as long as the table. */
void ff__matrix_table(const struct ff__matrix *matrix, unsigned subject, unsigned device,
                      const struct ff__column *columns, unsigned count, char *align,
                      struct ff__table *table);

/* Calls `line` for each system at each memory of each device, in the order of tables of means. */
void ff__matrix_each_mean(const struct ff__matrix *matrix,
                          void (*line)(void *self, const struct ff__matrix_place *place),
                          void *self);

#endif
