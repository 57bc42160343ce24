/* Corpora, datasets, training that is interrupted, and files that are not what they should be. */
#include "base/cases.h"

#include "learn/model.h"
#include "learn/train/nets.h"
#include "learn/train/score.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#define BATCH 16u
#define STEPS 300u

/* Warps that walk over two arrays at different speeds: thousands of page distances, few deltas. */
static void record(struct ff__corpus *corpus) {
    ff__corpus_init(corpus, FF__CLUSTER_SM_WARP, 100000);
    for (uint32_t i = 0; i < 120; i++)
        for (uint16_t warp = 0; warp < 20; warp++) {
            struct ff__access first = {
                .page = 1000 + warp + i * 3, .pc = 8, .warp = warp, .array = 1};
            struct ff__access second = {.page = 9000 + i / 4, .pc = 16, .warp = warp, .array = 2};
            assert_int_equal(ff__corpus_add(corpus, &first), 0);
            assert_int_equal(ff__corpus_add(corpus, &second), 0);
        }
    assert_int_equal(ff__corpus_close(corpus), 0);
}

static void test_corpus(void **state) {
    struct ff__corpus corpus;
    (void)state;
    record(&corpus);
    assert_int_equal(corpus.streams, 20);
    assert_int_equal(corpus.count, 4800);
    for (uint32_t s = 0; s < corpus.streams; s++)
        for (uint64_t i = corpus.first[s]; i < corpus.first[s + 1]; i++) {
            assert_int_equal(corpus.accesses[i].warp, corpus.accesses[corpus.first[s]].warp);
            assert_int_equal(corpus.accesses[i].pc, (i - corpus.first[s]) % 2 ? 16 : 8);
        }
    ff__corpus_fini(&corpus);
}

/* Too much for the limit: whole streams go, the others stay whole. */
static void test_thin(void **state) {
    struct ff__corpus corpus;
    (void)state;
    ff__corpus_init(&corpus, FF__CLUSTER_WARP, 1000);
    for (uint32_t i = 0; i < 100; i++)
        for (uint16_t warp = 0; warp < 64; warp++)
            assert_int_equal(ff__corpus_add(&corpus, &(struct ff__access){.page = i, .warp = warp}),
                             0);
    assert_int_equal(ff__corpus_close(&corpus), 0);
    assert_true(corpus.count <= 1000 && corpus.streams > 0);
    assert_int_equal(corpus.seen, 6400);
    for (uint32_t s = 0; s < corpus.streams; s++)
        assert_int_equal(corpus.first[s + 1] - corpus.first[s], 100);
    ff__corpus_fini(&corpus);
}

/* What a window hides is 0 there, and what it shuffles is all there, the same way each time. */
static void test_windows(void **state) {
    struct ff__features features = {0};
    struct ff__corpus corpus;
    struct ff__dataset dataset;
    struct ff__batch plain, shown, again;
    unsigned moved = 0;
    (void)state;
    record(&corpus);
    assert_int_equal(ff__dataset_build(&dataset, &features, &corpus, 1, FF__SPLIT_STREAMS, 1), 0);
    assert_int_equal(ff__batch_init(&plain, 1), 0);
    assert_int_equal(ff__batch_init(&shown, 1), 0);
    assert_int_equal(ff__batch_init(&again, 1), 0);
    ff__batch_fill(&plain, &dataset, &dataset.test[0], 1);
    dataset.shuffled = true;
    dataset.hidden = 1u << FF__FEATURE_PC;
    ff__batch_fill(&shown, &dataset, &dataset.test[0], 1);
    ff__batch_fill(&again, &dataset, &dataset.test[0], 1);
    assert_memory_equal(shown.ids[0], again.ids[0], sizeof again.ids[0]);
    uint64_t sums[2] = {0};
    for (uint32_t t = 0; t < FF__WINDOW; t++) {
        sums[0] += plain.ids[0][t][FF__FEATURE_PAGE];
        sums[1] += shown.ids[0][t][FF__FEATURE_PAGE];
        moved += plain.ids[0][t][FF__FEATURE_PAGE] != shown.ids[0][t][FF__FEATURE_PAGE];
        assert_int_equal(shown.ids[0][t][FF__FEATURE_PC], 0);
    }
    assert_int_equal(sums[0], sums[1]);
    assert_true(moved > FF__WINDOW / 2);
    ff__batch_fini(&plain);
    ff__batch_fini(&shown);
    ff__batch_fini(&again);
    ff__dataset_fini(&dataset);
    ff__features_fini(&features);
    ff__corpus_fini(&corpus);
}

/* Nothing of a stream for testing is trained on, by streams or by time. */
static void test_split(void **state) {
    (void)state;
    for (int split = 0; split < FF__SPLITS; split++) {
        struct ff__corpus corpus;
        struct ff__features features = {0};
        struct ff__dataset dataset;
        record(&corpus);
        assert_int_equal(
            ff__dataset_build(&dataset, &features, &corpus, 30, (enum ff__split)split, 1), 0);
        assert_int_equal(dataset.train_count + dataset.test_count, 20 * (240 - 30));
        assert_true(dataset.test_count > 0);
        for (uint32_t i = 0; i < dataset.test_count; i++)
            for (uint32_t j = 0; j < dataset.train_count; j++)
                assert_int_not_equal(dataset.test[i], dataset.train[j]);
        ff__dataset_fini(&dataset);
        ff__features_fini(&features);
        ff__corpus_fini(&corpus);
    }
}

struct school {
    struct ff__corpus corpus;
    struct ff__dataset dataset;
    struct ff__model model;
};

static void start_with(struct school *school, const struct ff__net_type *type) {
    memset(school, 0, sizeof *school);
    record(&school->corpus);
    struct ff__model *model = &school->model;
    model->distance = 1;
    assert_int_equal(ff__dataset_build(&school->dataset, &model->features, &school->corpus, 1,
                                       FF__SPLIT_STREAMS, 1),
                     0);
    struct ff__shape shape = ff__shape_of(&model->features);
    assert_int_equal(ff__net_init(&model->net, type, &shape, BATCH, 1), 0);
    assert_int_equal(ff__training_init(&model->training, &model->net, STEPS, 0.01f), 0);
}

static void start(struct school *school) {
    start_with(school, &ff__net_hlsh);
}

static void finish(struct school *school) {
    ff__model_fini(&school->model);
    ff__dataset_fini(&school->dataset);
    ff__corpus_fini(&school->corpus);
}

static const char *path_of_test(void) {
    static char path[64];
    snprintf(path, sizeof path, "test-model-%d.model", (int)getpid());
    return path;
}

/* Interrupted, written, read and resumed: the same parameters as without. Also: it learns. */
static void test_resume(void **state) {
    struct school straight, broken;
    struct ff__model resumed;
    struct ff__score score;
    struct ff_error error = {""};
    (void)state;
    start(&straight);
    start(&broken);
    for (uint32_t i = 0; i < STEPS; i++)
        ff__training_step(&straight.model.training, &straight.dataset);
    for (uint32_t i = 0; i < STEPS / 3; i++)
        ff__training_step(&broken.model.training, &broken.dataset);
    assert_int_equal(ff__model_write(&broken.model, path_of_test(), &error), 0);
    assert_int_equal(ff__model_read(&resumed, path_of_test(), ff__all_nets, BATCH, &error), 0);
    while (resumed.training.step < resumed.training.steps)
        ff__training_step(&resumed.training, &broken.dataset);
    assert_memory_equal(resumed.net.params, straight.model.net.params,
                        resumed.net.param_count * sizeof(float));
    assert_int_equal(ff__net_score(&resumed.net, &broken.dataset, 1000, &score), 0);
    assert_true(score.top1 > 0.9);
    assert_true(score.majority < 0.6);
    unlink(path_of_test());
    ff__model_fini(&resumed);
    finish(&straight);
    finish(&broken);
}

static void refuse(const uint8_t *bytes, size_t size, int status, const char *words) {
    struct ff__model model;
    struct ff_error error = {""};
    FILE *file = fopen(path_of_test(), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
    assert_int_equal(ff__model_read(&model, path_of_test(), ff__all_nets, BATCH, &error), status);
    assert_non_null(strstr(error.message, words));
}

static void test_bad_files(void **state) {
    static uint8_t bytes[4 << 20];
    struct school school;
    struct ff__model model;
    struct ff_error error = {""};
    (void)state;
    assert_int_equal(ff__model_read(&model, "no/such.model", ff__all_nets, BATCH, &error), -ENOENT);
    start(&school);
    assert_int_equal(ff__model_write(&school.model, path_of_test(), &error), 0);
    FILE *file = fopen(path_of_test(), "rb");
    assert_non_null(file);
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    refuse(bytes, 0, -EBADMSG, "not a model");
    refuse((const uint8_t *)"something else entirely", 23, -EBADMSG, "not a model");
    refuse(bytes, 10, -EBADMSG, "truncated");
    refuse(bytes, size - 1, -EBADMSG, "truncated");
    refuse(bytes, size / 2, -EBADMSG, "truncated");
    bytes[size / 2] ^= 1;
    refuse(bytes, size, -EBADMSG, "damaged");
    bytes[8] = 0;
    refuse(bytes, size, -ENOTSUP, "train it again");
    unlink(path_of_test());
    finish(&school);
}

/* Policies know hlsh alone, and farfault train all networks. */
static void test_types(void **state) {
    struct school school;
    struct ff__model model;
    struct ff_error error = {""};
    (void)state;
    start_with(&school, ff__net_type_find(ff__all_nets, "fc"));
    assert_int_equal(ff__model_write(&school.model, path_of_test(), &error), 0);
    assert_int_equal(ff__model_read(&model, path_of_test(), ff__hlsh_types, BATCH, &error), -ENXIO);
    assert_non_null(strstr(error.message, "unknown type"));
    assert_int_equal(ff__model_read(&model, path_of_test(), ff__all_nets, BATCH, &error), 0);
    assert_string_equal(model.net.type->name, "fc");
    ff__model_fini(&model);
    unlink(path_of_test());
    finish(&school);
}

/* A link where the model goes is followed, and stays; links where it might go until it is whole are
 * not. */
static void test_links(void **state) {
    struct school school;
    struct ff_error error = {""};
    char part[96], first[128];
    struct stat about;
    (void)state;
    start(&school);
    snprintf(part, sizeof part, "%s.%d.part", path_of_test(), (int)getpid());
    snprintf(first, sizeof first, "%s.%d-0.part", path_of_test(), (int)getpid());
    assert_int_equal(symlink("/dev/full", part), 0);
    assert_int_equal(symlink("/dev/full", first), 0);
    assert_int_equal(ff__model_write(&school.model, path_of_test(), &error), 0);
    assert_true(lstat(path_of_test(), &about) == 0 && S_ISREG(about.st_mode));
    unlink(path_of_test());
    assert_int_equal(symlink("/dev/null", path_of_test()), 0);
    assert_int_equal(ff__model_write(&school.model, path_of_test(), &error), 0);
    assert_true(lstat(path_of_test(), &about) == 0 && S_ISLNK(about.st_mode));
    unlink(path_of_test());
    unlink(part);
    unlink(first);
    finish(&school);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_corpus),  cmocka_unit_test(test_thin),
        cmocka_unit_test(test_windows), cmocka_unit_test(test_split),
        cmocka_unit_test(test_resume),  cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_types),   cmocka_unit_test(test_links),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
