/* The unconstrained predictor (section 4 of the paper): an encoder-only Transformer over all 13
 * features, 200 wide, two layers, sinusoidal positions.
 *
 * Ours, where the paper says nothing: 8 heads, a feed-forward layer of twice the width,
 * normalization before each part and at the end (it trains without care), and classes from the
 * newest token's encoding. */
#include "learn/train/layers.h"
#include "learn/train/nets.h"

#include <math.h>
#include <string.h>

#define WIDTH  200u
#define LAYERS 2u
#define HEADS  8u
#define INNER  (2 * WIDTH)
#define PART   15u /* of the width, each feature's; the delta's is what is left */

/* ---- parameters ---- */

struct norm {
    float *w, *b;
};

struct linear {
    float *w, *b;
};

struct layer {
    struct norm before_attention, before_feed;
    struct linear qkv, project, inner, outer;
};

struct transformer_weights {
    float *embed;
    struct layer layer[LAYERS];
    struct norm end;
    struct linear classes;
};

static struct ff__embedding embedding_of(const struct ff__shape *shape) {
    struct ff__embedding embedding = {.features = FF__FEATURES, .width = WIDTH};
    for (uint32_t f = 0; f < FF__FEATURES; f++) {
        embedding.feature[f] = (enum ff__feature)f;
        embedding.part[f] = f == FF__FEATURE_DELTA ? WIDTH - (FF__FEATURES - 1) * PART : PART;
        embedding.ids[f] = shape->ids[f];
    }
    return embedding;
}

static void map_norm(struct norm *norm, struct ff__pieces *pieces) {
    norm->w = ff__piece(pieces, WIDTH);
    norm->b = ff__piece(pieces, WIDTH);
}

static void map_linear(struct linear *linear, struct ff__pieces *pieces, size_t in, size_t out) {
    linear->w = ff__piece(pieces, in * out);
    linear->b = ff__piece(pieces, out);
}

static size_t map_weights(struct transformer_weights *w, const struct ff__shape *shape,
                          float *base) {
    struct ff__pieces pieces = {base, 0};
    struct ff__embedding embedding = embedding_of(shape);
    w->embed = ff__piece(&pieces, ff__embedding_params(&embedding));
    for (uint32_t l = 0; l < LAYERS; l++) {
        struct layer *layer = &w->layer[l];
        map_norm(&layer->before_attention, &pieces);
        map_linear(&layer->qkv, &pieces, WIDTH, 3 * WIDTH);
        map_linear(&layer->project, &pieces, WIDTH, WIDTH);
        map_norm(&layer->before_feed, &pieces);
        map_linear(&layer->inner, &pieces, WIDTH, INNER);
        map_linear(&layer->outer, &pieces, INNER, WIDTH);
    }
    map_norm(&w->end, &pieces);
    map_linear(&w->classes, &pieces, WIDTH, shape->classes);
    return pieces.used;
}

/* ---- work space ---- */

/* What a layer's backward needs; all [rows][..], from `attended` on only those of tokens that ask:
 * in the last layer the newest, because nothing looks at what becomes of the others. */
struct kept {
    float *in, *unit, *stats; /* before attention */
    float *qkv, *weights, *attended;
    float *middle, *unit2, *stats2; /* before the feed-forward */
    float *inner;
};

struct transformer_space {
    struct kept kept[LAYERS];
    float *out, *stats, *unit;   /* after the layers */
    float *dx, *da, *db, *dwide; /* gradients: by rows of width, width, width and 3 width */
    float *dunit;
};

static uint32_t asking(uint32_t layer) {
    return layer + 1 < LAYERS ? FF__WINDOW : 1;
}

static size_t map_work(struct transformer_space *work, uint32_t capacity, float *base) {
    struct ff__pieces pieces = {base, 0};
    size_t rows = (size_t)capacity * FF__WINDOW, wide = rows * WIDTH;
    for (uint32_t l = 0; l < LAYERS; l++) {
        struct kept *kept = &work->kept[l];
        kept->in = ff__piece(&pieces, wide);
        kept->unit = ff__piece(&pieces, wide);
        kept->stats = ff__piece(&pieces, 2 * rows);
        kept->qkv = ff__piece(&pieces, 3 * wide);
        size_t asked = (size_t)capacity * asking(l);
        kept->weights = ff__piece(&pieces, asked * FF__WINDOW * HEADS);
        kept->attended = ff__piece(&pieces, asked * WIDTH);
        kept->middle = ff__piece(&pieces, asked * WIDTH);
        kept->unit2 = ff__piece(&pieces, asked * WIDTH);
        kept->stats2 = ff__piece(&pieces, 2 * asked);
        kept->inner = ff__piece(&pieces, asked * INNER);
    }
    work->out = ff__piece(&pieces, (size_t)capacity * WIDTH);
    work->stats = ff__piece(&pieces, 2 * (size_t)capacity);
    work->unit = ff__piece(&pieces, (size_t)capacity * WIDTH);
    work->dx = ff__piece(&pieces, wide);
    work->da = ff__piece(&pieces, wide);
    work->db = ff__piece(&pieces, wide);
    work->dwide = ff__piece(&pieces, 3 * wide);
    work->dunit = ff__piece(&pieces, (size_t)capacity * WIDTH);
    return pieces.used;
}

static size_t param_count(const struct ff__net_type *type, const struct ff__shape *shape) {
    (void)type;
    struct transformer_weights w;
    return map_weights(&w, shape, NULL);
}

static size_t work_size(const struct ff__net_type *type, const struct ff__shape *shape,
                        uint32_t capacity) {
    (void)type;
    struct transformer_space work;
    (void)shape;
    return map_work(&work, capacity, NULL);
}

static void init_norm(struct norm *norm) {
    for (uint32_t i = 0; i < WIDTH; i++)
        norm->w[i] = 1;
}

static void init(struct ff__net *net, struct ff__random *random) {
    struct transformer_weights w;
    struct ff__embedding embedding = embedding_of(&net->shape);
    map_weights(&w, &net->shape, net->params);
    ff__net_uniform(w.embed, ff__embedding_params(&embedding), 1, random);
    for (uint32_t l = 0; l < LAYERS; l++) {
        struct layer *layer = &w.layer[l];
        init_norm(&layer->before_attention);
        init_norm(&layer->before_feed);
        ff__net_fill(layer->qkv.w, WIDTH, 3 * WIDTH, random);
        ff__net_fill(layer->project.w, WIDTH, WIDTH, random);
        ff__net_fill(layer->inner.w, WIDTH, INNER, random);
        ff__net_fill(layer->outer.w, INNER, WIDTH, random);
    }
    init_norm(&w.end);
    ff__net_fill(w.classes.w, WIDTH, net->shape.classes, random);
}

/* ---- forward ---- */

/* Vaswani et al. 2017, section 3.5 */
static void add_positions(float *x, size_t sequences) {
    float position[FF__WINDOW][WIDTH];
    for (uint32_t t = 0; t < FF__WINDOW; t++)
        for (uint32_t i = 0; i < WIDTH / 2; i++) {
            double angle = t / pow(10000, 2.0 * i / WIDTH);
            position[t][2 * i] = (float)sin(angle);
            position[t][2 * i + 1] = (float)cos(angle);
        }
    for (size_t s = 0; s < sequences; s++)
        for (size_t i = 0; i < FF__WINDOW * WIDTH; i++)
            x[s * FF__WINDOW * WIDTH + i] += position[i / WIDTH][i % WIDTH];
}

static void add(float *y, const float *x, size_t count) {
    for (size_t i = 0; i < count; i++)
        y[i] += x[i];
}

/* The rows of the last `asking` tokens of each sequence, out of all or back into zeros. */
static void pick(float *asked, const float *all, size_t sequences, size_t asking_tokens) {
    size_t count = asking_tokens * WIDTH, whole = FF__WINDOW * WIDTH;
    for (size_t s = 0; s < sequences; s++)
        memcpy(asked + s * count, all + (s + 1) * whole - count, count * sizeof *all);
}

static void add_to_asking(float *all, const float *asked, size_t sequences, size_t asking_tokens) {
    size_t count = asking_tokens * WIDTH, whole = FF__WINDOW * WIDTH;
    for (size_t s = 0; s < sequences; s++)
        add(all + (s + 1) * whole - count, asked + s * count, count);
}

/* The products of a layer for so many sequences. */
struct sizes {
    uint32_t rows, asked;
    struct ff__attention attention;
    struct ff__linear qkv, project, inner, outer;
};

static struct sizes sizes_of(uint32_t sequences, uint32_t asking_tokens) {
    uint32_t rows = sequences * FF__WINDOW, asked = sequences * asking_tokens;
    return (struct sizes){
        .rows = rows,
        .asked = asked,
        .attention = {sequences, FF__WINDOW, asking_tokens, WIDTH, HEADS},
        .qkv = {rows, WIDTH, 3 * WIDTH},
        .project = {asked, WIDTH, WIDTH},
        .inner = {asked, WIDTH, INNER},
        .outer = {asked, INNER, WIDTH},
    };
}

static void layer_forward(const struct layer *w, const struct kept *kept, float *out,
                          uint32_t sequences, uint32_t asking_tokens) {
    const struct sizes sizes = sizes_of(sequences, asking_tokens);
    size_t asked = sizes.asked;
    ff__norm_forward(kept->unit, kept->stats, kept->in, w->before_attention.w,
                     w->before_attention.b, sizes.rows, WIDTH);
    ff__linear_forward(&sizes.qkv, kept->qkv, kept->unit, w->qkv.w, w->qkv.b);
    ff__attention_forward(&sizes.attention, kept->attended, kept->weights, kept->qkv);
    ff__linear_forward(&sizes.project, kept->middle, kept->attended, w->project.w, w->project.b);
    pick(out, kept->in, sequences, asking_tokens);
    add(kept->middle, out, asked * WIDTH);
    ff__norm_forward(kept->unit2, kept->stats2, kept->middle, w->before_feed.w, w->before_feed.b,
                     asked, WIDTH);
    ff__linear_forward(&sizes.inner, kept->inner, kept->unit2, w->inner.w, w->inner.b);
    ff__relu_forward(kept->inner, asked * INNER);
    ff__linear_forward(&sizes.outer, out, kept->inner, w->outer.w, w->outer.b);
    add(out, kept->middle, asked * WIDTH);
}

static void forward(struct ff__net *net, const struct ff__batch *batch, float *logits) {
    struct transformer_weights w;
    struct transformer_space work;
    struct ff__embedding embedding = embedding_of(&net->shape);
    uint32_t n = batch->count;
    const struct ff__linear classes = {n, WIDTH, net->shape.classes};
    map_weights(&w, &net->shape, net->params);
    map_work(&work, net->capacity, net->work);
    ff__embedding_forward(&embedding, work.kept[0].in, batch->ids[0], (size_t)n * FF__WINDOW,
                          w.embed);
    add_positions(work.kept[0].in, n);
    for (uint32_t l = 0; l < LAYERS; l++)
        layer_forward(&w.layer[l], &work.kept[l], l + 1 < LAYERS ? work.kept[l + 1].in : work.out,
                      n, asking(l));
    ff__norm_forward(work.unit, work.stats, work.out, w.end.w, w.end.b, n, WIDTH);
    ff__linear_forward(&classes, logits, work.unit, w.classes.w, w.classes.b);
}

static void attention(const struct ff__net *net, uint32_t sample, uint32_t head,
                      float weights[FF__WINDOW][FF__WINDOW]) {
    const size_t size = FF__WINDOW * sizeof weights[0];
    struct transformer_space work;
    map_work(&work, net->capacity, net->work);
    memcpy(weights, work.kept[0].weights + ((size_t)sample * HEADS + head) * size / sizeof(float),
           size);
}

/* ---- backward ---- */

/* work->dx: by the layer's output, then by its input. */
static void layer_backward(const struct layer *w, const struct layer *d, const struct kept *kept,
                           const struct transformer_space *work, uint32_t sequences,
                           uint32_t asking_tokens) {
    const struct sizes sizes = sizes_of(sequences, asking_tokens);
    size_t asked = sizes.asked;
    ff__linear_backward(&sizes.outer, work->dwide, d->outer.w, d->outer.b, work->dx, kept->inner,
                        w->outer.w);
    ff__relu_backward(work->dwide, kept->inner, asked * INNER);
    ff__linear_backward(&sizes.inner, work->da, d->inner.w, d->inner.b, work->dwide, kept->unit2,
                        w->inner.w);
    ff__norm_backward(work->db, d->before_feed.w, d->before_feed.b, work->da, kept->stats2,
                      kept->middle, w->before_feed.w, asked, WIDTH);
    add(work->dx, work->db, asked * WIDTH);
    ff__linear_backward(&sizes.project, work->da, d->project.w, d->project.b, work->dx,
                        kept->attended, w->project.w);
    ff__attention_backward(&sizes.attention, work->dwide, work->da, kept->weights, kept->qkv);
    ff__linear_backward(&sizes.qkv, work->da, d->qkv.w, d->qkv.b, work->dwide, kept->unit,
                        w->qkv.w);
    ff__norm_backward(work->db, d->before_attention.w, d->before_attention.b, work->da, kept->stats,
                      kept->in, w->before_attention.w, sizes.rows, WIDTH);
    add_to_asking(work->db, work->dx, sequences, asking_tokens);
    memcpy(work->dx, work->db, (size_t)sizes.rows * WIDTH * sizeof(float));
}

static void backward(struct ff__net *net, const struct ff__batch *batch, const float *dlogits) {
    struct transformer_weights w, d;
    struct transformer_space work;
    struct ff__embedding embedding = embedding_of(&net->shape);
    uint32_t n = batch->count;
    const struct ff__linear classes = {n, WIDTH, net->shape.classes};
    map_weights(&w, &net->shape, net->params);
    map_weights(&d, &net->shape, net->grads);
    map_work(&work, net->capacity, net->work);
    ff__linear_backward(&classes, work.dunit, d.classes.w, d.classes.b, dlogits, work.unit,
                        w.classes.w);
    ff__norm_backward(work.dx, d.end.w, d.end.b, work.dunit, work.stats, work.out, w.end.w, n,
                      WIDTH);
    for (uint32_t l = LAYERS; l-- > 0;)
        layer_backward(&w.layer[l], &d.layer[l], &work.kept[l], &work, n, asking(l));
    ff__embedding_backward(&embedding, d.embed, work.dx, batch->ids[0], (size_t)n * FF__WINDOW);
}

const struct ff__net_type ff__net_transformer = {
    .name = "transformer",
    .summary = "the paper's unconstrained predictor: 13 features, 200 wide, two layers, 8 heads",
    .batch = 32,
    .steps = 1500,
    .rate = 0.001f,
    .params = param_count,
    .work = work_size,
    .init = init,
    .forward = forward,
    .backward = backward,
    .attention = attention,
    .heads = HEADS,
};
