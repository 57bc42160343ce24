/* Layers of images. */
#include "workload/dnn/layers.h"

#include "workload/dnn/nest.h"

#define NONE       FF__NO_TENSOR
#define SIDE_MAX   (UINT64_C(1) << 32) /* far more than any has */
#define IMAGES_MAX 0x1p60              /* elements, whose bytes are still counted */

static uint64_t count_of(const struct ff__images *x) {
    return x->n * x->c * x->h * x->w;
}

/* A side that a layer leaves nothing of wraps around. */
static uint64_t check_side(struct ff__tape *tape, uint64_t side) {
    bool vanishes = side == 0 || side > SIDE_MAX;
    tape->wrong =
        vanishes ? "it leaves nothing of such images; larger ones are right" : tape->wrong;
    return vanishes ? 1 : side;
}

static struct ff__images new_images(struct ff__tape *tape, uint64_t n, uint64_t c, uint64_t h,
                                    uint64_t w) {
    struct ff__images images = {NONE, n, c, check_side(tape, h), check_side(tape, w)};
    if ((double)n * (double)c * (double)images.h * (double)images.w > IMAGES_MAX) {
        tape->wrong = "images of more than 2^60 elements";
        images = (struct ff__images){NONE, 1, 1, 1, 1};
    }
    images.tensor = ff__tensor_new(tape, count_of(&images));
    return images;
}

struct ff__images ff__layer_pictures(struct ff__tape *tape, uint64_t count, uint64_t side) {
    struct ff__images x = new_images(tape, count, 3, side, side);
    ff__kernel_map(tape, "copy", NONE, NONE, NONE, x.tensor);
    return x;
}

/* ---- convolution ---- */

enum { WEIGHT, BIAS, N, IN, IN_PLANE, OUT, OUT_PLANE, KERNEL, GROUPS, TRANSPOSED };

static void read_planes(struct ff__tape *tape, uint32_t x, const uint64_t *size, bool out) {
    struct ff__operand nest =
        ff__nest_conv_in(size[N], size[out ? OUT : IN], size[out ? OUT_PLANE : IN_PLANE]);
    ff__kernel_nest(tape, x, false, 1, &nest);
}

static void write_planes(struct ff__tape *tape, uint32_t y, const uint64_t *size, bool out) {
    struct ff__operand nest =
        ff__nest_conv_out(size[N], size[out ? OUT : IN], size[out ? OUT_PLANE : IN_PLANE]);
    ff__kernel_nest(tape, y, true, 1, &nest);
}

/* Both inputs of a weight gradient: tiles of input channels times taps, and of output channels. */
static void read_slices(struct ff__tape *tape, uint32_t x, uint32_t grad, const uint64_t *size) {
    uint64_t down = ff__nest_tiles(size[IN] / size[GROUPS] * size[KERNEL]);
    uint64_t across = ff__nest_tiles(size[OUT]), tiles = down * across;
    struct ff__operand nest =
        ff__nest_conv_weights(size[N], size[IN], size[IN_PLANE], tiles, across);
    ff__kernel_nest(tape, x, false, 1, &nest);
    nest = ff__nest_conv_weights(size[N], size[OUT], size[OUT_PLANE], tiles, down);
    ff__kernel_nest(tape, grad, false, 1, &nest);
}

static double flops_of(const uint64_t *size) {
    uint64_t pixels = size[TRANSPOSED] ? size[IN_PLANE] : size[OUT_PLANE];
    return 2.0 * (double)size[N] * (double)pixels * (double)size[OUT] *
           (double)(size[IN] / size[GROUPS]) * (double)size[KERNEL];
}

/* A depthwise one does so little with each byte that memory sets its time. */
static void convolve(struct ff__tape *tape, const char *name, uint32_t x, uint32_t y,
                     const uint64_t *size, bool back) {
    ff__kernel_begin(tape, name, flops_of(size) / FF__CONV_SHARE);
    read_planes(tape, x, size, back);
    ff__kernel_uses(tape, (uint32_t)size[WEIGHT], false, 1);
    write_planes(tape, y, size, !back);
    ff__kernel_end(tape);
}

static void conv_back(struct ff__tape *tape, const struct ff__node *node) {
    const uint64_t *size = node->size;
    uint32_t weight = (uint32_t)size[WEIGHT], bias = (uint32_t)size[BIAS];
    if (node->in[0] != NONE) {
        uint32_t dx = ff__tensor_new(tape, size[N] * size[IN] * size[IN_PLANE]);
        convolve(tape, "conv_dgrad", tape->grad, dx, size, true);
        ff__kernel_unread(tape, node->saved[0]); /* cudnn_convolution_backward() makes both */
        ff__grad_give(tape, node->in[0], dx);
    }
    uint32_t dw = ff__tensor_bytes(tape, tape->failed ? 1 : tape->tensors[weight].bytes);
    ff__kernel_begin(tape, "conv_wgrad", flops_of(size) / FF__CONV_SHARE);
    read_slices(tape, node->saved[0], tape->grad, size);
    ff__kernel_uses(tape, dw, true, 1);
    ff__kernel_end(tape);
    ff__grad_give(tape, weight, dw);
    if (bias == NONE)
        return;
    uint32_t db = ff__tensor_new(tape, size[OUT]);
    ff__kernel_map(tape, "conv_bias_grad", tape->grad, NONE, NONE, db);
    ff__grad_give(tape, bias, db);
}

static uint64_t side_of(uint64_t side, const struct ff__conv *conv) {
    return conv->transposed ? (side - 1) * conv->stride + conv->kernel - 2 * conv->pad
                            : (side + 2 * conv->pad - conv->kernel) / conv->stride + 1;
}

struct ff__images ff__layer_conv(struct ff__tape *tape, struct ff__images x,
                                 const struct ff__conv *conv) {
    uint64_t kernel = conv->kernel * conv->kernel;
    uint32_t weight = ff__tape_param(tape, conv->out * (x.c / conv->groups) * kernel);
    uint32_t bias = conv->bias ? ff__tape_param(tape, conv->out) : NONE;
    struct ff__images y = new_images(tape, x.n, conv->out, side_of(x.h, conv), side_of(x.w, conv));
    const struct ff__node node = {.backward = conv_back,
                                  .in = {conv->data ? NONE : x.tensor},
                                  .out = y.tensor,
                                  .saved = {x.tensor},
                                  .size = {weight, bias, x.n, x.c, x.h * x.w, y.c, y.h * y.w,
                                           kernel, conv->groups, conv->transposed}};
    convolve(tape, "conv", x.tensor, y.tensor, node.size, false);
    ff__tape_node(tape, &node);
    return y;
}

/* ---- batch normalisation: cuDNN's ---- */

enum { GAIN, SHIFT, BN_N, BN_C, BN_PLANE };

static void batch_norm_back(struct ff__tape *tape, const struct ff__node *node) {
    const uint64_t *size = node->size;
    struct ff__operand nest = ff__nest_channels(size[BN_N], size[BN_C], size[BN_PLANE]);
    uint32_t dx = ff__tensor_new(tape, size[BN_N] * size[BN_C] * size[BN_PLANE]);
    uint32_t dgain = ff__tensor_new(tape, size[BN_C]), dshift = ff__tensor_new(tape, size[BN_C]);
    ff__kernel_begin(tape, "batch_norm_backward", 0);
    ff__kernel_nest(tape, tape->grad, false, 2, &nest);
    ff__kernel_nest(tape, node->saved[0], false, 2, &nest);
    ff__kernel_nest(tape, dx, true, 1, &nest);
    ff__kernel_uses(tape, dgain, true, 1);
    ff__kernel_uses(tape, dshift, true, 1);
    ff__kernel_end(tape);
    ff__grad_give(tape, node->in[0], dx);
    ff__grad_give(tape, (uint32_t)size[GAIN], dgain);
    ff__grad_give(tape, (uint32_t)size[SHIFT], dshift);
}

struct ff__images ff__layer_batch_norm(struct ff__tape *tape, struct ff__images x) {
    uint32_t gain = ff__tape_param(tape, x.c), shift = ff__tape_param(tape, x.c);
    struct ff__images y = new_images(tape, x.n, x.c, x.h, x.w);
    if (tape->infers) {
        ff__kernel_map(tape, "batch_norm", x.tensor, gain, shift, y.tensor);
        return y;
    }
    uint32_t mean = ff__tensor_new(tape, x.c), var = ff__tensor_new(tape, x.c);
    struct ff__operand nest = ff__nest_channels(x.n, x.c, x.h * x.w);
    ff__kernel_begin(tape, "batch_norm", 0);
    ff__kernel_nest(tape, x.tensor, false, 2, &nest); /* the moments, then the rest */
    ff__kernel_nest(tape, y.tensor, true, 1, &nest);
    ff__kernel_uses(tape, mean, true, 1);
    ff__kernel_uses(tape, var, true, 1);
    ff__kernel_end(tape);
    ff__tape_node(tape, &(struct ff__node){.backward = batch_norm_back,
                                           .in = {x.tensor},
                                           .out = y.tensor,
                                           .saved = {x.tensor, mean, var},
                                           .size = {gain, shift, x.n, x.c, x.h * x.w}});
    ff__tensor_drop(tape, mean);
    ff__tensor_drop(tape, var);
    return y;
}

/* ---- pools ---- */

static void pool_back(struct ff__tape *tape, const struct ff__node *node) {
    uint32_t dx = ff__tensor_new(tape, node->size[0]);
    ff__kernel_map(tape, node->name, tape->grad, node->saved[0], NONE, dx);
    if (node->saved[1] != NONE)
        ff__kernel_unread(tape, node->saved[1]);
    ff__grad_give(tape, node->in[0], dx);
}

/* Keeps eight bytes an output that say which input it was, and the input, of which only the shape is
 * asked for. */
struct ff__images ff__layer_max_pool(struct ff__tape *tape, struct ff__images x, uint64_t kernel,
                                     uint64_t stride, uint64_t pad) {
    uint64_t h = (x.h + 2 * pad - kernel) / stride + 1, w = (x.w + 2 * pad - kernel) / stride + 1;
    struct ff__images y = new_images(tape, x.n, x.c, h, w);
    uint32_t which = ff__tensor_bytes(tape, count_of(&y) * 8);
    ff__kernel_begin(tape, "max_pool", 0);
    ff__kernel_uses(tape, x.tensor, false, 1);
    ff__kernel_uses(tape, y.tensor, true, 1);
    ff__kernel_uses(tape, which, true, 1);
    ff__kernel_end(tape);
    ff__tape_node(tape, &(struct ff__node){.backward = pool_back,
                                           .name = "max_pool_backward",
                                           .in = {x.tensor},
                                           .out = y.tensor,
                                           .saved = {which, x.tensor},
                                           .size = {count_of(&x)}});
    ff__tensor_drop(tape, which);
    return y;
}

struct ff__images ff__layer_mean_pool(struct ff__tape *tape, struct ff__images x) {
    struct ff__images y = new_images(tape, x.n, x.c, 1, 1);
    ff__kernel_map(tape, "mean", x.tensor, NONE, NONE, y.tensor);
    ff__tape_node(tape, &(struct ff__node){.backward = pool_back,
                                           .name = "mean_backward",
                                           .in = {x.tensor},
                                           .out = y.tensor,
                                           .size = {count_of(&x)}});
    return y;
}
