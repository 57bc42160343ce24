/* Trains one predictor, and keeps it in a file: shared by train and repro. */
#ifndef FF_STUDY_REPRO_TRAINING_JOB_H
#define FF_STUDY_REPRO_TRAINING_JOB_H

#include "study/repro/training_data.h"

#include <signal.h>

struct ff__training_job {
    const struct ff__training_data *data;
    const struct ff__net_type *type;
    uint32_t steps;
    double until;        /* training ends when top-1 is that, of some tests; 0: after all steps */
    const char *subject; /* what it is trained on, for the file */
    const char *output;  /* the file; NULL: none */
    bool reuse;          /* a file with a finished model will do */
    const volatile sig_atomic_t *stop;
    /* Called every few batches; may be NULL. */
    void (*show)(void *self, const struct ff__model *model);
    void *self;
};

/* Makes samples of the corpus, continues from the file of an earlier run if there is one, and
 * trains to the end or until *stop. The file is written every 200 batches and at the end. *batches:
 * how many there were when training ended; of a file that is reused all of them. 0; -EINTR:
 * stopped; or another negative errno. The caller frees model and dataset in any case; both are
 * zeroed before the call. */
int ff__training_job_run(const struct ff__training_job *job, const struct ff__corpus *corpus,
                         struct ff__model *model, struct ff__dataset *dataset, uint32_t *batches,
                         struct ff_error *error);

#endif
