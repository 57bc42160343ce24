/* The revised predictor (section 6 of the paper): three features, 12 wide, one encoder layer, one
 * head, HLSH attention, an indicator that bypasses it, four bits.
 *
 * All 30 tokens ask, and the classes are a linear function of the encoder's outputs, 12 * 30
 * numbers. Ours, where the paper says nothing: page, delta and PC take 4 of the 12 each; a token
 * does not attend to itself, as it is added anyway (as in Reformer, where queries are keys, too);
 * positions are those on a circle of the window's length, so that a token's projections hold for as
 * long as it is in the window; the layer has no normalization, clamping does its work.
 *
 * `window` is ours: without an encoder, the window's tokens meet in 16 numbers before the classes.
 */
#ifndef FF_LEARN_HLSH_H
#define FF_LEARN_HLSH_H

#include "learn/lsh.h"
#include "learn/net.h"

#define FF__PART    4u  /* of a token, each feature's */
#define FF__INNER   48u /* of the feed-forward layer: 4 x the width, as in Vaswani et al. */
#define FF__OUTPUTS (FF__WINDOW * FF__WIDTH)
#define FF__HIDDEN  16u /* before the classes of `window` */

/* The indicator: the convergence from which on attention is bypassed. By data set it is the share
 * of the most frequent class (section 5.4), by window that of one delta; the paper has no bound. */
#define FF__CONVERGED        0.9
#define FF__CONVERGED_WINDOW 27u /* tokens */

/* Steps of activations, and of biases and logits, which keep 16 bits and more. */
#define FF__STEP_KEY      0.5f
#define FF__STEP_VALUE    0.5f
#define FF__STEP_TOKEN    0.5f
#define FF__STEP_INNER    0.25f
#define FF__STEP_HIDDEN   0.25f
#define FF__STEP_POSITION 0.125f
#define FF__STEP_BIAS     (1.0f / 1024)
#define FF__STEP_LOGIT    (1.0f / 512)

/* The step of the classes' weights is at most this, so that a logit, in steps, and the number of
 * its class fit in 32 bits together. */
#define FF__STEP_CLASSES_MOST 0.25f

#define FF__SCORE_SCALE       0.25f /* near 1 / sqrt(12), and exact */

/* Those that a network does not have are empty. */
enum ff__hlsh_matrix {
    FF__HLSH_PAGE, /* [ids][FF__PART]; so are the next two */
    FF__HLSH_DELTA,
    FF__HLSH_PC,
    FF__HLSH_KEY,     /* [FF__WIDTH][FF__WIDTH] */
    FF__HLSH_QUERY,   /* likewise, for full attention; else keys are queries, too (section 5.4) */
    FF__HLSH_VALUE,   /* [FF__WIDTH][FF__WIDTH] */
    FF__HLSH_INNER,   /* [FF__WIDTH][FF__INNER] */
    FF__HLSH_OUTER,   /* [FF__INNER][FF__WIDTH] */
    FF__HLSH_MIX,     /* of `window`: [FF__OUTPUTS][FF__HIDDEN], the oldest token first */
    FF__HLSH_CLASSES, /* [what they see][classes] */
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

extern const struct ff__net_type ff__net_hlsh, ff__net_hlsh_float, ff__net_hlsh_full,
    ff__net_hlsh_none, ff__net_hlsh_by_window, ff__net_window;

/* All of these. */
extern const struct ff__net_type *const ff__hlsh_types[];

/* Whether the type is one of these: they have the same kinds of parameters. */
bool ff__is_hlsh(const struct ff__net_type *type);

/* How many numbers the classes see: FF__OUTPUTS or FF__HIDDEN. */
uint32_t ff__hlsh_seen(const struct ff__net_type *type);

/* Where everything is in an array of all parameters; its length is returned. */
size_t ff__hlsh_map(struct ff__hlsh_weights *weights, const struct ff__net_type *type,
                    const struct ff__shape *shape, float *params);

/* y = all of the net's parameters in steps; steps[] of the matrices. */
void ff__hlsh_quantize(const struct ff__net *net, float *y, float steps[FF__HLSH_MATRICES]);

/* The position of a slot on the circle, in steps. */
void ff__hlsh_position(uint32_t slot, float position[FF__WIDTH]);

#endif
