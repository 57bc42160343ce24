/* Training data, shared by train, predict and repro: which programs, on which device, and how their
 * accesses are split and sampled. */
#ifndef FF_STUDY_REPRO_TRAINING_DATA_H
#define FF_STUDY_REPRO_TRAINING_DATA_H

#include "backend/sim/machine/gpu.h"
#include "learn/model.h"
#include "report/text.h"

#define FF__TEST_SAMPLES_MAX 20000u /* the most test samples of a score */

struct ff__training_data {
    struct ff__words workloads;
    struct ff__gpu gpu;
    uint64_t seed;
    uint32_t distance;
    enum ff__cluster by;
    enum ff__split split;
    uint32_t hidden;   /* see struct ff__dataset */
    bool shuffled;     /* likewise */
    bool by_access;    /* deltas are from the last access, whatever its array */
    bool by_array;     /* a token shows the array that is accessed, not all of its kernel's */
    uint16_t program;  /* the number of the first one that is recorded */
    uint32_t halvings; /* keep one of 2^halvings streams, of each program */
};

void ff__training_data_free(struct ff__training_data *data);

/* Runs the `count` workloads from `first` on, fully resident, and records their accesses as one
 * corpus. Returns likewise. */
int ff__training_data_record(const struct ff__training_data *data, unsigned first, unsigned count,
                             struct ff__corpus *corpus);

/* Before anything is trained: products are done with a BLAS, or one line says that there is none.
 */
void ff__training_begin(void);

#endif
