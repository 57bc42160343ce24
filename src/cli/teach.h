/* Training one predictor, with a file that keeps it: what train and repro share. */
#ifndef FF_CLI_TEACH_H
#define FF_CLI_TEACH_H

#include "cli/lesson.h"

#include <signal.h>

struct ff__course {
    const struct ff__lesson *lesson;
    const struct ff__net_type *type;
    uint32_t steps;
    const char *subject; /* what it is trained on, for the file */
    const char *output;  /* the file; NULL: none */
    bool reuse;          /* a file with a finished model will do */
    const volatile sig_atomic_t *stop;
    /* Now and then; may be NULL. */
    void (*show)(void *self, const struct ff__model *model);
    void *self;
};

/* Makes samples of the corpus, takes up what an earlier run has left in the file, and trains to the end
 * or until *stop; the file is written every 200 batches and at the end. 0; -EINTR: stopped; or another
 * negative errno. The caller ends model and dataset in any case; both are zeros before. */
int ff__teach(const struct ff__course *course, const struct ff__corpus *corpus,
              struct ff__model *model, struct ff__dataset *dataset, struct ff_error *error);

#endif
