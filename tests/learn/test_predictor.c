/* The fast path against the reference: the same answers for the same accesses, on every kind of CPU
 * that this one can do. */
#include "base/cases.h"

#include <errno.h>

#include "learn/predictor.h"
#include "learn/predictor_code.h"
#include "learn/train/nets.h"

#define STREAMS  4u
#define ACCESSES (2 * FF__WINDOW + 8) /* of a stream: the window comes round twice */

static const struct ff__shape shape = {.classes = 100,
                                       .ids = {513, 40, 20, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}};

/* Accesses with something of a pattern in it; every other stream mostly repeats one delta, so that
 * attention is bypassed now and then. */
static void next_ids(struct ff__random *random, uint32_t stream, uint32_t at, uint16_t ids[3]) {
    bool steady = stream % 2 && ff__random_below(random, 20) > 0;
    ids[0] = (uint16_t)(1 + (at * 3 + stream) % 512);
    ids[1] = steady ? 7 : (uint16_t)(1 + ff__random_below(random, 39));
    ids[2] = steady ? 3 : (uint16_t)(1 + at % 5);
}

struct history {
    uint16_t ids[ACCESSES][3];
    uint32_t count;
};

static void fill(struct ff__batch *batch, const struct history *history) {
    memset(batch->ids[0], 0, sizeof batch->ids[0]);
    for (uint32_t i = 0; i < FF__WINDOW && i < history->count; i++)
        memcpy(batch->ids[0][FF__WINDOW - 1 - i], history->ids[history->count - 1 - i],
               sizeof history->ids[0]);
    batch->count = 1;
    batch->slot[0] = (history->count - 1) % FF__WINDOW;
}

static uint32_t best_of(const float *logits) {
    uint32_t best = 0;
    for (uint32_t c = 1; c < shape.classes; c++)
        best = logits[c] > logits[best] ? c : best;
    return best;
}

/* How often tokens are left out, share, or attention is bypassed: all of it should be had. */
static unsigned left_out, sharing, bypassed;

static void count_kinds(const struct ff__predictor *predictor, const struct ff__stream *stream) {
    unsigned same = 0;
    for (uint32_t slot = 0; slot < FF__WINDOW; slot++) {
        left_out += stream->far[slot] >= predictor->far[slot];
        sharing += stream->far[slot] <= predictor->close[slot];
        same += stream->delta[slot] == stream->delta[stream->newest];
    }
    bypassed += same >= predictor->converged;
}

static void check_stream(struct ff__net *net, const struct ff__predictor *predictor,
                         uint32_t stream) {
    struct ff__random random = ff__random_seeded(stream + 1);
    struct history history = {.count = 0};
    struct ff__stream fast;
    struct ff__batch batch;
    float logits[100];
    assert_int_equal(ff__batch_init(&batch, 1), 0);
    ff__stream_start(predictor, &fast);
    while (history.count < ACCESSES) {
        uint16_t *ids = history.ids[history.count];
        float margin;
        next_ids(&random, stream, history.count++, ids);
        ff__stream_push(predictor, &fast, ids);
        fill(&batch, &history);
        net->type->forward(net, &batch, logits);
        uint32_t best = best_of(logits);
        assert_int_equal(ff__stream_predict(predictor, &fast, &margin), best);
        assert_true(margin == logits[best] - logits[FF__ESCAPE]);
        count_kinds(predictor, &fast);
    }
    ff__batch_fini(&batch);
}

static void check_net(struct ff__net *net) {
    struct ff__predictor predictor;
    const struct ff__predictor_code *code;
    assert_int_equal(ff__predictor_init(&predictor, net), 0);
    for (unsigned i = 0; (code = ff__predictor_code_at(i)); i++) {
        if (!code->works())
            continue;
        assert_int_equal(ff__predictor_use(&predictor, code->name), 0);
        for (uint32_t stream = 0; stream < STREAMS; stream++)
            check_stream(net, &predictor, stream);
    }
    ff__predictor_fini(&predictor);
}

/* Keys see only the PC, which is the same for all tokens and larger than positions: keys are alike
 * but not zero, while values differ. */
static void make_alike(struct ff__hlsh_weights *w) {
    for (size_t i = 0; i < w->count[FF__HLSH_PC]; i++)
        w->of[FF__HLSH_PC][i] =
            i < FF__PART ? 16 * w->of[FF__HLSH_PC][i] : w->of[FF__HLSH_PC][i % FF__PART];
    memset(w->of[FF__HLSH_KEY], 0, sizeof(float) * 2 * FF__PART * FF__WIDTH);
}

static void check_type(const struct ff__net_type *type) {
    const bool shares = type->attends == FF__ATTENDS_HLSH, bypasses = type->bypass_by_window;
    struct ff__net net;
    struct ff__hlsh_weights w;
    left_out = sharing = bypassed = 0;
    assert_int_equal(ff__net_init(&net, type, &shape, 1, 5), 0);
    check_net(&net);
    ff__hlsh_map(&w, type, &shape, net.params);
    make_alike(&w);
    check_net(&net);
    assert_true(!left_out == !shares && !sharing == !shares && !bypassed == !bypasses);
    net.shape.converged = true;
    check_net(&net);
    ff__net_fini(&net);
}

static void test_equal(void **state) {
    (void)state;
    check_type(&ff__net_hlsh);
    check_type(&ff__net_hlsh_full);
    check_type(&ff__net_hlsh_by_window);
}

/* Without attention, there is nothing that is left out or shares. */
static void test_without(void **state) {
    const struct ff__net_type *const types[] = {&ff__net_hlsh_none, &ff__net_window};
    struct ff__net net;
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(ff__net_init(&net, types[i], &shape, 1, 5), 0);
        check_net(&net);
        ff__net_fini(&net);
    }
}

static void test_refuses(void **state) {
    struct ff__net net;
    struct ff__predictor predictor;
    (void)state;
    const struct ff__net_type *const others[] = {ff__net_type_find(ff__all_nets, "fc"),
                                                 &ff__net_hlsh_float};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(ff__net_init(&net, others[i], &shape, 1, 5), 0);
        assert_int_equal(ff__predictor_init(&predictor, &net), -EINVAL);
        ff__net_fini(&net);
    }
    assert_int_equal(ff__net_init(&net, &ff__net_hlsh, &shape, 1, 5), 0);
    assert_int_equal(ff__predictor_init(&predictor, &net), 0);
    assert_int_equal(ff__predictor_use(&predictor, "none"), -ENOENT);
    ff__predictor_fini(&predictor);
    ff__net_fini(&net);
}

/* The paper's largest model and state, for its device: 28 SMs of 64 warps (Tables 7 and 9). */
static void test_size(void **state) {
    struct ff__net net;
    struct ff__predictor predictor;
    struct ff__shape largest = {.classes = FF__CLASSES_MAX,
                                .ids = {FF__PAGE_IDS, FF__DELTAS_MAX + 1, FF__PCS_MAX + 1}};
    (void)state;
    for (uint32_t f = 3; f < FF__FEATURES; f++)
        largest.ids[f] = 1;
    assert_int_equal(ff__net_init(&net, &ff__net_hlsh, &largest, 1, 5), 0);
    assert_int_equal(ff__predictor_init(&predictor, &net), 0);
    assert_true(ff__predictor_size(&predictor) + 28 * 64 * sizeof(struct ff__stream) <=
                5600 * 1000);
    ff__predictor_fini(&predictor);
    ff__net_fini(&net);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_equal), cmocka_unit_test(test_without),
                                       cmocka_unit_test(test_refuses), cmocka_unit_test(test_size)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
