/* VGG16 (Simonyan and Zisserman, 2015) without batch normalisation, as torchvision's: ReLU in place, SGD with momentum. */
#include "workload/dnn/network.h"

#define CLASSES 1000u
#define HIDDEN  4096u

/* Convolutions of a stage, and their width. */
static const struct {
    uint64_t count, width;
} stages[] = {{2, 64}, {2, 128}, {3, 256}, {3, 512}, {3, 512}};

/* Drops x. */
static struct ff__images stage(struct ff__tape *tape, struct ff__images x, uint64_t count,
                               uint64_t width, bool first) {
    for (uint64_t i = 0; i < count; i++) {
        const struct ff__conv conv = {.out = width,
                                      .kernel = 3,
                                      .stride = 1,
                                      .pad = 1,
                                      .groups = 1,
                                      .bias = true,
                                      .data = first && i == 0};
        struct ff__images y = ff__layer_conv(tape, x, &conv);
        ff__layer_relu(tape, y.tensor);
        ff__tensor_drop(tape, x.tensor);
        x = y;
    }
    struct ff__images pooled = ff__layer_max_pool(tape, x, 2, 2, 0);
    ff__tensor_drop(tape, x.tensor);
    return pooled;
}

/* Drops x. */
static uint32_t hidden(struct ff__tape *tape, uint32_t x, uint64_t rows, uint64_t in) {
    uint32_t y = ff__layer_linear(tape, x, rows, in, HIDDEN, true, false);
    ff__tensor_drop(tape, x);
    ff__layer_relu(tape, y);
    uint32_t z = ff__layer_dropout(tape, y);
    ff__tensor_drop(tape, y);
    return z;
}

static void train(struct ff__tape *tape, const struct ff__network *network,
                  const struct ff__iteration *iteration) {
    struct ff__images x = {0, iteration->batch, 3, iteration->length, iteration->length};
    (void)network;
    x.tensor = ff__tensor_new(tape, x.n * x.c * x.h * x.w);
    ff__kernel_map(tape, "copy", FF__NO_TENSOR, FF__NO_TENSOR, FF__NO_TENSOR, x.tensor);
    for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++)
        x = stage(tape, x, stages[i].count, stages[i].width, i == 0);
    uint32_t y = hidden(tape, x.tensor, x.n, x.c * x.h * x.w);
    y = hidden(tape, y, x.n, HIDDEN);
    uint32_t logits = ff__layer_linear(tape, y, x.n, HIDDEN, CLASSES, true, false);
    ff__tensor_drop(tape, y);
    ff__sgd_train(tape, logits, x.n, iteration->states);
}

const struct ff__network ff__vgg16 = {.run = train};
