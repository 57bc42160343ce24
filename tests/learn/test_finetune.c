/* Fine-tuning: what is new is learned, what was known keeps its numbers; and in the background. */
#include "base/cases.h"

#include "engine/background.h"
#include "learn/hlsh.h"
#include "learn/train/score.h"
#include "learn/tuner.h"

#include <errno.h>
#include <unistd.h>

/* Where sanitizers make training slow, only that it runs is checked. */
#define STEPS (SANITIZED ? 2u : 60u)

/* Warps that walk over array 1 with one stride; `pc` tells the warps apart. */
static struct ff__access access_of(uint32_t warp, uint32_t turn, uint32_t stride, uint32_t pc) {
    return (struct ff__access){
        .page = 5000 + warp * 7 + turn * stride, .pc = pc, .warp = (uint16_t)warp, .array = 1};
}

static void record(struct ff__corpus *corpus, uint32_t turns, uint32_t stride, uint32_t pc) {
    ff__corpus_init(corpus, FF__CLUSTER_SM_WARP, 100000);
    for (uint32_t turn = 0; turn < turns; turn++)
        for (uint32_t warp = 0; warp < 20; warp++) {
            struct ff__access access = access_of(warp, turn, stride, pc);
            assert_int_equal(ff__corpus_add(corpus, &access), 0);
        }
    assert_int_equal(ff__corpus_close(corpus), 0);
}

static void tune(struct ff__model *model, uint32_t stride, uint32_t pc, uint32_t steps) {
    struct ff__corpus corpus;
    record(&corpus, SANITIZED ? 60 : 200, stride, pc);
    assert_int_equal(ff__finetune(model, &corpus, steps), 0);
    ff__corpus_fini(&corpus);
}

static double top1(struct ff__model *model, uint32_t stride, uint32_t pc) {
    struct ff__corpus corpus;
    struct ff__dataset dataset;
    struct ff__score score;
    record(&corpus, SANITIZED ? 60 : 200, stride, pc);
    assert_int_equal(
        ff__dataset_build(&dataset, &model->features, &corpus, model->distance, model->split, 1),
        0);
    assert_int_equal(ff__net_score(&model->net, &dataset, 2000, &score), 0);
    ff__dataset_fini(&dataset);
    ff__corpus_fini(&corpus);
    return score.top1;
}

static void test_learns(void **state) {
    struct ff__model model = {.distance = 4, .seed = 1};
    (void)state;
    tune(&model, 3, 8, STEPS);
    assert_true(SANITIZED || top1(&model, 3, 8) > 0.95);
    assert_true(top1(&model, 11, 16) < 0.1);
    uint32_t classes = model.features.classes.size;
    tune(&model, 11, 16, STEPS);
    assert_true(SANITIZED || top1(&model, 11, 16) > 0.95);
    assert_true(model.features.classes.size > classes);
    ff__model_fini(&model);
}

static const float *delta_row(const struct ff__model *model, int64_t value) {
    struct ff__hlsh_weights weights;
    uint32_t number = ff__vocab_number(&model->features.delta, value);
    assert_int_not_equal(number, FF__ESCAPE);
    ff__hlsh_map(&weights, model->net.type, &model->net.shape, model->net.params);
    return weights.of[FF__HLSH_DELTA] + (size_t)(number + 1) * FF__PART;
}

/* However often the program has changed, and however long it did the same before: one fine-tuning
 * step is enough. */
static void test_recovers(void **state) {
    struct ff__model model = {.distance = 4, .seed = 1};
    (void)state;
    for (uint32_t phase = 0; phase < (SANITIZED ? 2 : 5); phase++) {
        for (uint32_t step = 0; step < 6; step++) {
            tune(&model, 3 + 4 * phase, 8 + 8 * phase, SANITIZED ? 2 : 25);
            double right = SANITIZED ? 1 : top1(&model, 3 + 4 * phase, 8 + 8 * phase);
            if (right < 0.9)
                fail_msg("phase %u, step %u: %.3f", phase, step, right);
        }
    }
    ff__model_fini(&model);
}

/* A class's weights, then its bias. */
static void read_class(const struct ff__model *model, int64_t value, float class[FF__OUTPUTS + 1]) {
    struct ff__hlsh_weights weights;
    uint32_t number = ff__vocab_number(&model->features.classes, value);
    assert_int_not_equal(number, FF__ESCAPE);
    ff__hlsh_map(&weights, model->net.type, &model->net.shape, model->net.params);
    for (uint32_t i = 0; i < FF__OUTPUTS; i++)
        class[i] = weights.of[FF__HLSH_CLASSES][i * model->features.classes.size + number];
    class[FF__OUTPUTS] = weights.of[FF__HLSH_CLASSES_BIAS][number];
}

/* Without a step of training, what was known keeps its parameters. New classes begin near the one
 * that was most frequent: the only one of all new accesses is as likely as that, a rare one far
 * less likely. */
static void test_keeps(void **state) {
    struct ff__model model = {.distance = 4, .seed = 1};
    const int64_t value = 3 * FF__ARRAYS + 1, class = 12 * FF__ARRAYS + 1;
    float row[FF__PART], before[FF__OUTPUTS + 1], after[FF__OUTPUTS + 1];
    (void)state;
    tune(&model, 3, 8, STEPS);
    memcpy(row, delta_row(&model, value), sizeof row);
    read_class(&model, class, before);
    tune(&model, 11, 16, 0);
    assert_memory_equal(row, delta_row(&model, value), sizeof row);
    read_class(&model, class, after);
    assert_memory_equal(before, after, sizeof before);
    read_class(&model, 44 * FF__ARRAYS + 1, after);
    assert_true(before[FF__OUTPUTS] == after[FF__OUTPUTS]);
    assert_memory_not_equal(before, after, FF__OUTPUTS * sizeof before[0]);
    assert_memory_not_equal(row, delta_row(&model, 11 * FF__ARRAYS + 1), sizeof row);
    ff__model_fini(&model);
}

/* One warp of twenty has a stride of its own: its class begins less likely than the others'. */
static void test_rare(void **state) {
    struct ff__model model = {.distance = 4, .seed = 1};
    struct ff__corpus corpus;
    float common[FF__OUTPUTS + 1], rare[FF__OUTPUTS + 1];
    (void)state;
    tune(&model, 3, 8, 1);
    ff__corpus_init(&corpus, FF__CLUSTER_SM_WARP, 100000);
    for (uint32_t turn = 0; turn < 100; turn++)
        for (uint32_t warp = 0; warp < 20; warp++) {
            struct ff__access access = access_of(warp, turn, warp ? 11 : 13, 16);
            assert_int_equal(ff__corpus_add(&corpus, &access), 0);
        }
    assert_int_equal(ff__corpus_close(&corpus), 0);
    assert_int_equal(ff__finetune(&model, &corpus, 0), 0);
    ff__corpus_fini(&corpus);
    read_class(&model, 44 * FF__ARRAYS + 1, common);
    read_class(&model, 52 * FF__ARRAYS + 1, rare);
    assert_float_equal(common[FF__OUTPUTS] - rare[FF__OUTPUTS], 2.944, 0.001); /* log 19 */
    ff__model_fini(&model);
}

/* Values of the streams and of the times that a model in training is tested with are learned, too.
 */
static void test_leaves_nothing_out(void **state) {
    struct ff__model model = {.distance = 4, .seed = 1};
    struct ff__corpus corpus;
    (void)state;
    ff__corpus_init(&corpus, FF__CLUSTER_SM_WARP, 100000);
    for (uint32_t warp = 0; warp < 20;
         warp++) /* each with a stride of its own, and one at its end */
        for (uint32_t turn = 0; turn < 100; turn++) {
            struct ff__access access =
                access_of(warp, turn, turn < 90 ? 100 + warp : 200 + warp, warp);
            assert_int_equal(ff__corpus_add(&corpus, &access), 0);
        }
    assert_int_equal(ff__corpus_close(&corpus), 0);
    assert_int_equal(ff__finetune(&model, &corpus, 1), 0);
    for (uint32_t warp = 0; warp < 20; warp++) {
        assert_int_not_equal(ff__vocab_number(&model.features.pc, warp), FF__ESCAPE);
        for (uint32_t stride = 100 + warp; stride <= 200 + warp; stride += 100)
            assert_int_not_equal(
                ff__vocab_number(&model.features.delta, stride * (int64_t)FF__ARRAYS + 1),
                FF__ESCAPE);
    }
    ff__corpus_fini(&corpus);
    ff__model_fini(&model);
}

/* Too little to learn from changes nothing. */
static void test_too_little(void **state) {
    struct ff__model model = {.distance = 30, .seed = 1};
    struct ff__corpus corpus;
    (void)state;
    record(&corpus, 20, 3, 8);
    assert_int_equal(ff__finetune(&model, &corpus, 10), -ENODATA);
    assert_null(model.net.type);
    ff__corpus_fini(&corpus);
    ff__model_fini(&model);
}

/* ---- in the background ---- */

static void note(struct ff__tuner *tuner, uint32_t first, uint32_t end) {
    for (uint32_t turn = first; turn < end; turn++)
        for (uint32_t warp = 0; warp < 20; warp++) {
            struct ff__access access = access_of(warp, turn, 3, 8);
            ff__tuner_note(tuner, &access);
        }
}

static struct ff__tuned *taught(bool at_once) {
    struct ff__background background;
    const struct ff__tuner_plan plan = {
        .distance = 4, .steps = SANITIZED ? 2 : 20, .seed = 1, .background = &background.verbs};
    struct ff__tuner tuner;
    struct ff__tuned *first, *made = NULL;
    struct ff_error error;
    ff__background_init(&background, at_once);
    assert_int_equal(ff__tuner_init(&tuner, &plan, &first, &error), 0);
    assert_null(first);
    note(&tuner, 0, 100);
    assert_false(ff__tuner_begin(&tuner)); /* too little */
    assert_null(ff__tuner_take(&tuner, NULL));
    note(&tuner, 100, 600);
    assert_true(ff__tuner_begin(&tuner));
    assert_false(ff__tuner_begin(&tuner)); /* at work */
    if (!at_once)
        note(&tuner, 600, 5000); /* meanwhile; more than there is room for */
    while (!(made = ff__tuner_take(&tuner, NULL)) && !at_once)
        usleep(1000);
    assert_non_null(made);
    ff__tuner_fini(&tuner);
    return made;
}

/* The same, whenever it is taken. */
static void test_thread(void **state) {
    struct ff__tuned *a = taught(true), *b = taught(false);
    (void)state;
    assert_int_equal(a->predictor.classes, b->predictor.classes);
    assert_memory_equal(a->predictor.mix, b->predictor.mix, sizeof a->predictor.mix);
    assert_memory_equal(a->predictor.to_key, b->predictor.to_key, sizeof a->predictor.to_key);
    ff__tuned_free(a);
    ff__tuned_free(b);
}

/* However long a program has run, and however many warps it has: the notes are of what it does now,
 * in streams that are long enough to learn from, and take in more warps again when there are fewer.
 */
static void check_notes(struct ff__tuner *tuner, uint32_t warps, uint32_t turns, uint32_t stride) {
    for (uint32_t turn = 0; turn < turns; turn++)
        for (uint32_t warp = 0; warp < warps; warp++) {
            struct ff__access access = access_of(warp, turn, stride, stride);
            ff__tuner_note(tuner, &access);
        }
    const struct ff__corpus *notes = &tuner->notes;
    static bool seen[5000];
    uint32_t streams = 0;
    assert_in_range(notes->count, FF__TUNER_ACCESSES / 5, FF__TUNER_ACCESSES);
    memset(seen, 0, sizeof seen);
    for (uint64_t i = 0; i < notes->count; i++) {
        assert_int_equal(notes->accesses[i].pc, stride);
        streams += !seen[notes->accesses[i].warp];
        seen[notes->accesses[i].warp] = true;
    }
    assert_true(notes->count / streams >= 2 * (FF__WINDOW + 4));
    assert_true(streams >= (warps < 100 ? warps : 100));
}

static void test_long_runs(void **state) {
    const struct ff__tuner_plan plan = {.distance = 4, .steps = 1, .seed = 1};
    struct ff__tuner tuner;
    struct ff__tuned *first;
    struct ff_error error;
    (void)state;
    assert_int_equal(ff__tuner_init(&tuner, &plan, &first, &error), 0);
    check_notes(&tuner, 5000, 400, 3);
    check_notes(&tuner, 20, 100000, 7);
    check_notes(&tuner, 1, 3000000, 11);
    check_notes(&tuner, 5000, 1000, 5);
    ff__tuner_fini(&tuner);
}

/* Many rounds, each in exchange for the last one; and an end in the middle of one. */
static void test_rounds(void **state) {
    struct ff__background background;
    const struct ff__tuner_plan plan = {
        .distance = 4, .steps = 2, .seed = 1, .background = &background.verbs};
    struct ff__tuner tuner;
    struct ff__tuned *used;
    struct ff_error error;
    (void)state;
    ff__background_init(&background, false);
    assert_int_equal(ff__tuner_init(&tuner, &plan, &used, &error), 0);
    for (uint32_t round = 0; round < (SANITIZED ? 2 : 5); round++) {
        note(&tuner, round * 500, round * 500 + 500);
        assert_true(ff__tuner_begin(&tuner));
        ff__background_fini(&background); /* waits */
        struct ff__tuned *made = ff__tuner_take(&tuner, used);
        assert_non_null(made);
        used = made;
    }
    assert_true(ff__tuner_begin(&tuner));
    ff__background_fini(&background);
    ff__tuner_fini(&tuner);
    ff__tuned_free(used);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_learns),     cmocka_unit_test(test_recovers),
        cmocka_unit_test(test_keeps),      cmocka_unit_test(test_rare),
        cmocka_unit_test(test_too_little), cmocka_unit_test(test_leaves_nothing_out),
        cmocka_unit_test(test_thread),     cmocka_unit_test(test_rounds),
        cmocka_unit_test(test_long_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
