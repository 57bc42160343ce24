/* Every gradient of every network against finite differences of its loss. */
#include "base/cases.h"

#include "learn/train/nets.h"

#include <math.h>

#define SAMPLES 3u
#define CHECKS  36u /* parameters of each network; fewer where sanitizers are */
#define BLOCKS  24u /* likewise, of all parameters of a network */

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

/* Both one-sided differences are looked at: where ReLUs or buckets of the hash turn in between, the
 * gradient lies between the two. `scale`: what other ways from here change. */
static bool agrees(double gradient, double up, double here, double down, double step,
                   double scale) {
    double above = (up - here) / step, below = (here - down) / step;
    double bound = 4e-4 + 0.02 * (fabs(above) + fabs(below) + scale);
    return gradient > fmin(above, below) - bound && gradient < fmax(above, below) + bound;
}

/* A network whose gradients are known, in one place. */
struct place {
    struct ff__net *net;
    const struct ff__batch *batch;
    struct ff__random *random;
    float logits[SAMPLES * 7], dlogits[SAMPLES * 7];
    double here; /* the loss */
};

static void settle(struct place *place) {
    struct ff__net *net = place->net;
    place->here = loss_of(net, place->batch, place->logits, place->dlogits);
    memset(net->grads, 0, net->param_count * sizeof *net->grads);
    net->type->backward(net, place->batch, place->dlogits);
}

/* Whether the loss changes as the gradients say when each of `count` parameters goes a step up or
 * down, as `way` says. */
static bool follows(struct place *place, size_t first, size_t count, const float *way, float step) {
    struct ff__net *net = place->net;
    float *params = net->params + first, *kept = malloc(count * sizeof *kept);
    double gradient = 0, squares = 0, loss[2];
    assert_non_null(kept);
    memcpy(kept, params, count * sizeof *kept);
    for (int down = 0; down < 2; down++) {
        for (size_t i = 0; i < count; i++)
            params[i] = kept[i] + (down ? -step : step) * way[i];
        loss[down] = loss_of(net, place->batch, place->logits, place->dlogits);
    }
    for (size_t i = 0; i < count; i++) {
        gradient += (double)net->grads[first + i] * (double)way[i];
        squares += (double)net->grads[first + i] * (double)net->grads[first + i];
    }
    memcpy(params, kept, count * sizeof *kept);
    free(kept);
    return agrees(gradient, loss[0], place->here, loss[1], (double)step,
                  count > 1 ? sqrt(squares) : 0);
}

static unsigned check_some(struct place *place) {
    const float up = 1;
    unsigned wrong = 0;
    for (unsigned long i = 0; i < scaled_cases(CHECKS, 8); i++)
        wrong += !follows(place, ff__random_next(place->random) % place->net->param_count, 1, &up,
                          4e-3f);
    return wrong;
}

/* Every parameter: block after block, all of a block at a time in random directions. */
static unsigned check_all(struct place *place) {
    size_t params = place->net->param_count, size = params / scaled_cases(BLOCKS, 8) + 1;
    float *way = malloc(size * sizeof *way);
    unsigned wrong = 0;
    assert_non_null(way);
    for (size_t first = 0; first < params; first += size) {
        size_t count = params - first < size ? params - first : size;
        for (size_t i = 0; i < count; i++)
            way[i] = ff__random_below(place->random, 2) ? 1 : -1;
        wrong += !follows(place, first, count, way, 2.5e-3f / sqrtf(sqrtf((float)count)));
    }
    free(way);
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
    struct place place = {.net = &net, .batch = &batch, .random = &random};
    settle(&place);
    unsigned some = check_some(&place), all = check_all(&place);
    if (some || all)
        print_error("%s: %u gradients and %u blocks are wrong\n", type->name, some, all);
    assert_int_equal(some + all, 0);
    ff__net_fini(&net);
    ff__batch_fini(&batch);
}

/* What each token of each head has to give is given to the tokens of its window. */
static void check_attention(const struct ff__net *net, const struct ff__batch *batch) {
    float weights[FF__WINDOW][FF__WINDOW];
    for (uint32_t i = 0; i < batch->count * net->type->heads; i++) {
        net->type->attention(net, i / net->type->heads, i % net->type->heads, weights);
        for (uint32_t t = 0; t < FF__WINDOW; t++) {
            double sum = 0;
            for (uint32_t j = 0; j < FF__WINDOW; j++) {
                assert_true(weights[t][j] >= 0);
                sum += (double)weights[t][j];
            }
            assert_true(fabs(sum - 1) < 1e-5);
        }
    }
}

static void test_attention(void **state) {
    struct ff__random random = ff__random_seeded(3);
    struct ff__batch batch;
    struct ff__net net;
    unsigned seen = 0;
    (void)state;
    for (ff__net_types type = ff__all_nets; *type; type++) {
        if (!(*type)->attention)
            continue;
        assert_int_equal(ff__batch_init(&batch, SAMPLES), 0);
        assert_int_equal(ff__net_init(&net, *type, &shape, SAMPLES, 1), 0);
        fill(&batch, &random);
        struct place place = {.net = &net, .batch = &batch, .random = &random};
        settle(&place);
        check_attention(&net, &batch);
        ff__net_fini(&net);
        ff__batch_fini(&batch);
        seen++;
    }
    assert_true(seen > 0);
}

static void test_gradients(void **state) {
    (void)state;
    for (ff__net_types type = ff__all_nets; *type; type++)
        check_type(*type);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gradients),
                                       cmocka_unit_test(test_attention)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
