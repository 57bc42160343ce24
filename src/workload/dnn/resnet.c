/* ResNet (He et al., 2016) with bottlenecks, as torchvision's and timm's, trained by PyTorch's ImageNet
 * example: stride in the 3x3 convolution, ReLU in place, SGD with momentum. */
#include "workload/dnn/network.h"

#define CLASSES  1000u
#define EXPANDED 4u /* a bottleneck's result, times its width */

static struct ff__images conv_norm(struct ff__tape *tape, struct ff__images x, uint64_t out,
                                   uint64_t kernel, uint64_t stride, bool data) {
    const struct ff__conv conv = {.out = out,
                                  .kernel = kernel,
                                  .stride = stride,
                                  .pad = kernel / 2,
                                  .groups = 1,
                                  .data = data};
    struct ff__images y = ff__layer_conv(tape, x, &conv);
    struct ff__images z = ff__layer_batch_norm(tape, y);
    ff__tensor_drop(tape, y.tensor);
    return z;
}

static struct ff__images conv_relu(struct ff__tape *tape, struct ff__images x, uint64_t out,
                                   uint64_t kernel, uint64_t stride) {
    struct ff__images y = conv_norm(tape, x, out, kernel, stride, false);
    ff__layer_relu(tape, y.tensor);
    return y;
}

/* Drops x. */
static struct ff__images bottleneck(struct ff__tape *tape, struct ff__images x, uint64_t width,
                                    uint64_t stride) {
    struct ff__images a = conv_relu(tape, x, width, 1, 1);
    struct ff__images b = conv_relu(tape, a, width, 3, stride);
    ff__tensor_drop(tape, a.tensor);
    struct ff__images y = conv_norm(tape, b, EXPANDED * width, 1, 1, false), same = x;
    ff__tensor_drop(tape, b.tensor);
    bool changes = stride > 1 || x.c != EXPANDED * width;
    if (changes)
        same = conv_norm(tape, x, EXPANDED * width, 1, stride, false);
    ff__layer_add_to(tape, y.tensor, same.tensor);
    if (changes)
        ff__tensor_drop(tape, same.tensor);
    ff__layer_relu(tape, y.tensor);
    ff__tensor_drop(tape, x.tensor);
    return y;
}

static void train(struct ff__tape *tape, const struct ff__network *network,
                  const struct ff__iteration *iteration) {
    struct ff__images x = ff__layer_pictures(tape, iteration->batch, iteration->length);
    struct ff__images y = conv_norm(tape, x, 64, 7, 2, true);
    ff__layer_relu(tape, y.tensor);
    ff__tensor_drop(tape, x.tensor);
    x = ff__layer_max_pool(tape, y, 3, 2, 1);
    ff__tensor_drop(tape, y.tensor);
    for (uint64_t stage = 0; stage < 4; stage++)
        for (uint64_t i = 0; i < network->shape[stage]; i++)
            x = bottleneck(tape, x, UINT64_C(64) << stage, stage > 0 && i == 0 ? 2 : 1);
    y = ff__layer_mean_pool(tape, x);
    ff__tensor_drop(tape, x.tensor);
    uint32_t logits = ff__layer_linear(tape, y.tensor, y.n, y.c, CLASSES, true, false);
    ff__tensor_drop(tape, y.tensor);
    if (tape->infers) {
        ff__tensor_drop(tape, logits);
        return;
    }
    ff__sgd_train(tape, logits, y.n, iteration->states);
}

const struct ff__network ff__resnet50_inference = {
    .shape = {3, 4, 6, 3},
    .run = train,
    .infers = true,
};

const struct ff__network ff__resnet50 = {
    .shape = {3, 4, 6, 3},
    .run = train,
};

const struct ff__network ff__resnet101 = {
    .shape = {3, 4, 23, 3},
    .run = train,
};

const struct ff__network ff__resnet152 = {
    .shape = {3, 8, 36, 3},
    .run = train,
};

const struct ff__network ff__resnet200 = {
    .shape = {3, 24, 36, 3},
    .run = train,
};
