/* Layers of images. */
#include "workload/dnn/operation.h"

#include "workload/dnn/nest.h"

#define NONE       FF__NO_TENSOR
#define WINDOW_MAX (UINT64_C(1) << 16)
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

/* A batch of square pictures of three colours, which comes from the host each time. */
void ff__op_pictures(struct ff__operation_call *call) {
    const struct ff__iteration *iteration = call->iteration;
    struct ff__images x =
        new_images(call->tape, iteration->batch, 3, iteration->length, iteration->length);
    ff__kernel_map(call->tape, "copy", NONE, NONE, NONE, x.tensor);
    call->out[0] = (struct ff__value){x, .data = true};
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

/* What a convolution of 3 by 3 pixels takes for Winograd's transforms, until it has ended, where
 * workspaces are modelled (cuDNN's algorithm WINOGRAD_NONFUSED; PyTorch 1.8 takes whichever cuDNN
 * names first, whatever memory it needs): tiles of 4 by 4 pixels become 6 by 6, of what comes in
 * and of what goes out (Lavin and Gray, CVPR 2016). That all convolutions with a stride of 1 are
 * made so, and no others, is ours. */
static uint32_t workspace_of(struct ff__tape *tape, const uint64_t *size) {
    bool is_winograd = size[KERNEL] == 9 && size[GROUPS] == 1 && size[IN_PLANE] == size[OUT_PLANE];
    if (!tape->workspaces || !is_winograd)
        return NONE;
    return ff__tensor_new(tape, size[N] * (size[IN] + size[OUT]) * size[IN_PLANE] * 36 / 16);
}

static void use_workspace(struct ff__tape *tape, uint32_t workspace) {
    if (workspace != NONE)
        ff__kernel_uses(tape, workspace, true, 2); /* written, and read */
}

static void end_workspace(struct ff__tape *tape, uint32_t workspace) {
    if (workspace != NONE)
        ff__tensor_drop(tape, workspace);
}

/* A depthwise one does so little with each byte that memory sets its time. */
static void convolve(struct ff__tape *tape, const char *name, uint32_t x, uint32_t y,
                     const uint64_t *size, bool back) {
    uint32_t workspace = workspace_of(tape, size);
    ff__kernel_begin(tape, name, flops_of(size) / FF__CONV_SHARE);
    read_planes(tape, x, size, back);
    ff__kernel_uses(tape, (uint32_t)size[WEIGHT], false, 1);
    use_workspace(tape, workspace);
    write_planes(tape, y, size, !back);
    ff__kernel_end(tape);
    end_workspace(tape, workspace);
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
    uint32_t workspace = workspace_of(tape, size);
    ff__kernel_begin(tape, "conv_wgrad", flops_of(size) / FF__CONV_SHARE);
    read_slices(tape, node->saved[0], tape->grad, size);
    use_workspace(tape, workspace);
    ff__kernel_uses(tape, dw, true, 1);
    ff__kernel_end(tape);
    end_workspace(tape, workspace);
    ff__grad_give(tape, weight, dw);
    if (bias == NONE)
        return;
    uint32_t db = ff__tensor_new(tape, size[OUT]);
    ff__kernel_map(tape, "conv_bias_grad", tape->grad, NONE, NONE, db);
    ff__grad_give(tape, bias, db);
}

/* Options of convolutions and pools. */
enum { O_KERNEL, O_STRIDE, O_PAD, O_GROUPS, O_BIAS, O_TRANSPOSED };

/* A side of what a window makes of a side; one of zero or less wraps around. */
static uint64_t side_of(const struct ff__operation_call *call, uint64_t side) {
    uint64_t kernel = ff__option(call, O_KERNEL, 1), stride = ff__option(call, O_STRIDE, 1);
    uint64_t pad = ff__option(call, O_PAD, 0);
    if (kernel - 1 >= WINDOW_MAX || stride - 1 >= WINDOW_MAX || pad > WINDOW_MAX) {
        call->tape->wrong = "kernel and stride must be 1 to 65536, pad up to 65536";
        return 1;
    }
    return ff__has(call, O_TRANSPOSED) ? (side - 1) * stride + kernel - 2 * pad
                                       : (side + 2 * pad - kernel) / stride + 1;
}

void ff__op_conv(struct ff__operation_call *call) {
    struct ff__tape *tape = call->tape;
    const struct ff__images x = call->in[0]->is;
    uint64_t h = side_of(call, x.h), w = side_of(call, x.w), out = call->number[0];
    uint64_t groups = ff__option(call, O_GROUPS, 1), kernel = ff__option(call, O_KERNEL, 1);
    if (!tape->wrong && (groups == 0 || x.c % groups || out % groups))
        tape->wrong = "groups must divide the channels before and after";
    if (tape->wrong || !ff__fits(tape, out, x.c / groups) ||
        !ff__fits(tape, out * (x.c / groups), kernel * kernel))
        return;
    kernel *= kernel;
    uint32_t weight = ff__tape_param(tape, out * (x.c / groups) * kernel);
    uint32_t bias = ff__has(call, O_BIAS) ? ff__tape_param(tape, out) : NONE;
    struct ff__images y = new_images(tape, x.n, out, h, w);
    const struct ff__node node = {.backward = conv_back,
                                  .in = {call->in[0]->data ? NONE : x.tensor},
                                  .out = y.tensor,
                                  .saved = {x.tensor},
                                  .size = {weight, bias, x.n, x.c, x.h * x.w, y.c, y.h * y.w,
                                           kernel, groups, ff__has(call, O_TRANSPOSED)}};
    convolve(tape, "conv", x.tensor, y.tensor, node.size, false);
    ff__tape_node(tape, &node);
    call->out[0].is = y;
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

/* In evaluation mode its moments are constants, which are left out. */
void ff__op_batch_norm(struct ff__operation_call *call) {
    struct ff__tape *tape = call->tape;
    const struct ff__images x = call->in[0]->is;
    uint32_t gain = ff__tape_param(tape, x.c), shift = ff__tape_param(tape, x.c);
    struct ff__images y = new_images(tape, x.n, x.c, x.h, x.w);
    call->out[0].is = y;
    if (tape->infers) {
        ff__kernel_map(tape, "batch_norm", x.tensor, gain, shift, y.tensor);
        return;
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
}

/* ---- pools ---- */

static void pool_back(struct ff__tape *tape, const struct ff__node *node) {
    uint32_t dx = ff__tensor_new(tape, node->size[0]);
    ff__kernel_map(tape, node->name, tape->grad, node->saved[0], NONE, dx);
    if (node->saved[1] != NONE)
        ff__kernel_unread(tape, node->saved[1]);
    ff__grad_give(tape, node->in[0], dx);
}

/* Keeps eight bytes an output that say which input it was, and the input, of which only the shape
 * is asked for. */
void ff__op_max_pool(struct ff__operation_call *call) {
    struct ff__tape *tape = call->tape;
    const struct ff__images x = call->in[0]->is;
    struct ff__images y = new_images(tape, x.n, x.c, side_of(call, x.h), side_of(call, x.w));
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
    call->out[0].is = y;
}

void ff__op_mean_pool(struct ff__operation_call *call) {
    struct ff__tape *tape = call->tape;
    const struct ff__images x = call->in[0]->is;
    struct ff__images y = new_images(tape, x.n, x.c, 1, 1);
    ff__kernel_map(tape, "mean", x.tensor, NONE, NONE, y.tensor);
    ff__tape_node(tape, &(struct ff__node){.backward = pool_back,
                                           .name = "mean_backward",
                                           .in = {x.tensor},
                                           .out = y.tensor,
                                           .size = {count_of(&x)}});
    call->out[0].is = y;
}
