/* What the predictor does, for one kind of CPU: any (predictor_portable.c), with AVX2
 * (predictor_avx2.c) and with AVX-512 (predictor_avx512.c). The steps are in predictor_body.h. */
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

#if defined(__x86_64__)
extern const struct ff__predictor_code ff__predictor_avx512, ff__predictor_avx2;
#endif
extern const struct ff__predictor_code ff__predictor_portable;

/* Best first; NULL past the end. */
const struct ff__predictor_code *ff__predictor_code_at(unsigned index);

/* The oldest of a set of slots. */
static inline uint32_t ff__oldest(uint32_t set, uint32_t newest) {
    uint32_t old = set >> newest >> 1; /* slots after the newest hold the oldest tokens */
    return old ? newest + 1 + (uint32_t)__builtin_ctz(old) : (uint32_t)__builtin_ctz(set);
}

/* Logits are in steps, each with its class below it, so that the largest one names its
 * class, the first of several equal ones. */
static inline uint32_t ff__class_named(int32_t best, int32_t escape, float *margin) {
    uint32_t name = (uint32_t)best % FF__CLASSES_MAX;
    uint32_t least = (uint32_t)escape % FF__CLASSES_MAX;
    if (margin)
        *margin =
            (float)((best - (int32_t)name - escape + (int32_t)least) / (int32_t)FF__CLASSES_MAX) *
            FF__STEP_LOGIT;
    return FF__CLASSES_MAX - 1 - name;
}

#endif
