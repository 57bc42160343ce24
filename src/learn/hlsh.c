#include "learn/hlsh.h"

#include "learn/hlsh_parts.h"
#include "learn/quant.h"

#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846

/* ---- parameters ---- */

static const enum ff__feature features[] = {FF__FEATURE_PAGE, FF__FEATURE_DELTA, FF__FEATURE_PC};

uint32_t ff__hlsh_seen(const struct ff__net_type *type) {
    return type == &ff__net_window ? FF__HIDDEN : FF__OUTPUTS;
}

static void counts(const struct ff__net_type *type, const struct ff__shape *shape,
                   size_t count[FF__HLSH_PARAMS]) {
    const bool window = type == &ff__net_window;
    const size_t square = window ? 0 : FF__WIDTH * FF__WIDTH, inner = window ? 0 : FF__INNER;
    const size_t hidden = window ? FF__HIDDEN : 0;
    const size_t all[FF__HLSH_PARAMS] = {
        [FF__HLSH_PAGE] = (size_t)shape->ids[FF__FEATURE_PAGE] * FF__PART,
        [FF__HLSH_DELTA] = (size_t)shape->ids[FF__FEATURE_DELTA] * FF__PART,
        [FF__HLSH_PC] = (size_t)shape->ids[FF__FEATURE_PC] * FF__PART,
        [FF__HLSH_KEY] = square,
        [FF__HLSH_QUERY] = type->attends == FF__ATTENDS_FULL ? square : 0,
        [FF__HLSH_VALUE] = square,
        [FF__HLSH_INNER] = FF__WIDTH * inner,
        [FF__HLSH_OUTER] = inner * FF__WIDTH,
        [FF__HLSH_MIX] = FF__OUTPUTS * hidden,
        [FF__HLSH_CLASSES] = (size_t)ff__hlsh_seen(type) * shape->classes,
        [FF__HLSH_INNER_BIAS] = inner,
        [FF__HLSH_OUTER_BIAS] = window ? 0 : FF__WIDTH,
        [FF__HLSH_MIX_BIAS] = hidden,
        [FF__HLSH_CLASSES_BIAS] = shape->classes,
    };
    memcpy(count, all, sizeof all);
}

size_t ff__hlsh_map(struct ff__hlsh_weights *weights, const struct ff__net_type *type,
                    const struct ff__shape *shape, float *params) {
    size_t used = 0; /* tables of features lie one after the other, as ff__embedding wants them */
    counts(type, shape, weights->count);
    for (int i = 0; i < FF__HLSH_PARAMS; i++) {
        weights->of[i] = params ? params + used : NULL;
        used += weights->count[i];
    }
    return used;
}

static size_t param_count(const struct ff__net_type *type, const struct ff__shape *shape) {
    struct ff__hlsh_weights weights;
    return ff__hlsh_map(&weights, type, shape, NULL);
}

struct ff__embedding ff__hlsh_embedding(const struct ff__shape *shape) {
    struct ff__embedding embedding = {.features = 3, .width = FF__WIDTH};
    for (uint32_t f = 0; f < 3; f++) {
        embedding.feature[f] = features[f];
        embedding.part[f] = FF__PART;
        embedding.ids[f] = shape->ids[features[f]];
    }
    return embedding;
}

void ff__hlsh_init_tables(const struct ff__hlsh_weights *weights, struct ff__random *random) {
    for (int i = FF__HLSH_PAGE; i <= FF__HLSH_PC; i++)
        ff__net_uniform(weights->of[i], weights->count[i], 1, random);
}

static void quantize_bias(float *y, const float *x, size_t count, float step) {
    for (size_t i = 0; i < count; i++)
        y[i] = rintf(x[i] / step) * step;
}

void ff__hlsh_quantize(const struct ff__net *net, float *y, float steps[FF__HLSH_MATRICES]) {
    struct ff__hlsh_weights from, to;
    ff__hlsh_map(&from, net->type, &net->shape, net->params);
    ff__hlsh_map(&to, net->type, &net->shape, y);
    for (int i = 0; i < FF__HLSH_MATRICES; i++) {
        steps[i] = ff__quantize_step(from.of[i], from.count[i]);
        if (i == FF__HLSH_CLASSES && steps[i] > FF__STEP_CLASSES_MOST)
            steps[i] = FF__STEP_CLASSES_MOST;
        ff__quantize_all(to.of[i], from.of[i], from.count[i], steps[i]);
    }
    for (int i = FF__HLSH_MATRICES; i < FF__HLSH_PARAMS; i++)
        quantize_bias(to.of[i], from.of[i], from.count[i],
                      i == FF__HLSH_CLASSES_BIAS ? FF__STEP_LOGIT : FF__STEP_BIAS);
}

/* The turns of the original encoding (Vaswani et al. 2017, section 3.5) in a window, to whole ones:
 * 5, 1 and 0. */
void ff__hlsh_position(uint32_t slot, float position[FF__WIDTH]) {
    for (uint32_t i = 0; i < FF__WIDTH / 2; i++) {
        double turns = rint(FF__WINDOW / (2 * PI) / pow(10000, 2.0 * i / FF__WIDTH));
        double angle = 2 * PI * turns * slot / FF__WINDOW;
        position[2 * i] = ff__quantize((float)sin(angle), FF__STEP_POSITION);
        position[2 * i + 1] = ff__quantize((float)cos(angle), FF__STEP_POSITION);
    }
}

/* ---- work space ---- */

void ff__hlsh_space(struct ff__hlsh_space *space, struct ff__pieces *pieces,
                    const struct ff__net_type *type, const struct ff__shape *shape) {
    space->weights = ff__piece(pieces, param_count(type, shape));
    space->steps = ff__piece(pieces, FF__HLSH_MATRICES);
}

void ff__hlsh_current(struct ff__hlsh_weights *weights, const struct ff__net *net,
                      const struct ff__hlsh_space *space) {
    ff__hlsh_map(weights, net->type, &net->shape, net->quantized ? space->weights : net->params);
}

/* ---- quantizers ---- */

void ff__clamp(const struct ff__net *net, float *y, const float *raw, size_t count, float step) {
    if (net->quantized)
        ff__quantize_all(y, raw, count, step);
    else
        memcpy(y, raw, count * sizeof *y);
}

void ff__clamp_backward(const struct ff__net *net, float *d, const float *raw, size_t count,
                        float step) {
    if (net->quantized)
        ff__quantize_backward(d, raw, count, step);
}

void ff__clamp_positive(const struct ff__net *net, float *y, const float *raw, size_t count,
                        float step) {
    for (size_t i = 0; i < count; i++) {
        float positive = raw[i] > 0 ? raw[i] : 0;
        y[i] = net->quantized ? ff__quantize_positive(raw[i], step) : positive;
    }
}

void ff__clamp_positive_backward(const struct ff__net *net, float *d, const float *raw,
                                 size_t count, float step) {
    float most = net->quantized ? (FF__Q_MAX - FF__Q_MIN + 0.5f) * step : INFINITY;
    for (size_t i = 0; i < count; i++)
        d[i] = raw[i] > 0 && raw[i] < most ? d[i] : 0;
}

void ff__add_to(float *to, const float *from, size_t count) {
    for (size_t i = 0; i < count; i++)
        to[i] += from[i];
}

/* ---- types ---- */

#define TRAINED(kind)                                                                              \
    .batch = 128, .steps = 1500, .rate = 0.003f, .params = param_count, .work = ff__##kind##_work, \
    .init = ff__##kind##_init, .forward = ff__##kind##_forward, .backward = ff__##kind##_backward

const struct ff__net_type ff__net_hlsh = {
    .name = "hlsh",
    .summary = "the paper's revised predictor: 12 wide, HLSH attention, four bits",
    .quantized = true,
    TRAINED(encoder),
};

const struct ff__net_type ff__net_hlsh_float = {
    .name = "hlsh-float",
    .summary = "the same without quantization",
    TRAINED(encoder),
};

const struct ff__net_type ff__net_hlsh_full = {
    .name = "hlsh-full",
    .summary = "hlsh with full attention",
    .quantized = true,
    .attends = FF__ATTENDS_FULL,
    TRAINED(encoder),
};

const struct ff__net_type ff__net_hlsh_none = {
    .name = "hlsh-none",
    .summary = "hlsh without attention",
    .quantized = true,
    .attends = FF__ATTENDS_NOT,
    TRAINED(encoder),
};

const struct ff__net_type ff__net_hlsh_by_window = {
    .name = "hlsh-by-window",
    .summary = "hlsh whose indicator looks at each window, and not at the data set",
    .quantized = true,
    .bypass_by_window = true,
    TRAINED(encoder),
};

const struct ff__net_type ff__net_window = {
    .name = "window",
    .summary = "ours: the window's tokens, 16 numbers, the classes; four bits",
    .quantized = true,
    TRAINED(window),
};

const struct ff__net_type *const ff__hlsh_types[] = {&ff__net_hlsh,
                                                     &ff__net_hlsh_float,
                                                     &ff__net_hlsh_full,
                                                     &ff__net_hlsh_none,
                                                     &ff__net_hlsh_by_window,
                                                     &ff__net_window,
                                                     NULL};

bool ff__is_hlsh(const struct ff__net_type *type) {
    return ff__net_type_find(ff__hlsh_types, type->name) == type;
}
