/* What the language model's own check rests on: the CPU reference, here in double precision, whose
 * gradients must be those that finite differences give; the choice of a shape; the text. */
#include "examples/host/lm/reference.h"
#include "examples/host/lm/text.h"

#include "examples/host/data.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SEED = 7, ROWS = 10, TEXT_LENGTH = 4096 };

static const struct shape small = {.layers = 2, .width = 8, .heads = 2, .context = 5, .batch = 2};

struct training {
    struct reference *reference;
    uint8_t inputs[ROWS], targets[ROWS];
};

static struct training start(void) {
    struct training training = {.reference = reference_open(&small, SEED)};
    struct text text = text_make(SEED, TEXT_LENGTH);
    text_batch(&text, &small, 0, training.inputs, training.targets);
    text_free(&text);
    return training;
}

static double loss_of(struct training *training) {
    return reference_forward(training->reference, training->inputs, training->targets);
}

/* Returns the loss before the step. */
static double step(struct training *training) {
    const double loss = loss_of(training);
    reference_backward(training->reference, training->inputs);
    reference_update(training->reference);
    return loss;
}

static double slope_at(struct training *training, real *value) {
    const double reach = 1e-5;
    const real before = *value;
    *value = before + reach;
    const double above = loss_of(training);
    *value = before - reach;
    const double below = loss_of(training);
    *value = before;
    return (above - below) / (2 * reach);
}

static void compare_tensor(struct training *training, size_t number) {
    struct reference *reference = training->reference;
    const struct tensor tensor = shape_tensor(&small, number);
    for (size_t i = 0; i < tensor_count(&tensor); ++i) {
        const double expected = slope_at(training, &reference->values[number][i]);
        const double got = reference->gradients[number][i];
        if (fabs(got - expected) > 1e-7 + 1e-5 * fabs(expected))
            fail_msg("%s of layer %zu, element %zu: %g, finite differences say %g", tensor.name,
                     tensor.layer, i, got, expected);
    }
}

/* After a few steps, when no bias is zero and no gain one. */
static void test_gradients(void **state) {
    (void)state;
    struct training training = start();
    for (int i = 0; i < 3; ++i)
        step(&training);
    loss_of(&training);
    reference_backward(training.reference, training.inputs);
    for (size_t i = 0; i < shape_tensors(&small); ++i)
        compare_tensor(&training, i);
    reference_close(training.reference);
}

/* By hand, for a tensor that decays and one that does not. */
static void test_update(void **state) {
    (void)state;
    struct training training = start();
    struct reference *reference = training.reference;
    const size_t weight = shape_number(EXPAND_WEIGHT, 1), bias = shape_number(EXPAND_BIAS, 1);
    const double weight_before = reference->values[weight][3];
    step(&training);
    /* The first step goes by the sign of the gradient alone. */
    const double rate = (double)shape_learning_rate(&small, 1);
    const double weight_sign = reference->gradients[weight][3] > 0 ? 1 : -1;
    const double bias_sign = reference->gradients[bias][3] > 0 ? 1 : -1;
    const double decayed = weight_before * (1 - rate * (double)LM_DECAY);
    assert_true(fabs(reference->values[weight][3] - (decayed - rate * weight_sign)) < 1e-5 * rate);
    assert_true(fabs(reference->values[bias][3] + rate * bias_sign) < 1e-5 * rate);
    reference_close(reference);
}

static void test_learns_by_heart(void **state) {
    (void)state;
    struct training training = start();
    const double first = step(&training);
    for (int i = 0; i < 100; ++i)
        step(&training);
    assert_true(fabs(first - log(LM_VOCABULARY)) < 2);
    assert_true(loss_of(&training) < first / 4);
    reference_close(training.reference);
}

static void test_shapes_fill_their_size(void **state) {
    (void)state;
    for (size_t size = (size_t)40 << 20; size <= (size_t)16 << 30; size += size / 3) {
        const struct shape shape = shape_for_bytes(size, 32, 2);
        assert_true(shape.layers > 0 && shape.width == 32 * shape.heads);
        assert_true(shape.width >= 24 * shape.layers && shape.width <= 40 * shape.layers);
        assert_true(shape_bytes(&shape) <= size);
        assert_true((double)shape_bytes(&shape) > 0.8 * (double)size);
    }
    assert_int_equal(shape_for_bytes(1000, 32, 2).layers, 0);
}

static void test_numbers(void **state) {
    (void)state;
    assert_int_equal(shape_number(LAST_BIAS, 1), LAST_BIAS);
    const size_t last = shape_number(CONTRACT_BIAS, 1);
    assert_int_equal(last, shape_tensors(&small) - 1);
    const struct tensor tensor = shape_tensor(&small, last);
    assert_string_equal(tensor.name, "contraction bias");
    assert_int_equal(tensor.layer, 1);
    assert_int_equal(tensor_count(&tensor), small.width);
}

static void test_text(void **state) {
    (void)state;
    struct text text = text_make(SEED, TEXT_LENGTH), again = text_make(SEED, TEXT_LENGTH);
    assert_memory_equal(text.bytes, again.bytes, TEXT_LENGTH);
    for (size_t i = 0; i < TEXT_LENGTH; ++i)
        assert_non_null(memchr("abcdefghijklmnopqrstuvwxyz .,", text.bytes[i], 29));
    uint8_t inputs[ROWS], targets[ROWS];
    text_batch(&text, &small, 3, inputs, targets);
    for (size_t i = 0; i + 1 < ROWS; ++i)
        if ((i + 1) % small.context != 0)
            assert_int_equal(targets[i], inputs[i + 1]);
    text_free(&again);
    text_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients),       cmocka_unit_test(test_update),
        cmocka_unit_test(test_learns_by_heart), cmocka_unit_test(test_shapes_fill_their_size),
        cmocka_unit_test(test_numbers),         cmocka_unit_test(test_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
