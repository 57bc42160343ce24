/* Every gradient of every network against finite differences of its loss. */
#include "base/cases.h"

#include "learn/net.h"

#include <math.h>

#define SAMPLES 3u
#define CHECKS  36u /* parameters of each network; fewer where sanitizers are */

static const struct ff__shape shape = {.classes = 7,
                                       .ids = {9, 6, 5, 3, 4, 4, 3, 5, 6, 4, 3, 5, 4}};

static void fill(struct ff__batch *batch, struct ff__random *random) {
    batch->count = SAMPLES;
    for (uint32_t s = 0; s < SAMPLES; s++) {
        for (uint32_t t = 0; t < FF__WINDOW; t++)
            for (uint32_t f = 0; f < FF__FEATURES; f++)
                batch->ids[s][t][f] = (uint16_t)ff__random_below(random, shape.ids[f]);
        batch->label[s] = (uint16_t)ff__random_below(random, shape.classes);
        batch->slot[s] = ff__random_below(random, FF__WINDOW);
    }
}

static double loss_of(struct ff__net *net, const struct ff__batch *batch, float *logits,
                      float *dlogits) {
    net->type->forward(net, batch, logits);
    return ff__loss(dlogits, logits, batch->label, batch->count, shape.classes);
}

/* Both one-sided differences are looked at: where they differ, a ReLU or a bucket of the hash turns in
 * between, and the gradient is one of the two. */
static bool agrees(double gradient, double up, double here, double down, double step) {
    double middle = (up - down) / (2 * step);
    double bound = 4e-4 + 0.02 * fabs(middle);
    return fabs(gradient - middle) < bound || fabs(gradient - (up - here) / step) < 2 * bound ||
           fabs(gradient - (here - down) / step) < 2 * bound;
}

static unsigned check_some(struct ff__net *net, const struct ff__batch *batch,
                           struct ff__random *random) {
    float logits[SAMPLES * 7], dlogits[SAMPLES * 7], step = 4e-3f;
    unsigned wrong = 0;
    double here = loss_of(net, batch, logits, dlogits);
    memset(net->grads, 0, net->param_count * sizeof *net->grads);
    net->type->backward(net, batch, dlogits);
    for (unsigned long i = 0; i < scaled_cases(CHECKS, 8); i++) {
        size_t at = ff__random_next(random) % net->param_count;
        float kept = net->params[at], gradient = net->grads[at];
        net->params[at] = kept + step;
        double up = loss_of(net, batch, logits, dlogits);
        net->params[at] = kept - step;
        double down = loss_of(net, batch, logits, dlogits);
        net->params[at] = kept;
        wrong += !agrees((double)gradient, up, here, down, (double)step);
    }
    return wrong;
}

static void check_type(const struct ff__net_type *type) {
    struct ff__random random = ff__random_seeded(3);
    struct ff__batch batch;
    struct ff__net net;
    assert_int_equal(ff__batch_init(&batch, SAMPLES), 0);
    assert_int_equal(ff__net_init(&net, type, &shape, SAMPLES, 1), 0);
    net.quantized = false; /* steps have no slope */
    fill(&batch, &random);
    unsigned wrong = check_some(&net, &batch, &random);
    if (wrong)
        print_error("%s: %u gradients are wrong\n", type->name, wrong);
    assert_int_equal(wrong, 0);
    ff__net_fini(&net);
    ff__batch_fini(&batch);
}

static void test_gradients(void **state) {
    (void)state;
    for (unsigned i = 0; ff__net_type_at(i); i++)
        check_type(ff__net_type_at(i));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gradients)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
