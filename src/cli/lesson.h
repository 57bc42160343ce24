/* What train and predict share: which programs, which device, and what is made of their accesses. */
#ifndef FF_CLI_LESSON_H
#define FF_CLI_LESSON_H

#include "backend/sim/gpu.h"
#include "learn/model.h"
#include "report/text.h"

#define FF__LESSON_TESTS 20000u /* samples a score is made of, at most */

struct ff__options;

struct ff__lesson {
    struct ff__words workloads;
    struct ff__gpu gpu;
    uint64_t seed;
    uint32_t distance;
    enum ff__cluster by;
    enum ff__split split;
    uint16_t program;  /* the number of the first one that is recorded */
    uint32_t halvings; /* keep one of 2^halvings streams, of each program */
};

/* From the command line; returns 0 or, with one line on stderr, an exit status. `list`: the
 * workloads. */
int ff__lesson_read(const struct ff__options *options, const char *list, struct ff__lesson *lesson);
void ff__lesson_free(struct ff__lesson *lesson);

/* Runs the `count` workloads from `first` on, fully resident, and makes one corpus of what
 * they access. Likewise. */
int ff__lesson_record(const struct ff__lesson *lesson, unsigned first, unsigned count,
                      struct ff__corpus *corpus);

#endif
