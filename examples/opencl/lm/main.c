/*
 * Trains a small language model of GPT-2's kind: bytes in, the next byte out; layers of attention
 * and a two-layer network behind normalizations, the table of tokens as head, AdamW. The products of
 * matrices are CLBlast's, everything else is in kernels.c.
 */
#include "model.h"
#include "reference.h"
#include "text.h"

#include <math.h>
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

static size_t wanted_steps;
static struct shape wanted = {.context = 32, .batch = 2};

static error_t parse_option(int key, char *argument, struct argp_state *state) {
    (void)state;
    switch (key) {
    case OPTION_STEPS:
        wanted_steps = parse_number("steps", argument, 1, UINT64_MAX);
        return 0;
    case OPTION_LAYERS:
        wanted.layers = parse_number("layers", argument, 1, 1024);
        return 0;
    case OPTION_WIDTH:
        wanted.width = parse_number("width", argument, 1, 16384);
        return 0;
    case OPTION_HEADS:
        wanted.heads = parse_number("heads", argument, 1, 1024);
        return 0;
    case OPTION_CONTEXT:
        wanted.context = parse_number("context", argument, 1, MOST_CONTEXT);
        return 0;
    case OPTION_BATCH:
        wanted.batch = parse_number("batch", argument, 1, 1024);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp extras = {options, parse_option, NULL, NULL, NULL, NULL, NULL};

static const struct program program = {
    .name = "lm",
    .kernels = lm_kernels,
    .default_iterations = 5,
    .iteration_is = "one step of training",
    .extras = &extras,
};

static struct shape explicit_shape(void) {
    struct shape shape = wanted;
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
    if (wanted.layers != 0 || wanted.width != 0)
        return explicit_shape();
    if (wanted.heads != 0)
        bad_usage("--heads needs --layers and --width");
    const struct shape shape = shape_for_bytes(app->size, wanted.context, wanted.batch);
    if (shape.layers == 0)
        bad_usage("--size: too small for a model with %zu x %zu positions", wanted.batch,
                  wanted.context);
    return shape;
}

/* ---- Check ---- */

/*
 * The device and the reference add in different orders, and AdamW makes much of small differences:
 * where a gradient is all rounding, it still moves the parameter by the learning rate.
 */
static const double loss_tolerance = 1e-3, gradient_tolerance = 2e-2;

struct record {
    size_t checked; /* steps that the reference repeats */
    double *losses;
    float **gradients; /* of the last of these steps */
};

/* As many steps as the reference does within a quarter of a minute or so, and at least one. */
static size_t steps_to_check(const struct app *app, const struct shape *shape) {
    const double operations = 3e10;
    const double affordable = operations / shape_step_operations(shape);
    if (!app->check)
        return 0;
    if (affordable < 1)
        return 1;
    return affordable < (double)app->iterations ? (size_t)affordable : app->iterations;
}

static void record_gradients(struct record *record, const struct model *model) {
    record->gradients = host_array(shape_tensors(&model->shape), sizeof(float *));
    for (size_t i = 0; i < shape_tensors(&model->shape); ++i) {
        const struct tensor tensor = shape_tensor(&model->shape, i);
        record->gradients[i] = app_download(model->app, model->parameters[i].gradient,
                                            tensor_count(&tensor) * sizeof(float));
    }
}

/* How far the one is from the other, in parts of the other's length. */
static double distance(const float *got, const float *wanted_values, size_t count) {
    double apart = 0, length = 0;
    for (size_t i = 0; i < count; ++i) {
        const double difference = (double)got[i] - (double)wanted_values[i];
        apart += difference * difference;
        length += (double)wanted_values[i] * (double)wanted_values[i];
    }
    return sqrt(apart / length);
}

static void check_gradients(struct app *app, const struct record *record,
                            const struct reference *reference) {
    for (size_t i = 0; i < shape_tensors(&reference->shape); ++i) {
        const struct tensor tensor = shape_tensor(&reference->shape, i);
        app_expect(app, i,
                   distance(record->gradients[i], reference->gradients[i], tensor_count(&tensor)),
                   0, gradient_tolerance);
        free(record->gradients[i]);
    }
}

static void check_training(struct app *app, const struct shape *shape, const struct text *text,
                           const struct record *record) {
    struct reference *reference = reference_open(shape, app->seed);
    uint8_t *inputs = host_array(shape_rows(shape), 1);
    uint8_t *targets = host_array(shape_rows(shape), 1);
    for (size_t step = 0; step < record->checked; ++step) {
        text_batch(text, shape, step, inputs, targets);
        app_expect(app, step, record->losses[step], reference_forward(reference, inputs, targets),
                   loss_tolerance);
        reference_backward(reference, inputs);
        if (step + 1 < record->checked)
            reference_update(reference);
    }
    check_gradients(app, record, reference);
    if (record->checked < app->iterations)
        printf("checked: the first %zu of %zu steps\n", record->checked, app->iterations);
    free(targets);
    free(inputs);
    reference_close(reference);
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

static void train(struct model *model, const struct text *text, struct record *record) {
    struct app *app = model->app;
    double *seconds = host_array(app->iterations, sizeof(double));
    app_lap(app);
    for (size_t step = 0; step < app->iterations; ++step) {
        record->losses[step] = take_step(model, text, step);
        seconds[step] = app_lap(app);
        printf("step %zu: loss %.4f, %.6f s\n", step + 1, record->losses[step], seconds[step]);
        fflush(stdout);
        if (step + 1 == record->checked) {
            record_gradients(record, model);
            app_lap(app);
        }
    }
    print_median(seconds, app->iterations);
    free(seconds);
}

int main(int argc, char **argv) {
    struct app app;
    app_open(&app, &program, argc, argv);
    if (wanted_steps != 0)
        app.iterations = wanted_steps;
    const struct shape shape = choose_shape(&app);
    print_shape(&shape);

    struct text text = text_make(random_key(app.seed, 't'), TEXT_LENGTH);
    struct record record = {.checked = steps_to_check(&app, &shape),
                            .losses = host_array(app.iterations, sizeof(double))};
    struct model model;
    model_open(&model, &app, &shape);

    app_start_clock(&app);
    model_start(&model);
    train(&model, &text, &record);
    app_stop_clock(&app);
    model_close(&model);

    if (app.check)
        check_training(&app, &shape, &text, &record);
    free(record.gradients);
    free(record.losses);
    text_free(&text);
    return app_close(&app);
}
