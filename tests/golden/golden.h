/* Golden values: what a deterministic run counts, kept in a file in this folder and compared
 * exactly. A line is a key, a tab, and values; neither has anything of the machine in it. The order
 * of lines does not matter, so that what is renamed is renamed in the file, and the values stay.
 *
 * Files that take long are computed in part, unless TEST_GOLDEN=whole (scripts/golden.sh).
 * TEST_GOLDEN=update writes the file anew (scripts/golden.sh --update): its difference is then for
 * review. */
#ifndef FF_TESTS_GOLDEN_H
#define FF_TESTS_GOLDEN_H

#include "base/cases.h"

#include <errno.h>

#define GOLDEN_LINE 512
#define GOLDEN_SHOW 20u /* lines that differ, of each kind */

struct golden {
    const char *name, *columns;
    char (*lines)[GOLDEN_LINE];
    unsigned count, capacity;
    bool in_part; /* lines of the file may be missing */
};

/* Whether all is computed of a file that takes long. */
static inline bool golden_is_whole(void) {
    return getenv("TEST_GOLDEN") != NULL;
}

static inline struct golden golden_open(const char *name, const char *columns) {
    return (struct golden){.name = name, .columns = columns};
}

static inline void golden_keep(struct golden *golden, const char *line) {
    if (golden->count == golden->capacity) {
        golden->capacity = golden->capacity ? 2 * golden->capacity : 64;
        golden->lines = realloc(golden->lines, golden->capacity * sizeof *golden->lines);
        assert_non_null(golden->lines);
    }
    snprintf(golden->lines[golden->count++], GOLDEN_LINE, "%s", line);
}

__attribute__((format(printf, 3, 4))) static inline void
golden_add(struct golden *golden, const char *key, const char *format, ...) {
    char line[GOLDEN_LINE];
    int used = snprintf(line, sizeof line, "%s\t", key);
    va_list args;
    va_start(args, format);
    used += vsnprintf(line + used, sizeof line - (size_t)used, format, args);
    va_end(args);
    assert_true((size_t)used < sizeof line);
    golden_keep(golden, line);
}

static inline void golden_path(const struct golden *golden, char path[512]) {
    snprintf(path, 512, GOLDEN_FOLDER "/%s.tsv", golden->name);
}

static inline void golden_write(const struct golden *golden) {
    char path[512];
    golden_path(golden, path);
    FILE *file = fopen(path, "w");
    if (!file)
        fail_msg("%s: %s", path, strerror(errno));
    fprintf(file, "# %s\n", golden->columns);
    for (unsigned i = 0; i < golden->count; i++)
        fprintf(file, "%s\n", golden->lines[i]);
    assert_int_equal(fclose(file), 0);
}

static inline struct golden golden_read(const struct golden *golden) {
    struct golden kept = {.name = golden->name};
    char path[512], line[GOLDEN_LINE];
    golden_path(golden, path);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        if (line[0] != '#')
            golden_keep(&kept, line);
    }
    if (file)
        fclose(file);
    return kept;
}

/* How many lines of `a` are not in `b`; the first ones are shown. */
static inline unsigned golden_lack(const struct golden *a, const struct golden *b, char sign) {
    unsigned lack = 0;
    for (unsigned i = 0; i < a->count; i++) {
        unsigned j = 0;
        while (j < b->count && strcmp(a->lines[i], b->lines[j]) != 0)
            j++;
        if (j == b->count && lack++ < GOLDEN_SHOW)
            print_message("%c %s\n", sign, a->lines[i]);
    }
    return lack;
}

static inline void golden_compare(const struct golden *golden) {
    struct golden kept = golden_read(golden);
    print_message("%s.tsv: %u lines; - as it was, + as it is: %s\n", golden->name, golden->count,
                  golden->columns);
    unsigned gone = golden->in_part ? 0 : golden_lack(&kept, golden, '-'),
             come = golden_lack(golden, &kept, '+');
    bool same = gone == 0 && come == 0 && golden->count > 0 &&
                (golden->in_part || kept.count == golden->count);
    free(kept.lines);
    if (!same)
        fail_msg(
            "%u lines of %s.tsv are not what they were, %u are new or changed: if that is as it "
            "should "
            "be, scripts/golden.sh --update writes the file, and its difference tells what changed",
            gone, golden->name, come);
}

/* Rows of systems as published, and of baselines, never change. Those of our own systems may, with
 * the policies, and have a file of their own. */
struct golden_systems {
    struct golden published, ours;
};

static inline struct golden_systems golden_systems_open(const char *published, const char *ours,
                                                        const char *columns) {
    return (struct golden_systems){golden_open(published, columns), golden_open(ours, columns)};
}

static inline struct golden *golden_of(struct golden_systems *golden, const char *system) {
    static const char *const ours[] = {
        "nvidia-random", "keep", "deepum-plus",     "deepum-far",       "hlsh-tree", "hlsh-faults",
        "context",       "auto", "specforest-plus", "deepum-far-peers", "oracle"};
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
        if (strcmp(system, ours[i]) == 0)
            return &golden->ours;
    return &golden->published;
}

static inline void golden_close(struct golden *golden) {
    const char *update = getenv("TEST_GOLDEN");
    if (update && strcmp(update, "update") == 0)
        golden_write(golden);
    else
        golden_compare(golden);
    free(golden->lines);
}

#endif
