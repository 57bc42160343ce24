#include "study/sim/simulations.h"

#include "base/checksum.h"
#include "study/sim/record.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- the list ---- */

unsigned ff__simulations_append(struct ff__simulations *list, const struct ff__simulation *what) {
    list->items = ff__must(realloc(list->items, (list->count + 1) * sizeof *list->items));
    struct ff__simulation_cell *cell = &list->items[list->count];
    *cell = (struct ff__simulation_cell){.what = *what};
    cell->what.subject.name = ff__text("%s", what->subject.name);
    cell->what.system = ff__text("%s", what->system);
    if (what->known_as)
        cell->what.known_as = ff__text("%s", what->known_as);
    return list->count++;
}

unsigned ff__simulations_add(struct ff__simulations *list, const struct ff__simulation *what) {
    for (unsigned i = 0; i < list->count; i++) {
        const struct ff__simulation *known = &list->items[i].what;
        if (known->gpu == what->gpu && known->memory == what->memory &&
            strcmp(known->subject.name, what->subject.name) == 0 &&
            strcmp(known->system, what->system) == 0)
            return i;
    }
    return ff__simulations_append(list, what);
}

void ff__simulations_free(struct ff__simulations *list) {
    for (unsigned i = 0; i < list->count; i++) {
        struct ff__simulation_cell *cell = &list->items[i];
        free((char *)cell->what.subject.name);
        free((char *)cell->what.system);
        free((char *)cell->what.known_as);
        ff__simulated_free(&cell->found);
    }
    free(list->items);
    *list = (struct ff__simulations){0};
}

/* ---- what they are ---- */

/* The file that a subject is in, if it is in one: as it is now. */
static void print_file(const struct ff__subject *subject, FILE *stream) {
    size_t length = subject->trace ? strlen(subject->name) : strcspn(subject->name, ":");
    char *path = ff__text("%.*s", (int)length, subject->name);
    struct stat about;
    if ((subject->trace || strpbrk(path, "/.")) && stat(path, &about) == 0)
        fprintf(stream, " file=%jd,%jd.%09ld", (intmax_t)about.st_size,
                (intmax_t)about.st_mtim.tv_sec, about.st_mtim.tv_nsec);
    free(path);
}

static void print_beside(const struct ff__words *beside, FILE *stream) {
    for (unsigned i = 0; beside && i < beside->count; i++)
        fprintf(stream, "%s%s", i ? "," : " beside=", beside->items[i]);
}

static char *options_of(const struct ff__simulation *what) {
    char *text = NULL;
    size_t size;
    FILE *stream = ff__must(open_memstream(&text, &size));
    if (what->devices != 1)
        fprintf(stream, " devices=%" PRIu32, what->devices);
    print_beside(what->beside, stream);
    fprintf(stream, "%s%s%s%s", what->untimed ? " untimed" : "",
            what->extrapolates ? " settle" : "", what->explains ? " explain" : "",
            what->check ? " check" : "");
    if (what->instructions)
        fprintf(stream, " instructions=%" PRIu64, what->instructions);
    if (what->iterations)
        fprintf(stream, " iterations=%" PRIu64, what->iterations);
    print_file(&what->subject, stream);
    fclose(stream);
    ff__must(text);
    char *options = ff__text("%s", text + (*text == ' '));
    free(text);
    return options;
}

static uint32_t data_of(const struct ff__simulation *what) {
    uint32_t sum = ff__crc32c(0, what->gpu, sizeof *what->gpu);
    return what->machine ? ff__crc32c(sum, what->machine, sizeof *what->machine) : sum;
}

void ff__simulation_key(const struct ff__simulation *what, struct ff__store_key *out) {
    *out = (struct ff__store_key){.subject = what->subject.name,
                                  .system = what->known_as ? what->known_as : what->system,
                                  .device = what->machine ? what->machine->name : what->gpu->name,
                                  .memory = what->memory,
                                  .seed = what->subject.seed,
                                  .options = options_of(what),
                                  .data = data_of(what)};
}

/* ---- as cells ---- */

static bool key_of(const void *self, unsigned cell, struct ff__store_key *out) {
    const struct ff__simulation *what = &((const struct ff__simulations *)self)->items[cell].what;
    ff__simulation_key(what, out);
    return !what->trace; /* which has to be written */
}

static void run_cell(void *self, unsigned cell) {
    struct ff__simulation_cell *item = &((struct ff__simulations *)self)->items[cell];
    ff__simulate(&item->what, &item->found);
}

/* That tensors find no room is a result. */
static struct ff__found found_by(const void *self, unsigned cell) {
    const struct ff__simulation_cell *item = &((const struct ff__simulations *)self)->items[cell];
    bool ended = item->found.good || (item->found.cannot && item->what.iterations);
    double seconds = item->found.good && !item->what.untimed
                         ? (double)item->found.result.time_ns * 1e-9
                         : (double)NAN;
    return (struct ff__found){ended ? NULL : item->found.reason, seconds, seconds, "s"};
}

static json_t *result_of(const void *self, unsigned cell) {
    return ff__simulated_json(ff__simulations_at(self, cell));
}

static bool restore(void *self, unsigned cell, const json_t *result) {
    struct ff__simulated *found = &((struct ff__simulations *)self)->items[cell].found;
    ff__simulated_free(found);
    return ff__simulated_read(result, found);
}

struct ff__cells ff__simulations_cells(struct ff__simulations *list) {
    return (struct ff__cells){.count = list->count,
                              .run = run_cell,
                              .key = key_of,
                              .found = found_by,
                              .result = result_of,
                              .restore = restore,
                              .self = list};
}

int ff__simulations_run(const struct ff__study *study, struct ff__simulations *list) {
    const struct ff__cells cells = ff__simulations_cells(list);
    return ff__cells_run(study, &cells);
}
