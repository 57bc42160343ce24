/* MobileNetV3-Large (Howard et al., 2019), as torchvision's: inverted residual blocks, some with squeeze and excitation,
 * ReLU or hard swish; SGD with momentum. */
#include "workload/dnn/network.h"

#define CLASSES 1000u
#define LAST    1280u

static const struct {
    uint64_t kernel, expanded, out, stride;
    bool squeezes, swishes;
} blocks[] = {
    {3, 16, 16, 1, false, false}, {3, 64, 24, 2, false, false}, {3, 72, 24, 1, false, false},
    {5, 72, 40, 2, true, false},  {5, 120, 40, 1, true, false}, {5, 120, 40, 1, true, false},
    {3, 240, 80, 2, false, true}, {3, 200, 80, 1, false, true}, {3, 184, 80, 1, false, true},
    {3, 184, 80, 1, false, true}, {3, 480, 112, 1, true, true}, {3, 672, 112, 1, true, true},
    {5, 672, 160, 2, true, true}, {5, 960, 160, 1, true, true}, {5, 960, 160, 1, true, true},
};

enum activation { NONE, RELU, SWISH };

/* Convolution, batch normalisation and activation. Leaves x. */
static struct ff__images layer(struct ff__tape *tape, struct ff__images x,
                               const struct ff__conv *conv, enum activation activation) {
    struct ff__images y = ff__layer_conv(tape, x, conv), z = ff__layer_batch_norm(tape, y);
    ff__tensor_drop(tape, y.tensor);
    if (activation == RELU)
        ff__layer_relu(tape, z.tensor);
    if (activation != SWISH)
        return z;
    y = z;
    y.tensor = ff__layer_map(tape, "hardswish", z.tensor, FF__KEEPS_IN, 0);
    ff__tensor_drop(tape, z.tensor);
    return y;
}

static struct ff__images layer_after(struct ff__tape *tape, struct ff__images x,
                                     const struct ff__conv *conv, enum activation activation) {
    struct ff__images y = layer(tape, x, conv, activation);
    ff__tensor_drop(tape, x.tensor);
    return y;
}

/* The factors are a few numbers an image: what takes time is the product. Drops x. */
static struct ff__images squeeze(struct ff__tape *tape, struct ff__images x) {
    struct ff__images y = x, mean = ff__layer_mean_pool(tape, x);
    uint64_t width = (x.c / 4 + 7) / 8 * 8;
    uint32_t less = ff__layer_linear(tape, mean.tensor, x.n, x.c, width, true, false);
    ff__layer_relu(tape, less);
    uint32_t more = ff__layer_linear(tape, less, x.n, width, x.c, true, false);
    y.tensor = ff__layer_map(tape, "scale", x.tensor, FF__KEEPS_IN, 0);
    ff__tensor_drop(tape, mean.tensor);
    ff__tensor_drop(tape, less);
    ff__tensor_drop(tape, more);
    ff__tensor_drop(tape, x.tensor);
    return y;
}

static struct ff__conv point_wise(uint64_t out) {
    return (struct ff__conv){.out = out, .kernel = 1, .stride = 1, .groups = 1};
}

/* Drops x. */
static struct ff__images block(struct ff__tape *tape, struct ff__images x, size_t i) {
    enum activation activation = blocks[i].swishes ? SWISH : RELU;
    struct ff__conv expand = point_wise(blocks[i].expanded), project = point_wise(blocks[i].out);
    const struct ff__conv deep = {.out = blocks[i].expanded,
                                  .kernel = blocks[i].kernel,
                                  .stride = blocks[i].stride,
                                  .pad = blocks[i].kernel / 2,
                                  .groups = blocks[i].expanded};
    bool expands = blocks[i].expanded != x.c, adds = blocks[i].stride == 1 && blocks[i].out == x.c;
    struct ff__images y = expands ? layer(tape, x, &expand, activation) : x;
    y = expands ? layer_after(tape, y, &deep, activation) : layer(tape, y, &deep, activation);
    if (blocks[i].squeezes)
        y = squeeze(tape, y);
    y = layer_after(tape, y, &project, NONE);
    if (adds)
        ff__layer_add_to(tape, y.tensor, x.tensor);
    ff__tensor_drop(tape, x.tensor);
    return y;
}

static void train(struct ff__tape *tape, const struct ff__network *network,
                  const struct ff__iteration *iteration) {
    struct ff__images x = {0, iteration->batch, 3, iteration->length, iteration->length};
    const struct ff__conv first = {
        .out = 16, .kernel = 3, .stride = 2, .pad = 1, .groups = 1, .data = true};
    struct ff__conv last = point_wise(960);
    (void)network;
    x.tensor = ff__tensor_new(tape, x.n * x.c * x.h * x.w);
    ff__kernel_map(tape, "copy", FF__NO_TENSOR, FF__NO_TENSOR, FF__NO_TENSOR, x.tensor);
    x = layer_after(tape, x, &first, SWISH);
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
        x = block(tape, x, i);
    x = layer_after(tape, x, &last, SWISH);
    struct ff__images y = ff__layer_mean_pool(tape, x);
    ff__tensor_drop(tape, x.tensor);
    uint32_t wide = ff__layer_linear(tape, y.tensor, y.n, y.c, LAST, true, false);
    ff__tensor_drop(tape, y.tensor);
    uint32_t swished = ff__layer_map(tape, "hardswish", wide, FF__KEEPS_IN, 0);
    ff__tensor_drop(tape, wide);
    uint32_t logits = ff__layer_linear(tape, swished, y.n, LAST, CLASSES, true, false);
    ff__tensor_drop(tape, swished);
    ff__sgd_train(tape, logits, y.n, iteration->states);
}

const struct ff__network ff__mobilenet_v3 = {.run = train};
