/* The revised predictor (section 6 of the paper): three features, 12 wide, one encoder layer, one
 * head, HLSH attention, an indicator that bypasses it, four bits.
 *
 * Ours, where the paper says nothing: page, delta and PC take 4 of the 12 each; only the newest
 * token asks (the answer of a single layer needs no other row); how long ago a token was counts in
 * its score; positions are those on a circle of the window's length, so that a token's projections
 * hold for as long as it is in the window; the layer has no normalization, clamping does its work;
 * and the window's embeddings and the layer's output meet in 16 numbers before the classes. */
#ifndef FF_LEARN_HLSH_H
#define FF_LEARN_HLSH_H

#include "learn/lsh.h"
#include "learn/net.h"

#define FF__PART   4u  /* of a token, each feature's */
#define FF__INNER  48u /* of the feed-forward layer: 4 x the width, as in Vaswani et al. */
#define FF__HIDDEN 16u /* before the classes */
#define FF__MIX    (FF__WINDOW * FF__WIDTH + FF__WIDTH)

/* The indicator: so many equal deltas in the window make attention pointless; 0.9 of it. */
#define FF__CONVERGED 27u

/* Steps of activations, and of biases, which are small enough to keep 16 bits. */
#define FF__STEP_KEY      0.5f
#define FF__STEP_VALUE    0.5f
#define FF__STEP_TOKEN    0.5f
#define FF__STEP_INNER    0.25f
#define FF__STEP_HIDDEN   0.25f
#define FF__STEP_POSITION 0.125f
#define FF__STEP_BIAS     (1.0f / 1024)

#define FF__SCORE_SCALE   0.25f /* near 1 / sqrt(12), and exact */

enum ff__hlsh_matrix {
    FF__HLSH_PAGE, /* [ids][FF__PART]; so are the next two */
    FF__HLSH_DELTA,
    FF__HLSH_PC,
    FF__HLSH_KEY,     /* [FF__WIDTH][FF__WIDTH]: query and key */
    FF__HLSH_VALUE,   /* [FF__WIDTH][FF__WIDTH] */
    FF__HLSH_AGE,     /* [FF__WINDOW][FF__WIDTH], the newest first */
    FF__HLSH_INNER,   /* [FF__WIDTH][FF__INNER] */
    FF__HLSH_OUTER,   /* [FF__INNER][FF__WIDTH] */
    FF__HLSH_MIX,     /* [FF__MIX][FF__HIDDEN], the oldest token first, the layer's output last */
    FF__HLSH_CLASSES, /* [FF__HIDDEN][classes] */
    FF__HLSH_MATRICES,
    /* biases */
    FF__HLSH_INNER_BIAS = FF__HLSH_MATRICES,
    FF__HLSH_OUTER_BIAS,
    FF__HLSH_MIX_BIAS,
    FF__HLSH_CLASSES_BIAS,
    FF__HLSH_PARAMS
};

struct ff__hlsh_weights {
    float *of[FF__HLSH_PARAMS];
    size_t count[FF__HLSH_PARAMS];
};

extern const struct ff__net_type ff__net_hlsh, ff__net_hlsh_float, ff__net_hlsh_printed,
    ff__net_hlsh_full, ff__net_hlsh_always;

/* All of these. */
extern const struct ff__net_type *const ff__hlsh_types[];

/* Whether the type is hlsh or a variant of it, with the same parameters. */
bool ff__is_hlsh(const struct ff__net_type *type);

/* Where everything is in an array of all parameters; its length is returned. */
size_t ff__hlsh_map(struct ff__hlsh_weights *weights, const struct ff__shape *shape, float *params);

/* y = all parameters in steps; steps[] of the matrices. */
void ff__hlsh_quantize(const struct ff__shape *shape, float *params, float *y,
                       float steps[FF__HLSH_MATRICES]);

/* The position of a slot on the circle, in steps. */
void ff__hlsh_position(uint32_t slot, float position[FF__WIDTH]);

#endif
