#include "train.h"

#include "check.h"

#include <stdio.h>
#include <stdlib.h>

enum { TEXT_LENGTH = 1 << 16, MOST_CONTEXT = 1024 };

/* ---- Command line ---- */

enum option_key {
    OPTION_STEPS = 512,
    OPTION_LAYERS,
    OPTION_WIDTH,
    OPTION_HEADS,
    OPTION_CONTEXT,
    OPTION_BATCH,
};

static const struct argp_option options[] = {
    {"steps", OPTION_STEPS, "N", 0, "The same as --iterations", 0},
    {"layers", OPTION_LAYERS, "N", 0, "Layers, with --width, instead of --size", 0},
    {"width", OPTION_WIDTH, "N", 0, "Numbers for one position, with --layers", 0},
    {"heads", OPTION_HEADS, "N", 0, "Attention heads (default: one for each 32 of the width)", 0},
    {"context", OPTION_CONTEXT, "N", 0, "Bytes that a prediction sees (default: 32)", 0},
    {"batch", OPTION_BATCH, "N", 0, "Texts in one step (default: 2)", 0},
    {0},
};

static size_t steps_asked_for;
static struct shape asked_for = {.context = 32, .batch = 2};

static error_t parse_option(int key, char *argument, struct argp_state *state) {
    (void)state;
    switch (key) {
    case OPTION_STEPS:
        steps_asked_for = parse_number("steps", argument, 1, UINT64_MAX);
        return 0;
    case OPTION_LAYERS:
        asked_for.layers = parse_number("layers", argument, 1, 1024);
        return 0;
    case OPTION_WIDTH:
        asked_for.width = parse_number("width", argument, 1, 16384);
        return 0;
    case OPTION_HEADS:
        asked_for.heads = parse_number("heads", argument, 1, 1024);
        return 0;
    case OPTION_CONTEXT:
        asked_for.context = parse_number("context", argument, 1, MOST_CONTEXT);
        return 0;
    case OPTION_BATCH:
        asked_for.batch = parse_number("batch", argument, 1, 1024);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp lm_extras = {options, parse_option, NULL, NULL, NULL, NULL, NULL};

const struct problem lm_problem = {
    .default_iterations = 5,
    .iteration_is = "one step of training",
};

static struct shape explicit_shape(void) {
    struct shape shape = asked_for;
    if (shape.layers == 0 || shape.width == 0)
        bad_usage("--layers and --width go together");
    if (shape.heads == 0)
        shape.heads = divide_up(shape.width, 32);
    if (shape.width % shape.heads != 0)
        bad_usage("--heads: a width of %zu does not divide into %zu heads", shape.width,
                  shape.heads);
    return shape;
}

static struct shape choose_shape(const struct work *work) {
    if (asked_for.layers != 0 || asked_for.width != 0)
        return explicit_shape();
    if (asked_for.heads != 0)
        bad_usage("--heads needs --layers and --width");
    const struct shape shape = shape_for_bytes(work->size, asked_for.context, asked_for.batch);
    if (shape.layers == 0) {
        const struct shape least = {1, 32, 1, asked_for.context, asked_for.batch};
        bad_usage("--size: '%zuK' is too small for %zu x %zu positions; give at least %zuK",
                  work->size >> 10, least.batch, least.context, (shape_bytes(&least) >> 10) + 1);
    }
    return shape;
}

/* ---- Training ---- */

static void print_shape(const struct shape *shape) {
    printf("model: %zu layers, width %zu, %zu heads, %.1f million parameters, %zu x %zu bytes a "
           "step\n",
           shape->layers, shape->width, shape->heads, 1e-6 * (double)shape_parameters(shape),
           shape->batch, shape->context);
    fflush(stdout);
}

static int compare_doubles(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The first step is left out: it compiles kernels. */
static void print_median(double *seconds, size_t count) {
    if (count < 2)
        return;
    qsort(seconds + 1, count - 1, sizeof(double), compare_doubles);
    printf("seconds_per_step: %.6f\n", seconds[1 + (count - 1) / 2]);
}

static double take_step(struct network *network, const struct text *text, size_t step) {
    uint8_t *inputs = host_array(network->rows, 1);
    uint8_t *targets = host_array(network->rows, 1);
    text_batch(text, &network->shape, step, inputs, targets);
    const double loss = network_forward(network, inputs, targets);
    network_backward(network);
    network_update(network);
    free(targets);
    free(inputs);
    return loss;
}

static double lap(struct work *work, struct device *device) {
    device_wait(device);
    return work_lap(work);
}

static void take_steps(struct work *work, struct network *network, const struct text *text,
                       struct check *check) {
    double *seconds = host_array(work->iterations, sizeof(double));
    lap(work, network->device);
    for (size_t step = 0; step < work->iterations; ++step) {
        const double loss = take_step(network, text, step);
        seconds[step] = lap(work, network->device);
        printf("step %zu: loss %.4f, %.6f s\n", step + 1, loss, seconds[step]);
        fflush(stdout);
        check_step(check, network, step, loss);
        lap(work, network->device); /* which is no part of the next step */
    }
    print_median(seconds, work->iterations);
    free(seconds);
}

void lm_train(struct work *work, struct device *device) {
    if (steps_asked_for != 0)
        work->iterations = steps_asked_for;
    const struct shape shape = choose_shape(work);
    print_shape(&shape);

    struct text text = text_make(random_key(work->seed, 't'), TEXT_LENGTH);
    struct check check;
    check_open(&check, work, &shape);
    struct network network;
    network_open(&network, device, &shape);

    work_start_clock(work);
    network_start(&network, work->seed);
    take_steps(work, &network, &text, &check);
    device_wait(device);
    work_stop_clock(work);
    network_close(&network);

    check_results(&check, work, &shape, &text);
    check_close(&check);
    text_free(&text);
}
