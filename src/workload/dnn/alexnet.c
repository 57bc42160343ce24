/* AlexNet (Krizhevsky, 2014) as torchvision has it: inference. */
#include "workload/dnn/network.h"

#define CLASSES 1000u
#define HIDDEN  4096u

/* Drops x. */
static struct ff__images conv_relu(struct ff__tape *tape, struct ff__images x,
                                   const struct ff__conv *conv, bool pool) {
    struct ff__images y = ff__layer_conv(tape, x, conv), z = y;
    ff__tensor_drop(tape, x.tensor);
    ff__layer_relu(tape, y.tensor);
    if (!pool)
        return y;
    z = ff__layer_max_pool(tape, y, 3, 2, 0);
    ff__tensor_drop(tape, y.tensor);
    return z;
}

/* Drops x. */
static uint32_t linear(struct ff__tape *tape, uint32_t x, uint64_t rows, uint64_t in,
                       uint64_t out) {
    uint32_t y = ff__layer_linear(tape, x, rows, in, out, true, false);
    ff__tensor_drop(tape, x);
    return y;
}

static void infer(struct ff__tape *tape, const struct ff__network *network,
                  const struct ff__iteration *iteration) {
    static const struct ff__conv convs[] = {
        {.out = 64, .kernel = 11, .stride = 4, .pad = 2, .groups = 1, .bias = true, .data = true},
        {.out = 192, .kernel = 5, .stride = 1, .pad = 2, .groups = 1, .bias = true},
        {.out = 384, .kernel = 3, .stride = 1, .pad = 1, .groups = 1, .bias = true},
        {.out = 256, .kernel = 3, .stride = 1, .pad = 1, .groups = 1, .bias = true},
        {.out = 256, .kernel = 3, .stride = 1, .pad = 1, .groups = 1, .bias = true},
    };
    struct ff__images x = ff__layer_pictures(tape, iteration->batch, iteration->length);
    (void)network;
    for (unsigned i = 0; i < 5; i++)
        x = conv_relu(tape, x, &convs[i], i < 2 || i == 4);
    uint32_t y = linear(tape, x.tensor, x.n, x.c * x.h * x.w, HIDDEN);
    ff__layer_relu(tape, y);
    y = linear(tape, y, x.n, HIDDEN, HIDDEN);
    ff__layer_relu(tape, y);
    ff__tensor_drop(tape, linear(tape, y, x.n, HIDDEN, CLASSES));
}

const struct ff__network ff__alexnet = {.run = infer, .infers = true};
