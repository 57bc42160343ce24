#include "check.h"

#include "reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * The device and the reference add in different orders. Measured: losses apart by up to 1.1e-6 and
 * gradients by up to 4.9e-6 of their length, in 60 steps at 8M, 28 at 48M and 5 at 256M. One page
 * of wrong numbers moves the gradient of even the largest tensors by more than a hundredth.
 */
static const double loss_tolerance = 1e-4, gradient_tolerance = 1e-3;

/* As many steps as the reference does in some ten seconds, and at least two: the second one's loss
 * shows what the first one's update did. */
static size_t affordable_steps(const struct work *work, const struct shape *shape) {
    const double operations = 3e10;
    const double steps = fmax(operations / shape_step_operations(shape), 2);
    return steps < (double)work->iterations ? (size_t)steps : work->iterations;
}

void check_open(struct check *check, const struct work *work, const struct shape *shape) {
    *check = (struct check){.steps = work->check ? affordable_steps(work, shape) : 0};
    check->losses = host_array(check->steps + 1, sizeof(double));
    check->tensors = shape_tensors(shape);
    check->gradients = host_array(check->tensors, sizeof(float *));
}

void check_close(struct check *check) {
    for (size_t i = 0; i < check->tensors; ++i)
        free(check->gradients[i]);
    free(check->gradients);
    free(check->losses);
}

static void keep_gradients(struct check *check, const struct network *network) {
    for (size_t i = 0; i < shape_tensors(&network->shape); ++i) {
        const struct tensor tensor = shape_tensor(&network->shape, i);
        const size_t bytes = tensor_count(&tensor) * sizeof(float);
        check->gradients[i] = host_pages(bytes);
        device_read(network->device, network->parameters[i].gradient, bytes, check->gradients[i]);
    }
}

void check_step(struct check *check, const struct network *network, size_t step, double loss) {
    if (step >= check->steps)
        return;
    check->losses[step] = loss;
    if (step + 1 == check->steps)
        keep_gradients(check, network);
}

/* How far the one is from the other, in parts of the other's length. */
static double distance_between(const float *got, const float *wanted, size_t count) {
    double apart = 0, length = 0;
    for (size_t i = 0; i < count; ++i) {
        const double difference = (double)got[i] - (double)wanted[i];
        apart += difference * difference;
        length += (double)wanted[i] * (double)wanted[i];
    }
    return sqrt(apart / length);
}

static void compare_gradients(const struct check *check, struct work *work,
                              const struct reference *reference) {
    for (size_t i = 0; i < shape_tensors(&reference->shape); ++i) {
        const struct tensor tensor = shape_tensor(&reference->shape, i);
        const double distance =
            distance_between(check->gradients[i], reference->gradients[i], tensor_count(&tensor));
        work_expect(work, i, distance, 0, gradient_tolerance);
    }
}

/* Takes the same steps, the last one up to its gradients. */
static void compare_steps(const struct check *check, struct work *work, const struct text *text,
                          struct reference *reference) {
    const struct shape *shape = &reference->shape;
    uint8_t *inputs = host_array(shape_rows(shape), 1);
    uint8_t *targets = host_array(shape_rows(shape), 1);
    for (size_t step = 0; step < check->steps; ++step) {
        if (step > 0)
            reference_update(reference);
        text_batch(text, shape, step, inputs, targets);
        const double loss = reference_forward(reference, inputs, targets);
        work_expect(work, step, check->losses[step], loss, loss_tolerance);
        reference_backward(reference, inputs);
    }
    free(targets);
    free(inputs);
}

void check_results(struct check *check, struct work *work, const struct shape *shape,
                   const struct text *text) {
    if (check->steps == 0)
        return;
    if (check->steps < work->iterations)
        printf("checked: the first %zu of %zu steps\n", check->steps, work->iterations);
    struct reference *reference = reference_open(shape, work->seed);
    compare_steps(check, work, text, reference);
    compare_gradients(check, work, reference);
    reference_close(reference);
}
