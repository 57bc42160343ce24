/*
 * Trains a small language model of GPT-2's kind: bytes in, the next byte out; layers of attention
 * and a two-layer network behind normalizations, the table of tokens as head, AdamW. The products
 * of matrices are CLBlast's, everything else is in kernels.c.
 */
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

static const struct argp extras = {options, parse_option, NULL, NULL, NULL, NULL, NULL};

static const struct problem problem = {
    .default_iterations = 5,
    .iteration_is = "one step of training",
};

static const struct program program = {
    .problem = &problem,
    .kernels = lm_kernels,
    .extras = &extras,
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

static struct shape choose_shape(const struct app *app) {
    if (asked_for.layers != 0 || asked_for.width != 0)
        return explicit_shape();
    if (asked_for.heads != 0)
        bad_usage("--heads needs --layers and --width");
    const struct shape shape = shape_for_bytes(app->work.size, asked_for.context, asked_for.batch);
    if (shape.layers == 0) {
        const struct shape least = {1, 32, 1, asked_for.context, asked_for.batch};
        bad_usage("--size: '%zuK' is too small for %zu x %zu positions; give at least %zuK",
                  app->work.size >> 10, least.batch, least.context,
                  (shape_bytes(&least) >> 10) + 1);
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

/* The first step is left out: it compiles CLBlast's kernels. */
static void print_median(double *seconds, size_t count) {
    if (count < 2)
        return;
    qsort(seconds + 1, count - 1, sizeof(double), compare_doubles);
    printf("seconds_per_step: %.6f\n", seconds[1 + (count - 1) / 2]);
}

static double take_step(struct model *model, const struct text *text, size_t step) {
    uint8_t *inputs = host_array(model->rows, 1);
    uint8_t *targets = host_array(model->rows, 1);
    text_batch(text, &model->shape, step, inputs, targets);
    const double loss = model_forward(model, inputs, targets);
    model_backward(model);
    model_update(model);
    free(targets);
    free(inputs);
    return loss;
}

static void train(struct model *model, const struct text *text, struct check *check) {
    struct app *app = model->app;
    double *seconds = host_array(app->work.iterations, sizeof(double));
    app_lap(app);
    for (size_t step = 0; step < app->work.iterations; ++step) {
        const double loss = take_step(model, text, step);
        seconds[step] = app_lap(app);
        printf("step %zu: loss %.4f, %.6f s\n", step + 1, loss, seconds[step]);
        fflush(stdout);
        check_step(check, model, step, loss);
        app_lap(app); /* which is no part of the next step */
    }
    print_median(seconds, app->work.iterations);
    free(seconds);
}

int main(int argc, char **argv) {
    struct app app;
    app_open(&app, &program, argc, argv);
    if (steps_asked_for != 0)
        app.work.iterations = steps_asked_for;
    const struct shape shape = choose_shape(&app);
    print_shape(&shape);

    struct text text = text_make(random_key(app.work.seed, 't'), TEXT_LENGTH);
    struct check check;
    check_open(&check, &app, &shape);
    struct model model;
    model_open(&model, &app, &shape);

    app_start_clock(&app);
    model_start(&model);
    train(&model, &text, &check);
    app_stop_clock(&app);
    model_close(&model);

    check_results(&check, &app, &shape, &text);
    check_close(&check);
    text_free(&text);
    return app_close(&app);
}
