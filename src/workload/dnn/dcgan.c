/* DCGAN (Radford et al., 2015) as in PyTorch's examples on 64 x 64 images: in an iteration, the discriminator
 * learns from real and from generated images, then the generator through it. Adam. */
#include "workload/dnn/network.h"

#define NOISE 100u
#define WIDTH 64u /* ngf and ndf */

static struct ff__images normalise(struct ff__tape *tape, struct ff__images x) {
    struct ff__images y = ff__layer_batch_norm(tape, x);
    ff__tensor_drop(tape, x.tensor);
    return y;
}

static struct ff__images up(struct ff__tape *tape, struct ff__images x, uint64_t out, bool first) {
    const struct ff__conv conv = {.out = out,
                                  .kernel = 4,
                                  .stride = first ? 1 : 2,
                                  .pad = first ? 0 : 1,
                                  .groups = 1,
                                  .transposed = true,
                                  .data = first};
    struct ff__images y = ff__layer_conv(tape, x, &conv);
    ff__tensor_drop(tape, x.tensor);
    return y;
}

/* Noise to images. */
static struct ff__images generate(struct ff__tape *tape, uint64_t n) {
    struct ff__images x = {ff__tensor_new(tape, n * NOISE), n, NOISE, 1, 1};
    ff__kernel_map(tape, "randn", FF__NO_TENSOR, FF__NO_TENSOR, FF__NO_TENSOR, x.tensor);
    for (uint64_t out = 8 * WIDTH; out >= WIDTH; out /= 2) {
        x = normalise(tape, up(tape, x, out, out == 8 * WIDTH));
        ff__layer_relu(tape, x.tensor);
    }
    x = up(tape, x, 3, false);
    uint32_t y = ff__layer_map(tape, "tanh", x.tensor, FF__KEEPS_OUT, 0);
    ff__tensor_drop(tape, x.tensor);
    x.tensor = y;
    return x;
}

static struct ff__images down(struct ff__tape *tape, struct ff__images x, uint64_t out, bool data) {
    const struct ff__conv conv = {
        .out = out, .kernel = 4, .stride = 2, .pad = 1, .groups = 1, .data = data};
    return ff__layer_conv(tape, x, &conv);
}

/* From images to a loss, and the backward pass; x is kept. */
static void judge(struct ff__tape *tape, struct ff__images x, bool data) {
    struct ff__images y = down(tape, x, WIDTH, data), next;
    ff__layer_relu(tape, y.tensor);
    for (uint64_t out = 2 * WIDTH; out <= 8 * WIDTH; out *= 2) {
        next = down(tape, y, out, false);
        ff__tensor_drop(tape, y.tensor);
        y = normalise(tape, next);
        ff__layer_relu(tape, y.tensor);
    }
    const struct ff__conv last = {.out = 1, .kernel = 4, .stride = 1, .groups = 1};
    next = ff__layer_conv(tape, y, &last);
    ff__tensor_drop(tape, y.tensor);
    uint32_t loss = ff__layer_map(tape, "binary_cross_entropy", next.tensor, FF__KEEPS_IN, next.n);
    ff__tensor_drop(tape, next.tensor);
    ff__tape_backward(tape, loss);
    ff__tensor_drop(tape, loss);
}

/* Generated images, twice: for the discriminator, whose backward pass ends at a detached copy;
 * and for the generator. The discriminator's parameters are the first ones. */
static void judge_again(struct ff__tape *tape, struct ff__images x) {
    uint32_t waits = ff__tape_detach(tape);
    tape->param_next = 0;
    judge(tape, x, true);
    ff__tape_attach(tape, waits);
    tape->param_next = 0;
    judge(tape, x, false);
}

static void train(struct ff__tape *tape, const struct ff__network *network,
                  const struct ff__iteration *iteration) {
    (void)network;
    struct ff__images real = {0, iteration->batch, 3, iteration->length, iteration->length};
    real.tensor = ff__tensor_new(tape, real.n * 3 * real.h * real.w);
    ff__kernel_map(tape, "copy", FF__NO_TENSOR, FF__NO_TENSOR, FF__NO_TENSOR, real.tensor);
    ff__zero_grad(tape);
    judge(tape, real, true);
    struct ff__images fake = generate(tape, iteration->batch);
    judge_again(tape, fake);
    ff__tensor_drop(tape, fake.tensor);
    ff__tensor_drop(tape, real.tensor);
    ff__adam(tape, iteration->states);
}

const struct ff__network ff__dcgan = {
    .run = train,
};
