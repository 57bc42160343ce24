/* The programs that compare runs: bundled ones by name, any other as a command for the shell. */
#ifndef FF_STUDY_LIVE_PROGRAM_H
#define FF_STUDY_LIVE_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

struct ff__program_row {
    const char *name, *interface, *summary;
};

/* The bundled programs; NULL past the end. */
const struct ff__program_row *ff__program_at(unsigned index);

/* Constants of policies are chosen on one set of programs, "choose", and figures are reported of
 * the other one, "report". A program is reported if the sum of the characters' codes of its name is
 * odd; that of -cuda is even, so that a program in CUDA is in the set of that in OpenCL. The names
 * of workloads that are modelled are divided alike. */
bool ff__program_is_reported(const char *name);

/* Whether constants had been chosen, or parts of a policy built, on it before there were sets. */
bool ff__program_was_used(const char *name);

struct ff__program {
    char *name; /* for people: a bundled program's name, or the whole command */
    char **argv;
    bool bundled; /* checks its own results and says so: "verified: yes" */
};

struct ff__programs {
    struct ff__program *items;
    unsigned count;
};

/* Adds a set, "choose", "report" or "all"; each program is to use `size` bytes in all. Returns 0
 * or, with one line on stderr, an exit status. */
int ff__programs_add_set(struct ff__programs *programs, const char *set, uint64_t size);

/* Adds the bundled programs of a comma list, likewise. */
int ff__programs_add_list(struct ff__programs *programs, const char *list, uint64_t size);

/* Adds a word of the command line: a list as above, or a command, which has a space or a slash. */
int ff__programs_add(struct ff__programs *programs, const char *word, uint64_t size);

void ff__programs_free(struct ff__programs *programs);

#endif
