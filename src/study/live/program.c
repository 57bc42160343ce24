#include "study/live/program.h"

#include "base/nearest.h"
#include "report/complain.h"
#include "report/text.h"
#include "study/find.h"

#include <stdlib.h>
#include <string.h>

static const struct ff__program_row bundled[] = {
#define FF_PROGRAM(name, interface, summary) {name, #interface, summary},
#include "examples/programs.def"
#undef FF_PROGRAM
};

const struct ff__program_row *ff__program_at(unsigned index) {
    return index < sizeof bundled / sizeof bundled[0] ? &bundled[index] : NULL;
}

/* ---- sets ---- */

static const char *const used_before[] = {
    "2dconv", "atax",       "backprop", "bicg",        "cg",   "hotspot",  "integral",
    "jacobi", "matrices",   "mixed",    "mvt",         "nw",   "pagerank", "particles",
    "phases", "pathfinder", "srad",     "streamtriad", "wave",
};

bool ff__program_is_reported(const char *name) {
    unsigned sum = 0;
    for (; *name; name++)
        sum += (unsigned char)*name;
    return sum % 2 == 1;
}

/* Length of the name of what it computes: without -cuda. */
static size_t length_of_work(const char *name) {
    size_t length = strlen(name), ending = strlen("-cuda");
    bool in_cuda = length > ending && strcmp(name + length - ending, "-cuda") == 0;
    return in_cuda ? length - ending : length;
}

bool ff__program_was_used(const char *name) {
    size_t length = length_of_work(name);
    for (size_t i = 0; i < sizeof used_before / sizeof used_before[0]; i++)
        if (strncmp(used_before[i], name, length) == 0 && !used_before[i][length])
            return true;
    return false;
}

/* ---- programs to run ---- */

static int unknown(const char *name) {
    const struct ff__program_row *row;
    struct ff__nearest nearest = {.word = name};
    for (unsigned i = 0; (row = ff__program_at(i)); i++)
        ff__nearest_offer(&nearest, row->name);
    struct ff_error error;
    ff__nearest_fail(&nearest, "bundled program",
                     "farfault list programs; for one of your own give its path or, in quotes, "
                     "its command",
                     &error);
    return ff__complain(FF__EXIT_USAGE, "%s", error.message);
}

/* `argv` is an array on the heap of texts on the heap. */
static void add(struct ff__programs *programs, const char *name, char **argv, bool is_bundled) {
    programs->items =
        ff__must(realloc(programs->items, (programs->count + 1) * sizeof *programs->items));
    programs->items[programs->count++] =
        (struct ff__program){ff__text("%s", name), argv, is_bundled};
}

static char **arguments(unsigned count) {
    return ff__must(calloc(count + 1, sizeof(char *)));
}

static int add_bundled(struct ff__programs *programs, const char *name, uint64_t size) {
    const struct ff__program_row *row;
    unsigned i = 0;
    while ((row = ff__program_at(i)) && strcmp(row->name, name) != 0)
        i++;
    if (!row)
        return unknown(name);
    char path[PATH_MAX];
    int status = ff__find_program(name, path);
    if (status)
        return status;
    char **argv = arguments(4);
    argv[0] = ff__text("%s", path);
    argv[1] = ff__text("--size");
    argv[2] = ff__text("%llu", (unsigned long long)size);
    argv[3] = ff__text("--check");
    add(programs, name, argv, true);
    return 0;
}

int ff__programs_add_set(struct ff__programs *programs, const char *set, uint64_t size) {
    const struct ff__program_row *row;
    bool all = strcmp(set, "all") == 0, reported = strcmp(set, "report") == 0;
    int status = 0;
    for (unsigned i = 0; !status && (row = ff__program_at(i)); i++)
        if (all || ff__program_is_reported(row->name) == reported)
            status = add_bundled(programs, row->name, size);
    return status;
}

int ff__programs_add_list(struct ff__programs *programs, const char *list, uint64_t size) {
    struct ff__words names = ff__words_split(list);
    int status = 0;
    for (unsigned i = 0; i < names.count && !status; i++)
        status = add_bundled(programs, names.items[i], size);
    ff__words_free(&names);
    return status;
}

int ff__programs_add(struct ff__programs *programs, const char *word, uint64_t size) {
    if (!strpbrk(word, " /"))
        return ff__programs_add_list(programs, word, size);
    char **argv = arguments(3);
    argv[0] = ff__text("/bin/sh");
    argv[1] = ff__text("-c");
    argv[2] = ff__text("%s", word);
    add(programs, word, argv, false);
    return 0;
}

void ff__programs_free(struct ff__programs *programs) {
    for (unsigned i = 0; i < programs->count; i++) {
        struct ff__program *program = &programs->items[i];
        for (char **word = program->argv; *word; word++)
            free(*word);
        free(program->argv);
        free(program->name);
    }
    free(programs->items);
    *programs = (struct ff__programs){0};
}
