/* A trained predictor and its file.
 *
 * A file is a magic number, a version, the network's type, what it was trained for, its
 * vocabularies, its parameters and, if training goes on, Adam's state; then a CRC-32C of everything
 * before. It gets its name when it is whole. Numbers are little-endian. */
#ifndef FF_LEARN_MODEL_H
#define FF_LEARN_MODEL_H

#include "learn/training.h"

#include <farfault/farfault.h>

#define FF__MODEL_VERSION 2u

struct ff__model {
    struct ff__features features;
    struct ff__net net;
    uint32_t distance;
    enum ff__cluster by;
    enum ff__split split;
    uint64_t seed;
    struct ff__training training; /* net is NULL when it is finished */
    char subject[96];             /* what it was trained on */
};

void ff__model_fini(struct ff__model *model);

/* Both return 0 or negative errno with one line. Reading: -ENOENT and other errors of files;
 * -EBADMSG: foreign, truncated or damaged; -ENOTSUP: of another version; -ENXIO: of none of these
 * types. `capacity`: samples of a batch, at most. */
int ff__model_write(const struct ff__model *model, const char *path, struct ff_error *error);
int ff__model_read(struct ff__model *model, const char *path, ff__net_types types,
                   uint32_t capacity, struct ff_error *error);

#endif
