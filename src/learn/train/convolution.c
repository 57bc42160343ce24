/* Convolutions over time, the classes from all their places. A fully connected layer is one that
 * sees the whole window at a time, in one place. */
#include "learn/train/baselines.h"

#include <string.h>

#define FILTERS       32u /* of the CNN, of so many tokens each */
#define TAPS          3u
#define UNITS         64u /* of the fully connected layer */
#define PLACES(taps)  (FF__WINDOW - (taps) + 1)
#define PATCH(taps)   ((taps)*FF__BASELINE_WIDTH)
#define PATCHES(taps) (PLACES(taps) * PATCH(taps))

/* Neighbouring tokens beside each other: the convolution is then a product. */
static void unfold(float *patches, const float *tokens, size_t sequences, size_t taps) {
    const size_t places = PLACES(taps), patch = PATCH(taps);
    for (size_t s = 0; s < sequences; s++)
        for (size_t p = 0; p < places; p++)
            memcpy(patches + (s * places + p) * patch,
                   tokens + (s * FF__WINDOW + p) * FF__BASELINE_WIDTH, patch * sizeof *patches);
}

static void fold(float *tokens, const float *patches, size_t sequences, size_t taps) {
    const size_t places = PLACES(taps), patch = PATCH(taps);
    memset(tokens, 0, sequences * FF__WINDOW * FF__BASELINE_WIDTH * sizeof *tokens);
    for (size_t s = 0; s < sequences; s++)
        for (size_t p = 0; p < places; p++)
            for (size_t i = 0; i < patch; i++)
                tokens[(s * FF__WINDOW + p) * FF__BASELINE_WIDTH + i] +=
                    patches[(s * places + p) * patch + i];
}

/* With one place it is the tokens. */
static bool folds(const struct ff__baseline *baseline) {
    return PLACES(baseline->taps) > 1;
}

static struct ff__linear filter_of(const struct ff__baseline *baseline, size_t n) {
    return (struct ff__linear){(uint32_t)n * PLACES(baseline->taps), baseline->in,
                               baseline->hidden};
}

static void forward(const struct ff__baseline *baseline, const struct ff__baseline_run *run) {
    const struct ff__linear filter = filter_of(baseline, run->n);
    if (folds(baseline))
        unfold(run->middle, run->tokens, run->n, baseline->taps);
    ff__linear_forward(&filter, run->found, folds(baseline) ? run->middle : run->tokens, run->w,
                       run->b);
    ff__relu_forward(run->found, run->n * baseline->found);
}

static void backward(const struct ff__baseline *baseline, const struct ff__baseline_run *run) {
    const struct ff__linear filter = filter_of(baseline, run->n);
    const float *patches = folds(baseline) ? run->middle : run->tokens;
    float *dpatches =
        folds(baseline) ? run->middle + run->n * PATCHES(baseline->taps) : run->dtokens;
    ff__relu_backward(run->dfound, run->found, run->n * baseline->found);
    ff__linear_backward(&filter, dpatches, run->dw, run->db, run->dfound, patches, run->w);
    if (folds(baseline))
        fold(run->dtokens, dpatches, run->n, baseline->taps);
}

#define CONVOLUTION(tokens, filters)                                                               \
    .taps = tokens, .in = PATCH(tokens), .hidden = filters, .found = PLACES(tokens) * filters,     \
    .middle = PLACES(tokens) > 1 ? 2 * PATCHES(tokens) : 0, .forward = forward,                    \
    .backward = backward

const struct ff__baseline ff__net_cnn = {
    FF__BASELINE("cnn", "convolution over time: 32 filters of 3 tokens"),
    CONVOLUTION(TAPS, FILTERS),
};

const struct ff__baseline ff__net_fc = {
    FF__BASELINE("fc", "fully connected: one hidden layer of 64 units"),
    CONVOLUTION(FF__WINDOW, UNITS),
};
