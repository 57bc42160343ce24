#include "learn/predictor.h"

#include "learn/predictor_code.h"
#include "learn/quant.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NEVER (-(1 << 19)) /* the bias of a class that is only there to fill a vector */

/* ---- code ---- */

int ff__predictor_use(struct ff__predictor *predictor, const char *name) {
    const struct ff__predictor_code *code;
    for (unsigned i = 0; (code = ff__predictor_code_at(i)); i++) {
        if (strcmp(code->name, name) != 0)
            continue;
        if (!code->works())
            return -ENOTSUP;
        predictor->code = code;
        return 0;
    }
    return -ENOENT;
}

static void use_best(struct ff__predictor *predictor) {
    unsigned i = 0;
    while (!ff__predictor_code_at(i)->works())
        i++;
    predictor->code = ff__predictor_code_at(i);
}

const char *ff__predictor_code_name(const struct ff__predictor *predictor) {
    return predictor->code->name;
}

/* ---- making ---- */

static void *zeroed(size_t size) {
    size_t whole = (size + 63) / 64 * 64;
    void *all = aligned_alloc(64, whole);
    if (all)
        memset(all, 0, whole);
    return all;
}

static int16_t steps_of(float x, float step) {
    return (int16_t)rintf(x / step);
}

/* w [in][out] as pairs [in / 2][wide][2]. */
static void pair_rows(int16_t *to, uint32_t wide, const float *w, uint32_t in, uint32_t out,
                      float step) {
    for (uint32_t i = 0; i < in; i++)
        for (uint32_t o = 0; o < out; o++)
            to[((size_t)i / 2 * wide + o) * 2 + i % 2] = steps_of(w[(size_t)i * out + o], step);
}

static int make_table(int16_t (**to)[FF__PART], uint32_t *rows, const float *w, size_t count,
                      float unit) {
    *rows = (uint32_t)(count / FF__PART);
    *to = zeroed(count * sizeof(int16_t));
    for (size_t i = 0; *to && i < count; i++)
        (*to)[i / FF__PART][i % FF__PART] = steps_of(w[i], unit);
    return *to ? 0 : -ENOMEM;
}

/* The smallest step that tokens and positions need. */
static float find_unit(const float steps[FF__HLSH_MATRICES]) {
    float unit = FF__STEP_POSITION;
    for (int i = FF__HLSH_PAGE; i <= FF__HLSH_PC; i++)
        unit = steps[i] < unit ? steps[i] : unit;
    return unit;
}

static void make_positions(struct ff__predictor *p) {
    for (uint32_t slot = 0; slot < FF__WINDOW; slot++) {
        float position[FF__WIDTH];
        ff__hlsh_position(slot, position);
        for (uint32_t d = 0; d < FF__WIDTH; d++)
            p->position[slot][d] = steps_of(position[d], p->unit);
    }
}

static void make_lsh(struct ff__predictor *p) {
    struct ff__lsh lsh;
    ff__lsh_init(&lsh);
    pair_rows(p->direction[0][0], FF__LSH_VECTORS * FF__LSH_ROUNDS, lsh.direction[0][0], FF__WIDTH,
              FF__LSH_VECTORS * FF__LSH_ROUNDS, 1);
    for (uint32_t slot = 0; slot < FF__SLOTS_WIDE; slot++) {
        bool there = slot < FF__WINDOW;
        uint32_t compared = FF__WINDOW / 2 - (there && lsh.chosen[slot]);
        p->chosen[slot] = (int16_t)(there ? lsh.chosen[slot] : 0);
        p->far[slot] = (int16_t)(there ? ff__lsh_far(compared) : INT16_MAX);
        p->close[slot] = (int16_t)(there ? ff__lsh_close(compared) : -1);
    }
}

/* With the newest token in slot n, slot s is so old: (n - s) mod window. Entry t is that of age
 * (2 window - 1 - t) mod window: slot s is then entry s + window - 1 - n. */
static void make_ages(struct ff__predictor *p, const float *age) {
    for (uint32_t t = 0; t < 2 * FF__WINDOW; t++)
        for (uint32_t d = 0; d < FF__WIDTH; d++)
            p->age[d / 2][t][d % 2] = steps_of(
                age[(2 * FF__WINDOW - 1 - t) % FF__WINDOW * FF__WIDTH + d], p->step[FF__HLSH_AGE]);
}

static int make_classes(struct ff__predictor *p, const struct ff__hlsh_weights *w) {
    size_t wide = (p->classes + FF__WIDE - 1) / FF__WIDE * FF__WIDE;
    float unit = FF__STEP_HIDDEN * p->step[FF__HLSH_CLASSES];
    p->wide_classes = (uint32_t)wide;
    p->to_classes = zeroed(FF__HIDDEN * wide * sizeof *p->to_classes);
    p->class_name = zeroed(wide * sizeof *p->class_name);
    if (!p->to_classes || !p->class_name)
        return -ENOMEM;
    pair_rows(p->to_classes, p->wide_classes, w->of[FF__HLSH_CLASSES], FF__HIDDEN, p->classes,
              p->step[FF__HLSH_CLASSES]);
    p->class_scale = (int32_t)(unit / FF__STEP_BIAS) * (int32_t)FF__CLASSES_MAX;
    for (uint32_t c = 0; c < p->wide_classes; c++) {
        int32_t bias = c < p->classes
                           ? (int32_t)rintf(w->of[FF__HLSH_CLASSES_BIAS][c] / FF__STEP_BIAS)
                           : NEVER;
        p->class_name[c] = bias * (int32_t)FF__CLASSES_MAX + (int32_t)(FF__CLASSES_MAX - 1 - c);
    }
    return 0;
}

static int make(struct ff__predictor *p, const struct ff__hlsh_weights *w) {
    p->unit = find_unit(p->step);
    if (make_table(&p->page, &p->pages, w->of[FF__HLSH_PAGE], w->count[FF__HLSH_PAGE], p->unit) ||
        make_table(&p->delta, &p->deltas, w->of[FF__HLSH_DELTA], w->count[FF__HLSH_DELTA],
                   p->unit) ||
        make_table(&p->pc, &p->pcs, w->of[FF__HLSH_PC], w->count[FF__HLSH_PC], p->unit))
        return -ENOMEM;
    pair_rows(p->to_key[0][0], FF__WIDE, w->of[FF__HLSH_KEY], FF__WIDTH, FF__WIDTH,
              p->step[FF__HLSH_KEY]);
    pair_rows(p->to_value[0][0], FF__WIDE, w->of[FF__HLSH_VALUE], FF__WIDTH, FF__WIDTH,
              p->step[FF__HLSH_VALUE]);
    pair_rows(p->to_inner[0][0], FF__INNER, w->of[FF__HLSH_INNER], FF__WIDTH, FF__INNER,
              p->step[FF__HLSH_INNER]);
    pair_rows(p->to_outer[0][0], FF__WIDE, w->of[FF__HLSH_OUTER], FF__INNER, FF__WIDTH,
              p->step[FF__HLSH_OUTER]);
    pair_rows(p->mix[0][0], FF__HIDDEN, w->of[FF__HLSH_MIX], FF__MIX, FF__HIDDEN,
              p->step[FF__HLSH_MIX]);
    memcpy(p->inner_bias, w->of[FF__HLSH_INNER_BIAS], FF__INNER * sizeof(float));
    memcpy(p->outer_bias, w->of[FF__HLSH_OUTER_BIAS], FF__WIDTH * sizeof(float));
    memcpy(p->mix_bias, w->of[FF__HLSH_MIX_BIAS], FF__HIDDEN * sizeof(float));
    make_ages(p, w->of[FF__HLSH_AGE]);
    make_positions(p);
    make_lsh(p);
    return make_classes(p, w);
}

int ff__predictor_init(struct ff__predictor *predictor, const struct ff__net *net) {
    struct ff__hlsh_weights w;
    memset(predictor, 0, sizeof *predictor);
    if (net->type != &ff__net_hlsh)
        return -EINVAL;
    float *quantized = zeroed(net->param_count * sizeof *quantized);
    if (!quantized)
        return -ENOMEM;
    use_best(predictor);
    predictor->classes = net->shape.classes;
    ff__hlsh_quantize(&net->shape, net->params, quantized, predictor->step);
    ff__hlsh_map(&w, &net->shape, quantized);
    int status = make(predictor, &w);
    free(quantized);
    if (status)
        ff__predictor_fini(predictor);
    return status;
}

void ff__predictor_fini(struct ff__predictor *predictor) {
    free(predictor->page);
    free(predictor->delta);
    free(predictor->pc);
    free(predictor->to_classes);
    free(predictor->class_name);
    memset(predictor, 0, sizeof *predictor);
}

size_t ff__predictor_size(const struct ff__predictor *predictor) {
    size_t rows = (size_t)predictor->pages + predictor->deltas + predictor->pcs;
    return sizeof *predictor + rows * FF__PART * sizeof(int16_t) +
           predictor->wide_classes * (FF__HIDDEN * sizeof(int16_t) + sizeof(int32_t));
}

/* ---- streams ---- */

void ff__stream_start(const struct ff__predictor *predictor, struct ff__stream *stream) {
    const uint16_t nothing[3] = {0, 0, 0};
    memset(stream, 0, sizeof *stream);
    memset(stream->delta, 0xFF, sizeof stream->delta);
    stream->newest = FF__WINDOW - 1;
    for (uint32_t i = 0; i < 2 * FF__WINDOW;
         i++) /* twice: sums of distances build up on the first */
        ff__stream_push(predictor, stream, nothing);
}

void ff__stream_push(const struct ff__predictor *predictor, struct ff__stream *stream,
                     const uint16_t ids[3]) {
    predictor->code->push(predictor, stream, ids);
}

uint32_t ff__stream_predict(const struct ff__predictor *predictor, const struct ff__stream *stream,
                            float *margin) {
    return predictor->code->predict(predictor, stream, margin);
}
