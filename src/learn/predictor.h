/* The revised predictor, fast: one prediction in well under a microsecond, without allocation.
 *
 * All numbers are whole: a value is a count of steps (quant.h), and every product of a matrix is one of
 * pairs of 16-bit numbers, which CPUs add up in one instruction. The results are those of the
 * reference in hlsh.c, to the bit.
 *
 * A stream is the state of one cluster of warps: for each token of the window its embedding, key,
 * value and hash. A new token takes the slot of the oldest; the others' stay as they are, because
 * positions go round with the slots. */
#ifndef FF_LEARN_PREDICTOR_H
#define FF_LEARN_PREDICTOR_H

#include "learn/hlsh.h"

#define FF__SLOTS_WIDE 32u /* the window, in whole vectors */
#define FF__WIDE       16u /* a token, likewise */

struct ff__stream {
    _Alignas(64) int16_t key[FF__WIDTH / 2][FF__SLOTS_WIDE][2];
    int16_t value[FF__WINDOW / 2][FF__WIDE][2]; /* pairs of slots */
    int16_t token[FF__WINDOW][FF__WIDTH];
    uint64_t hash[FF__WINDOW];
    int16_t far[FF__SLOTS_WIDE]; /* sums of logarithms of distances to the chosen half */
    uint16_t delta[FF__SLOTS_WIDE];
    uint32_t newest; /* slot */
};

struct ff__predictor_code;

struct ff__predictor {
    const struct ff__predictor_code *code; /* for this CPU */
    uint32_t classes, wide_classes;        /* in whole vectors */
    /* Tables of features, in units of `unit`. */
    int16_t (*page)[FF__PART], (*delta)[FF__PART], (*pc)[FF__PART];
    uint32_t pages, deltas, pcs;
    /* [pairs][outputs][2] */
    _Alignas(64) int16_t to_key[FF__WIDTH / 2][FF__WIDE][2];
    int16_t to_value[FF__WIDTH / 2][FF__WIDE][2];
    int16_t direction[FF__WIDTH / 2][FF__LSH_VECTORS * FF__LSH_ROUNDS][2];
    int16_t age[FF__WIDTH / 2][2 * FF__SLOTS_WIDE][2]; /* going round twice, oldest first */
    int16_t to_inner[FF__WIDTH / 2][FF__INNER][2];
    int16_t to_outer[FF__INNER / 2][FF__WIDE][2];
    int16_t mix[FF__MIX / 2][FF__HIDDEN][2];
    int16_t *to_classes; /* [FF__HIDDEN / 2][wide_classes][2] */
    int16_t position[FF__WINDOW][FF__WIDE];
    float inner_bias[FF__INNER], outer_bias[FF__WIDE], mix_bias[FF__HIDDEN];
    /* Logits are in steps of FF__STEP_BIAS, times FF__CLASSES_MAX, plus a number for the class: the bias
     * with that number, and what a sum is worth. */
    int32_t *class_name, class_scale;
    int16_t chosen[FF__SLOTS_WIDE];
    int16_t far[FF__SLOTS_WIDE], close[FF__SLOTS_WIDE]; /* bounds for sums of logarithms */
    float unit;                                         /* of tokens */
    float step[FF__HLSH_MATRICES];
};

/* Makes one of a trained network. 0, -ENOMEM, or -EINVAL: no hlsh network. */
int ff__predictor_init(struct ff__predictor *predictor, const struct ff__net *net);
void ff__predictor_fini(struct ff__predictor *predictor);

/* Code for other CPUs, for tests and benchmarks: "portable", "avx2", "avx512". -ENOENT: there is no such
 * code; -ENOTSUP: not on this CPU. */
int ff__predictor_use(struct ff__predictor *predictor, const char *code);
const char *ff__predictor_code_name(const struct ff__predictor *predictor);

/* Bytes of parameters. */
size_t ff__predictor_size(const struct ff__predictor *predictor);

/* A stream without accesses. */
void ff__stream_start(const struct ff__predictor *predictor, struct ff__stream *stream);

/* One more access: its page, delta and PC numbers. */
void ff__stream_push(const struct ff__predictor *predictor, struct ff__stream *stream,
                     const uint16_t ids[3]);

/* The most likely class. `margin` (may be NULL): by how much its logit beats that of the escape. */
uint32_t ff__stream_predict(const struct ff__predictor *predictor, const struct ff__stream *stream,
                            float *margin);

#endif
