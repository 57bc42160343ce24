/* MobileNet (Howard et al., 2017), width 1.0: depthwise and pointwise convolutions in turn. */
#include "workload/dnn/network.h"

static const struct {
    uint64_t out, stride;
} pairs[] = {{64, 1},  {128, 2}, {128, 1}, {256, 2}, {256, 1},  {512, 2}, {512, 1},
             {512, 1}, {512, 1}, {512, 1}, {512, 1}, {1024, 2}, {1024, 1}};

/* Convolution, batch normalisation, ReLU; drops x. */
static struct ff__images layer(struct ff__tape *tape, struct ff__images x,
                               const struct ff__conv *conv) {
    struct ff__images y = ff__layer_conv(tape, x, conv), z = ff__layer_batch_norm(tape, y);
    ff__tensor_drop(tape, y.tensor);
    ff__layer_relu(tape, z.tensor);
    ff__tensor_drop(tape, x.tensor);
    return z;
}

static void train(struct ff__tape *tape, const struct ff__network *network,
                  const struct ff__iteration *iteration) {
    uint64_t classes = network->shape[0], first = network->shape[1];
    struct ff__images x = {0, iteration->batch, 3, iteration->length, iteration->length};
    x.tensor = ff__tensor_new(tape, x.n * x.c * x.h * x.w);
    ff__kernel_map(tape, "copy", FF__NO_TENSOR, FF__NO_TENSOR, FF__NO_TENSOR, x.tensor);
    x = layer(tape, x,
              &(struct ff__conv){
                  .out = 32, .kernel = 3, .stride = first, .pad = 1, .groups = 1, .data = true});
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        const struct ff__conv deep = {
            .out = x.c, .kernel = 3, .stride = pairs[i].stride, .pad = 1, .groups = x.c};
        x = layer(tape, x, &deep);
        const struct ff__conv point = {.out = pairs[i].out, .kernel = 1, .stride = 1, .groups = 1};
        x = layer(tape, x, &point);
    }
    struct ff__images y = ff__layer_mean_pool(tape, x);
    ff__tensor_drop(tape, x.tensor);
    uint32_t logits = ff__layer_linear(tape, y.tensor, y.n, y.c, classes, true, false);
    ff__tensor_drop(tape, y.tensor);
    ff__sgd_train(tape, logits, y.n, iteration->states);
}

const struct ff__network ff__mobilenet = {
    .shape = {100,
              1}, /* as is usual for images of 32 x 32, the first convolution keeps their size */
    .run = train,
};
