/* What the predictor does, for one kind of CPU. predictor_code.c includes predictor_steps.h once for
 * each. */
#ifndef FF_LEARN_PREDICTOR_CODE_H
#define FF_LEARN_PREDICTOR_CODE_H

#include "learn/predictor.h"

struct ff__predictor_code {
    const char *name;
    bool (*works)(void); /* on this CPU */
    void (*push)(const struct ff__predictor *predictor, struct ff__stream *stream,
                 const uint16_t ids[3]);
    uint32_t (*predict)(const struct ff__predictor *predictor, const struct ff__stream *stream,
                        float *margin);
};

/* Best first; NULL past the end. */
const struct ff__predictor_code *ff__predictor_code_at(unsigned index);

#endif
