#include "learn/predictor.h"

#include "learn/predictor_code.h"
#include "learn/quant.h"
#include "learn/weight.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CACHE_LINE 64u
#define NEVER      (-(1 << 21)) /* the bias of a class that is only there to fill a vector */

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

static int32_t steps_of(float x, float step) {
    return (int32_t)rintf(x / step);
}

static uint32_t log_of(float power) {
    return (uint32_t)ilogbf(power);
}

/* A matrix [in][out] of floats that are whole steps, in quads with rows of `wide` outputs. */
struct matrix {
    const float *w;
    uint32_t in, out;
    float step;
};

static void put_quads(void *quads, uint32_t wide, const struct matrix *m) {
    int8_t *to = quads;
    for (uint32_t i = 0; i < m->in; i++)
        for (uint32_t o = 0; o < m->out; o++)
            to[((size_t)i / FF__QUAD * wide + o) * FF__QUAD + i % FF__QUAD] =
                (int8_t)steps_of(m->w[(size_t)i * m->out + o], m->step);
}

/* What the offsets of inputs add to each output, taken off; `shift` of each of the token's
 * features, or NULL. */
static void take_offsets(int32_t *start, const struct matrix *m, const uint32_t *shift) {
    for (uint32_t i = 0; i < m->in; i++)
        for (uint32_t o = 0; o < m->out; o++) {
            int32_t offset = steps_of(m->w[(size_t)i * m->out + o], m->step) * (int32_t)FF__OFFSET;
            start[o] -= shift ? offset * (1 << shift[i / FF__PART % FF__TOKEN_QUADS]) : offset;
        }
}

static int make_table(uint8_t (**to)[FF__PART], uint32_t *rows, const float *w, size_t count,
                      float step) {
    *rows = (uint32_t)(count / FF__PART);
    *to = zeroed(count);
    for (size_t i = 0; *to && i < count; i++)
        (*to)[i / FF__PART][i % FF__PART] = (uint8_t)(steps_of(w[i], step) + (int32_t)FF__OFFSET);
    return *to ? 0 : -ENOMEM;
}

/* The smallest step that tokens and positions need. */
static float find_unit(const float steps[FF__HLSH_MATRICES]) {
    float unit = FF__STEP_POSITION;
    for (int i = FF__HLSH_PAGE; i <= FF__HLSH_PC; i++)
        unit = steps[i] < unit ? steps[i] : unit;
    return unit;
}

static int make_tables(struct ff__predictor *p, const struct ff__hlsh_weights *w, const float *step,
                       float unit) {
    for (uint32_t f = 0; f < FF__TOKEN_QUADS; f++)
        p->shift[f] = log_of(step[FF__HLSH_PAGE + f] / unit);
    for (uint32_t d = 0; d < FF__WIDTH; d++)
        p->token_start[d] = -((int32_t)FF__OFFSET << p->shift[d / FF__PART]);
    p->answer_shift = log_of(FF__STEP_TOKEN / unit);
    int status = make_table(&p->page, &p->pages, w->of[FF__HLSH_PAGE], w->count[FF__HLSH_PAGE],
                            step[FF__HLSH_PAGE]);
    if (!status)
        status = make_table(&p->delta, &p->deltas, w->of[FF__HLSH_DELTA], w->count[FF__HLSH_DELTA],
                            step[FF__HLSH_DELTA]);
    if (!status)
        status = make_table(&p->pc, &p->pcs, w->of[FF__HLSH_PC], w->count[FF__HLSH_PC],
                            step[FF__HLSH_PC]);
    return status;
}

/* Where sums for a token in each slot start: offsets off, the slot's position in. */
static void place(int32_t start[FF__WINDOW][FF__WIDE], const struct matrix *m,
                  const struct ff__predictor *p, float unit) {
    for (uint32_t slot = 0; slot < FF__WINDOW; slot++) {
        float position[FF__WIDTH];
        ff__hlsh_position(slot, position);
        take_offsets(start[slot], m, p->shift);
        for (uint32_t i = 0; i < FF__WIDTH; i++)
            for (uint32_t o = 0; o < FF__WIDTH; o++)
                start[slot][o] +=
                    steps_of(position[i], unit) * steps_of(m->w[i * FF__WIDTH + o], m->step);
    }
}

static void make_projections(struct ff__predictor *p, const struct ff__hlsh_weights *w,
                             const float *step, float unit) {
    const struct matrix key = {w->of[FF__HLSH_KEY], FF__WIDTH, FF__WIDTH, step[FF__HLSH_KEY]};
    const struct matrix query = {w->of[FF__HLSH_QUERY], FF__WIDTH, FF__WIDTH, step[FF__HLSH_QUERY]};
    const struct matrix value = {w->of[FF__HLSH_VALUE], FF__WIDTH, FF__WIDTH, step[FF__HLSH_VALUE]};
    put_quads(p->to_key, FF__WIDE, &key);
    put_quads(p->to_value, FF__WIDE, &value);
    take_offsets(p->value_start, &value, p->shift);
    place(p->key_start, &key, p, unit);
    p->has_queries = w->count[FF__HLSH_QUERY] > 0;
    if (p->has_queries) {
        put_quads(p->to_query, FF__WIDE, &query);
        place(p->query_start, &query, p, unit);
    }
    p->key_scale = unit * key.step / FF__STEP_KEY;
    p->query_scale = unit * query.step / FF__STEP_KEY;
    p->value_scale = unit * value.step / FF__STEP_VALUE;
    p->weight_scale = FF__SCORE_SCALE * FF__STEP_KEY * FF__STEP_KEY * FF__WEIGHT_SCALE;
}

static void make_lsh(struct ff__predictor *p, enum ff__attends attends) {
    struct ff__lsh lsh;
    ff__lsh_init(&lsh);
    const struct matrix direction = {lsh.direction[0][0], FF__WIDTH, FF__LSH_ALONG, 1};
    put_quads(p->direction, FF__LSH_ALONG, &direction);
    take_offsets(p->direction_start, &direction, NULL);
    for (uint32_t slot = 0; slot < FF__SLOTS_WIDE; slot++) {
        bool there = slot < FF__WINDOW, shares = there && attends == FF__ATTENDS_HLSH;
        uint32_t compared = FF__WINDOW / 2 - (there && lsh.chosen[slot]);
        p->chosen[slot] = (int16_t)(there ? lsh.chosen[slot] : 0);
        p->far[slot] = (int16_t)(shares ? ff__lsh_far(compared) : INT16_MAX);
        p->close[slot] = (int16_t)(shares ? ff__lsh_close(compared) : -1);
    }
    for (uint32_t i = 0; i <= FF__LSH_ROUNDS; i++)
        p->logs[i] = (int16_t)ff__lsh_log[i];
}

/* How many equal deltas bypass attention. */
static uint32_t bypass_from(const struct ff__net *net) {
    if (net->type->attends == FF__ATTENDS_NOT)
        return 0;
    if (net->type->bypass_by_window)
        return FF__CONVERGED_WINDOW;
    return net->shape.converged ? 0 : FF__WINDOW + 1;
}

static void put_bias(float *to, const float *bias, uint32_t count, float step) {
    for (uint32_t i = 0; i < count; i++)
        to[i] = bias[i] / step;
}

static void make_layer(struct ff__predictor *p, const struct ff__hlsh_weights *w,
                       const float *step) {
    const struct matrix inner = {w->of[FF__HLSH_INNER], FF__WIDTH, FF__INNER, step[FF__HLSH_INNER]};
    const struct matrix outer = {w->of[FF__HLSH_OUTER], FF__INNER, FF__WIDTH, step[FF__HLSH_OUTER]};
    put_quads(p->to_inner, FF__INNER, &inner);
    take_offsets(p->inner_start, &inner, NULL);
    put_quads(p->to_outer, FF__WIDE, &outer);
    put_bias(p->inner_bias, w->of[FF__HLSH_INNER_BIAS], FF__INNER, FF__STEP_INNER);
    put_bias(p->outer_bias, w->of[FF__HLSH_OUTER_BIAS], FF__WIDTH, FF__STEP_TOKEN);
    p->inner_scale = FF__STEP_TOKEN * inner.step / FF__STEP_INNER;
    p->outer_scale = FF__STEP_INNER * outer.step / FF__STEP_TOKEN;
}

static void make_mix(struct ff__predictor *p, const struct ff__hlsh_weights *w, const float *step,
                     float unit) {
    const struct matrix mix = {w->of[FF__HLSH_MIX], FF__OUTPUTS, FF__HIDDEN, step[FF__HLSH_MIX]};
    put_quads(p->mix, FF__HIDDEN, &mix);
    take_offsets(p->mix_start, &mix, p->shift);
    put_bias(p->mix_bias, w->of[FF__HLSH_MIX_BIAS], FF__HIDDEN, FF__STEP_HIDDEN);
    p->mix_scale = unit * mix.step / FF__STEP_HIDDEN;
}

/* In whole blocks of classes; those that are only there to fill one never win. */
static void name_classes(struct ff__predictor *p, const float *bias, const int32_t *start) {
    for (uint32_t c = 0; c < p->class_blocks * FF__WIDE; c++) {
        int32_t steps = NEVER;
        if (c < p->classes)
            steps = steps_of(bias[c], FF__STEP_LOGIT) + start[c] * (1 << p->class_shift);
        p->class_name[c] = steps * (int32_t)FF__CLASSES_MAX + (int32_t)(FF__CLASSES_MAX - 1 - c);
    }
    p->class_shift += log_of((float)FF__CLASSES_MAX);
}

static int make_classes(struct ff__predictor *p, const struct ff__hlsh_weights *w, float step,
                        uint32_t seen) {
    const struct matrix all = {w->of[FF__HLSH_CLASSES], seen, p->classes, step};
    size_t block = (size_t)seen * FF__WIDE;
    p->class_blocks = (p->classes + FF__WIDE - 1) / FF__WIDE;
    p->class_quads = seen / FF__QUAD;
    p->to_classes = zeroed(p->class_blocks * block);
    p->class_name = zeroed(p->class_blocks * FF__WIDE * sizeof *p->class_name);
    int32_t *start = zeroed(p->class_blocks * FF__WIDE * sizeof *start);
    if (!p->to_classes || !p->class_name || !start) {
        free(start);
        return -ENOMEM;
    }
    for (uint32_t c = 0; c < p->classes; c++)
        for (uint32_t i = 0; i < seen; i++)
            p->to_classes[(size_t)c / FF__WIDE * block +
                          ((size_t)i / FF__QUAD * FF__WIDE + c % FF__WIDE) * FF__QUAD +
                          i % FF__QUAD] = (int8_t)steps_of(all.w[(size_t)i * p->classes + c], step);
    if (p->encodes)
        take_offsets(start, &all, NULL); /* hidden numbers have none */
    p->class_shift =
        log_of((p->encodes ? FF__STEP_TOKEN : FF__STEP_HIDDEN) * step / FF__STEP_LOGIT);
    name_classes(p, w->of[FF__HLSH_CLASSES_BIAS], start);
    free(start);
    return 0;
}

static int make(struct ff__predictor *p, const struct ff__hlsh_weights *w, const float *step,
                const struct ff__net *net) {
    float unit = find_unit(step);
    int status = make_tables(p, w, step, unit);
    if (status)
        return status;
    p->encodes = net->type != &ff__net_window;
    if (p->encodes) {
        make_projections(p, w, step, unit);
        make_lsh(p, net->type->attends);
        make_layer(p, w, step);
        p->converged = bypass_from(net);
    } else {
        make_mix(p, w, step, unit);
    }
    return make_classes(p, w, step[FF__HLSH_CLASSES], ff__hlsh_seen(net->type));
}

bool ff__predictor_takes(const struct ff__net_type *type) {
    return ff__is_hlsh(type) && type->quantized;
}

int ff__predictor_init(struct ff__predictor *predictor, const struct ff__net *net) {
    struct ff__hlsh_weights w;
    float step[FF__HLSH_MATRICES];
    memset(predictor, 0, sizeof *predictor);
    if (!ff__predictor_takes(net->type))
        return -EINVAL;
    float *quantized = zeroed(net->param_count * sizeof *quantized);
    if (!quantized)
        return -ENOMEM;
    use_best(predictor);
    predictor->classes = net->shape.classes;
    ff__hlsh_quantize(net, quantized, step);
    ff__hlsh_map(&w, net->type, &net->shape, quantized);
    int status = make(predictor, &w, step, net);
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
    return sizeof *predictor + rows * FF__PART +
           predictor->class_blocks * FF__WIDE *
               (predictor->class_quads * FF__QUAD + sizeof *predictor->class_name);
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

/* Streams are seldom in the nearest cache: all of one is asked for at once. */
void ff__stream_push(const struct ff__predictor *predictor, struct ff__stream *stream,
                     const uint16_t ids[3]) {
    for (size_t at = 0; at < sizeof *stream; at += CACHE_LINE)
        __builtin_prefetch((const char *)stream + at);
    predictor->code->push(predictor, stream, ids);
}

uint32_t ff__stream_predict(const struct ff__predictor *predictor, const struct ff__stream *stream,
                            float *margin) {
    return predictor->code->predict(predictor, stream, margin);
}
