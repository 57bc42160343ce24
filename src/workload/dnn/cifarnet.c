/* CifarNet (Krizhevsky, 2012) as Caffe's cifar10_quick has it: inference. All pools take the largest, where Caffe's second and
 * third take means: they move the same bytes. */
#include "workload/dnn/network.h"

#define CLASSES 10u
#define HIDDEN  64u

/* Drops x. */
static struct ff__images conv_pool(struct ff__tape *tape, struct ff__images x,
                                   const struct ff__conv *conv) {
    struct ff__images y = ff__layer_conv(tape, x, conv);
    ff__tensor_drop(tape, x.tensor);
    ff__layer_relu(tape, y.tensor);
    x = ff__layer_max_pool(tape, y, 3, 2, 1);
    ff__tensor_drop(tape, y.tensor);
    return x;
}

static void infer(struct ff__tape *tape, const struct ff__network *network,
                  const struct ff__iteration *iteration) {
    static const struct ff__conv convs[] = {
        {.out = 32, .kernel = 5, .stride = 1, .pad = 2, .groups = 1, .bias = true, .data = true},
        {.out = 32, .kernel = 5, .stride = 1, .pad = 2, .groups = 1, .bias = true},
        {.out = 64, .kernel = 5, .stride = 1, .pad = 2, .groups = 1, .bias = true},
    };
    struct ff__images x = ff__layer_pictures(tape, iteration->batch, iteration->length);
    (void)network;
    for (unsigned i = 0; i < 3; i++)
        x = conv_pool(tape, x, &convs[i]);
    uint32_t hidden = ff__layer_linear(tape, x.tensor, x.n, x.c * x.h * x.w, HIDDEN, true, false);
    ff__tensor_drop(tape, x.tensor);
    uint32_t scores = ff__layer_linear(tape, hidden, x.n, HIDDEN, CLASSES, true, false);
    ff__tensor_drop(tape, hidden);
    ff__tensor_drop(tape, scores);
}

const struct ff__network ff__cifarnet = {.run = infer, .infers = true};
