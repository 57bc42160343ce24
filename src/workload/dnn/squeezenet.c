/* SqueezeNet 1.1 (Iandola et al., 2016) as torchvision has it: inference. */
#include "workload/dnn/network.h"

#define CLASSES 1000u

static struct ff__images conv_relu(struct ff__tape *tape, struct ff__images x, uint64_t out,
                                   uint64_t kernel, uint64_t stride, bool data) {
    const struct ff__conv conv = {.out = out,
                                  .kernel = kernel,
                                  .stride = stride,
                                  .pad = data ? 0 : kernel / 2,
                                  .groups = 1,
                                  .bias = true,
                                  .data = data};
    struct ff__images y = ff__layer_conv(tape, x, &conv);
    ff__layer_relu(tape, y.tensor);
    return y;
}

/* Drops x. */
static struct ff__images pool(struct ff__tape *tape, struct ff__images x) {
    struct ff__images y = ff__layer_max_pool(tape, x, 3, 2, 0);
    ff__tensor_drop(tape, x.tensor);
    return y;
}

/* Squeezed to few channels, expanded by two convolutions, whose results lie side by side. Drops x. */
static struct ff__images fire(struct ff__tape *tape, struct ff__images x, uint64_t squeezed,
                              uint64_t expanded) {
    struct ff__images s = conv_relu(tape, x, squeezed, 1, 1, false);
    ff__tensor_drop(tape, x.tensor);
    struct ff__images a = conv_relu(tape, s, expanded, 1, 1, false);
    struct ff__images b = conv_relu(tape, s, expanded, 3, 1, false);
    const uint32_t both[] = {a.tensor, b.tensor};
    ff__tensor_drop(tape, s.tensor);
    a.tensor = ff__layer_cat(tape, both, 2);
    a.c = 2 * expanded;
    ff__tensor_drop(tape, both[0]);
    ff__tensor_drop(tape, both[1]);
    return a;
}

static void infer(struct ff__tape *tape, const struct ff__network *network,
                  const struct ff__iteration *iteration) {
    static const struct {
        uint64_t squeezed, expanded;
        bool pools; /* before it */
    } fires[] = {{16, 64, true},  {16, 64, false},  {32, 128, true},  {32, 128, false},
                 {48, 192, true}, {48, 192, false}, {64, 256, false}, {64, 256, false}};
    struct ff__images x = ff__layer_pictures(tape, iteration->batch, iteration->length);
    struct ff__images y = conv_relu(tape, x, 64, 3, 2, true);
    (void)network;
    ff__tensor_drop(tape, x.tensor);
    for (unsigned i = 0; i < 8; i++) {
        y = fires[i].pools ? pool(tape, y) : y;
        y = fire(tape, y, fires[i].squeezed, fires[i].expanded);
    }
    x = conv_relu(tape, y, CLASSES, 1, 1, false);
    ff__tensor_drop(tape, y.tensor);
    y = ff__layer_mean_pool(tape, x);
    ff__tensor_drop(tape, x.tensor);
    ff__tensor_drop(tape, y.tensor);
}

const struct ff__network ff__squeezenet = {.run = infer, .infers = true};
