/* Two experiments one after the other, on the ranks of mpirun: rank 0 says of each whether another
 * rank has made cells of it. A cell that rank 0 makes itself waits for that. */
#include "report/text.h"
#include "study/cells.h"
#include "study/jobs/ranks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { CELLS = 3, EXPERIMENTS = 2, TENTHS = 300 };

struct experiment {
    unsigned number;
    double maker[CELLS]; /* its rank */
};

static void run_cell(void *self, unsigned cell) {
    struct experiment *experiment = self;
    char *helped = ff__text("helped-%u", experiment->number);
    experiment->maker[cell] = ff__ranks_number();
    if (ff__ranks_number() > 0)
        fclose(ff__must(fopen(helped, "we")));
    for (unsigned tenth = 0; ff__ranks_number() == 0 && tenth < TENTHS; tenth++)
        if (access(helped, F_OK))
            usleep(100000);
    free(helped);
}

static bool key_of(const void *self, unsigned cell, struct ff__store_key *out) {
    const struct experiment *experiment = self;
    *out = (struct ff__store_key){.subject = "cell",
                                  .system = "none",
                                  .device = "none",
                                  .options = ff__text("%u of %u", cell, experiment->number)};
    return true;
}

static struct ff__found found_by(const void *self, unsigned cell) {
    (void)self, (void)cell;
    return (struct ff__found){.seconds = (double)NAN, .figure = (double)NAN};
}

static json_t *result_of(const void *self, unsigned cell) {
    return ff__must(json_pack("[f]", ((const struct experiment *)self)->maker[cell]));
}

static bool restore(void *self, unsigned cell, const json_t *result) {
    ((struct experiment *)self)->maker[cell] = json_real_value(json_array_get(result, 0));
    return json_is_array(result);
}

static void show(const struct experiment *experiment) {
    bool helped = false;
    for (unsigned i = 0; i < CELLS; i++)
        helped = helped || experiment->maker[i] > 0;
    printf("%u %s\n", experiment->number, helped ? "helped" : "alone");
}

int main(int argc, char **argv) {
    int status = argc == 2 ? ff__ranks_join(argv[1]) : EXIT_FAILURE;
    for (unsigned i = 0; i < EXPERIMENTS && !status; i++) {
        struct experiment experiment = {.number = i};
        const struct ff__study study = {.jobs = 1};
        const struct ff__cells cells = {.count = CELLS,
                                        .run = run_cell,
                                        .key = key_of,
                                        .found = found_by,
                                        .result = result_of,
                                        .restore = restore,
                                        .self = &experiment};
        status = ff__cells_run(&study, &cells);
        if (!status && ff__ranks_number() == 0)
            show(&experiment);
    }
    return status;
}
