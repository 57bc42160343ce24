/* Prefetching by a learned predictor: what is advised, when it is known, what a fault brings and
 * waits for, learning on the way, and model files that are not what they should be. */
#include "base/cases.h"

#include "base/random.h"
#include "policy/hlsh/lookahead.h"
#include "policy/registry.h"
#include "view.h"

#include <errno.h>
#include <unistd.h>

#define TIER     1u
#define BLOCKS   40u
#define WARPS    20u
#define STRIDE   16u /* pages from one access of a warp to its next one: a leaf */
#define DISTANCE 4u
#define LATENCY  1000u
#define STEPS    25u /* enough for one stride */
#define FEW                                                                                        \
    (SANITIZED ? 2 : 25) /* where sanitizers make training slow, only that it runs is checked */

static char model_path[64];

static uint32_t page_of(uint32_t warp, uint32_t turn) {
    return warp * 3 + turn * STRIDE;
}

static struct ff_access access_of(uint32_t warp, uint32_t turn, bool missed) {
    uint32_t page = page_of(warp, turn);
    return (struct ff_access){.block = page / FF_BLOCK_PAGES,
                              .page = (uint16_t)(page % FF_BLOCK_PAGES),
                              .tier = TIER,
                              .flags = missed ? FF_ACCESS_MISS : 0,
                              .pc = 8,
                              .sm = 1,
                              .warp = (uint16_t)warp};
}

/* ---- a model of it ---- */

static int make_model(void **state) {
    struct ff__corpus corpus;
    struct ff__model model = {.distance = DISTANCE, .seed = 1};
    struct ff_error error;
    (void)state;
    snprintf(model_path, sizeof model_path, "/tmp/farfault-learned-%d", (int)getpid());
    ff__corpus_init(&corpus, FF__CLUSTER_SM_WARP, 100000);
    for (uint32_t turn = 0; turn < 200; turn++)
        for (uint32_t warp = 0; warp < WARPS; warp++)
            assert_int_equal(
                ff__corpus_add(&corpus, &(struct ff__access){.page = page_of(warp, turn),
                                                             .pc = 8,
                                                             .sm = 1,
                                                             .warp = (uint16_t)warp}),
                0);
    assert_int_equal(ff__corpus_close(&corpus), 0);
    assert_int_equal(ff__finetune(&model, &corpus, STEPS), 0);
    assert_int_equal(ff__model_write(&model, model_path, &error), 0);
    ff__model_fini(&model);
    ff__corpus_fini(&corpus);
    return 0;
}

static int remove_model(void **state) {
    (void)state;
    return remove(model_path);
}

/* ---- a policy at work ---- */

struct bench {
    struct fake fake;
    struct instance instance;
    uint64_t instructions; /* so far */
    struct ff_advice items[64];
    struct ff_advice_list advice;
};

/* Parameters as "name", value, ..., NULL. */
static void bench_open(struct bench *bench, const char *model, ...) {
    va_list args;
    const char *name;
    memset(bench, 0, sizeof *bench);
    fake_open(&bench->fake, 2, BLOCKS);
    instance_init(&bench->instance, &ff__prefetch_learned.base);
    bench->instance.text = model;
    bench->instance.virtual_time = true;
    va_start(args, model);
    while ((name = va_arg(args, const char *)))
        instance_set(&bench->instance, name, va_arg(args, int));
    va_end(args);
    instance_open(&bench->instance, &bench->fake.view, FF_NONE);
}

static void bench_close(struct bench *bench) {
    instance_close(&bench->instance);
    fake_close(&bench->fake);
}

/* Shows an access; what is advised is in bench->advice. */
static void show(struct bench *bench, const struct ff_access *access) {
    const struct ff_access_batch batch = {
        .items = access, .count = 1, .instructions = bench->instructions};
    bench->advice = (struct ff_advice_list){.items = bench->items, .capacity = 64};
    ff__prefetch_learned.base.accesses->on_access(bench->instance.state, &bench->fake.view, &batch,
                                                  &bench->advice);
}

/* Pages of block 1 have come. */
static void arrive(struct bench *bench, const struct ff_mask *pages, bool faulted) {
    const struct ff_arrival arrival = {
        .kind = FF_ARRIVAL_SERVED, .block = 1, .tier = TIER, .faulted = faulted, .pages = pages};
    ff__prefetch_learned.base.on_arrival(bench->instance.state, &bench->fake.view, &arrival);
}

static void walk(struct bench *bench, uint32_t warp, uint32_t turns) {
    for (uint32_t turn = 0; turn < turns; turn++) {
        struct ff_access access = access_of(warp, turn, false);
        show(bench, &access);
        assert_int_equal(bench->advice.count, 0);
    }
}

static void miss(struct bench *bench, uint32_t warp, uint32_t turn) {
    struct ff_access access = access_of(warp, turn, true);
    show(bench, &access);
}

/* The predicted page, one latency later; the next one waits for the first. */
static void test_predicts(void **state) {
    struct bench bench;
    (void)state;
    bench_open(&bench, model_path, NULL);
    walk(&bench, 2, 40);
    walk(&bench, 7, 40);
    bench.fake.view.now_ns = 5000;
    miss(&bench, 2, 40);
    uint32_t page = page_of(2, 40 + DISTANCE);
    assert_int_equal(bench.advice.count, 1);
    assert_int_equal(bench.items[0].block, page / FF_BLOCK_PAGES);
    assert_int_equal(bench.items[0].tier, TIER);
    assert_int_equal(ff_mask_count(&bench.items[0].pages), 1);
    assert_true(ff_mask_test(&bench.items[0].pages, page % FF_BLOCK_PAGES));
    assert_int_equal(bench.items[0].ready_ns, 5000 + LATENCY);
    miss(&bench, 7, 40);
    assert_int_equal(bench.advice.count, 1);
    assert_int_equal(bench.items[0].ready_ns, 5000 + 2 * LATENCY);
    bench_close(&bench);
}

/* One prediction for a leaf's faults, until it has come; none without a predictor. */
static void test_asks_once(void **state) {
    struct bench bench;
    struct ff_mask leaf = ff_mask_of_run(0, FF_LEAF_PAGES);
    (void)state;
    bench_open(&bench, model_path, NULL);
    walk(&bench, 0, 32); /* up to page 496: the next is page 0 of block 1 */
    miss(&bench, 0, 32);
    assert_int_equal(bench.advice.count, 1);
    miss(&bench, 0, 32);
    assert_int_equal(bench.advice.count, 0);
    arrive(&bench, &leaf, true);
    miss(&bench, 0, 32);
    assert_int_equal(bench.advice.count, 1);
    bench_close(&bench);
    bench_open(&bench, NULL, NULL);
    walk(&bench, 0, 32);
    miss(&bench, 0, 32);
    assert_int_equal(bench.advice.count, 0);
    bench_close(&bench);
}

/* A core that has too much to do makes no more predictions; time frees it. */
static void test_backlog(void **state) {
    struct bench bench;
    uint32_t made = 0;
    (void)state;
    bench_open(&bench, model_path, "latency", 10000, NULL);
    for (uint32_t warp = 0; warp < WARPS; warp++)
        walk(&bench, warp, 40);
    for (uint32_t turn = 40; turn < 300; turn++)
        for (uint32_t warp = 0; warp < WARPS; warp++) {
            miss(&bench, warp, turn);
            made += bench.advice.count;
        }
    assert_in_range(made, 30, 70);
    bench.fake.view.now_ns = 1000000000;
    miss(&bench, 0, 320);
    assert_int_equal(bench.advice.count, 1);
    bench_close(&bench);
}

/* Where time passes by itself, nothing is put off. */
static void test_live(void **state) {
    struct bench bench;
    (void)state;
    bench_open(&bench, model_path, NULL);
    ff__prefetch_learned.base.fini(bench.instance.state);
    memset(bench.instance.state, 0, ff__prefetch_learned.base.state_size);
    struct ff_policy_env env = {.block_limit = BLOCKS,
                                .block_state = bench.instance.block_state,
                                .arena = bench.instance.arena,
                                .params = bench.instance.params,
                                .text = model_path};
    assert_int_equal(ff__prefetch_learned.base.init(bench.instance.state, &env), 0);
    walk(&bench, 2, 40);
    bench.fake.view.now_ns = 5000;
    miss(&bench, 2, 40);
    assert_int_equal(bench.advice.count, 1);
    assert_true(bench.items[0].ready_ns <= 5000);
    bench_close(&bench);
}

/* ---- faults ---- */

static struct ff_fault_advice fault(struct bench *bench, uint32_t block, uint32_t page) {
    struct ff_fault_group group = {.block = block, .tier = TIER, .launch = FF_NONE};
    struct ff_fault_advice advice = {0};
    ff_mask_set(&group.faulted, page);
    ff__prefetch_learned.on_fault(bench->instance.state, &bench->fake.view, &group, &advice);
    return advice;
}

static void test_leaf(void **state) {
    struct bench bench;
    char text[MASK_TEXT];
    (void)state;
    bench_open(&bench, model_path, NULL);
    struct ff_fault_advice advice = fault(&bench, 3, 37);
    assert_string_equal(mask_text(&advice.prefetch, text), "32-36 38-47");
    assert_true(ff_mask_empty(&advice.throttle));
    bench_close(&bench);
}

/* A fault's leaf and the page predicted for it are one request; what is predicted elsewhere, or
 * brings a leaf, is a request of its own. */
static void test_request(void **state) {
    static const struct {
        const char *set;
        int to;
        bool missed, one, joins;
    } cases[] = {
        {"request", 1, true, true, true},
        {"request", 0, true, false, false},
        {"bring", FF__BRING_LEAF, true, true, false},
        {"touches", 1, false, true, false},
    };
    struct ff_mask page = ff_mask_of_page(0);
    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bench bench;
        bench_open(&bench, model_path, cases[i].set, cases[i].to, NULL);
        assert_int_equal(fault(&bench, 3, 37).one_request, cases[i].one);
        walk(&bench, 0, 32);
        if (!cases[i].missed)
            arrive(&bench, &page, false);
        struct ff_access access = access_of(0, 32, cases[i].missed);
        show(&bench, &access);
        assert_int_equal(bench.advice.count, 1);
        assert_int_equal(bench.items[0].joins, cases[i].joins);
        bench_close(&bench);
    }
}

/* Half of four leaves is there: the tree brings the fourth. */
static void test_tree(void **state) {
    struct bench bench;
    char text[MASK_TEXT];
    (void)state;
    bench_open(&bench, model_path, "bring", FF__BRING_TREE, NULL);
    *fake_resident(&bench.fake, TIER, 3) = mask_of("0-31");
    struct ff_fault_advice advice = fault(&bench, 3, 37);
    assert_string_equal(mask_text(&advice.prefetch, text), "32-36 38-63");
    walk(&bench, 0, 28);
    *fake_resident(&bench.fake, TIER, 1) = mask_of("16-47"); /* the prediction is page 512 */
    miss(&bench, 0, 28);
    assert_int_equal(bench.advice.count, 1);
    assert_int_equal(bench.items[0].block, 1);
    assert_string_equal(mask_text(&bench.items[0].pages, text), "0-15 48-63");
    bench_close(&bench);
}

static void test_waits(void **state) {
    struct bench bench;
    (void)state;
    bench_open(&bench, model_path, "wait", 1, NULL);
    walk(&bench, 0, 32);
    bench.fake.view.now_ns = 700;
    miss(&bench, 0, 32);
    struct ff_fault_advice advice = fault(&bench, 1, 0);
    assert_true(ff_mask_test(&advice.throttle, 0));
    assert_int_equal(advice.throttle_until_ns, 700 + LATENCY);
    bench.fake.view.now_ns = advice.throttle_until_ns;
    advice = fault(&bench, 1, 0);
    assert_true(ff_mask_empty(&advice.throttle));
    bench_close(&bench);
}

/* The first access to what a prefetch has brought is one to predict at, once. */
static void test_touches(void **state) {
    struct bench bench;
    struct ff_mask page = ff_mask_of_run(0, 1);
    (void)state;
    bench_open(&bench, model_path, "touches", 1, NULL);
    walk(&bench, 0, 32);
    arrive(&bench, &page, false);
    struct ff_access access = access_of(0, 32, false);
    show(&bench, &access);
    assert_int_equal(bench.advice.count, 1);
    show(&bench, &access);
    assert_int_equal(bench.advice.count, 0);
    bench_close(&bench);
}

/* ---- learning ---- */

/* Without a model: after `tune` instructions it predicts, always the same. */
static void test_tunes(void **state) {
    uint32_t found[2] = {0};
    (void)state;
    for (int run = 0; run < 2; run++) {
        struct bench bench;
        bench_open(&bench, NULL, "tune", 320000, "steps", FEW, "distance", (int)DISTANCE, NULL);
        for (uint32_t turn = 0; turn < 900; turn++)
            for (uint32_t warp = 0; warp < WARPS; warp++) {
                struct ff_access access = access_of(warp, turn, true);
                bench.fake.view.now_ns += 100000;
                bench.instructions++;
                show(&bench, &access);
                assert_true(turn > 400 || bench.advice.count == 0);
                if (turn > 600 && bench.advice.count == 1)
                    found[run] += bench.items[0].block * FF_BLOCK_PAGES +
                                      ff_mask_next(&bench.items[0].pages, 0) ==
                                  page_of(warp, turn + DISTANCE);
            }
        bench_close(&bench);
    }
    assert_true(SANITIZED || found[0] > 250);
    assert_int_equal(found[0], found[1]);
}

/* It takes effect at its time, and not before. */
static void test_learning_time(void **state) {
    struct bench bench;
    (void)state;
    bench_open(&bench, NULL, "tune", 320000, "steps", 2, "learning", 1000000, NULL);
    for (uint32_t turn = 0; turn < 600; turn++)
        for (uint32_t warp = 0; warp < WARPS; warp++) {
            struct ff_access access = access_of(warp, turn, true);
            bench.instructions++;
            show(&bench, &access);
            assert_int_equal(bench.advice.count, 0);
        }
    const struct ff__lookahead *ahead = bench.instance.state; /* its first member */
    assert_null(ahead->tuned);
    bench.fake.view.now_ns = 1000000;
    miss(&bench, 0, 601);
    assert_non_null(ahead->tuned);
    bench_close(&bench);
}

/* ---- faults alone ---- */

static void test_faults_alone(void **state) {
    struct fake fake;
    struct instance instance;
    struct ff_advice items[64];
    uint32_t right = 0, all = 0;
    (void)state;
    fake_open(&fake, 2, BLOCKS);
    instance_init(&instance, &ff__prefetch_learned_faults.base);
    instance_set(&instance, "distance", DISTANCE);
    instance_set(&instance, "tune", 9000);
    instance_set(&instance, "steps", FEW);
    instance.virtual_time = true;
    instance_open(&instance, &fake.view, FF_NONE);
    for (uint32_t turn = 0; turn < 900; turn++)
        for (uint32_t thread = 0; thread < WARPS; thread++) {
            uint32_t page = page_of(thread, turn), next = page_of(thread, turn + DISTANCE);
            struct ff_event event = {.kind = FF_EVENT_FAULT,
                                     .tier = TIER,
                                     .block = page / FF_BLOCK_PAGES,
                                     .page = page % FF_BLOCK_PAGES,
                                     .launch = 3,
                                     .thread = 100 + thread,
                                     .now_ns = fake.view.now_ns += 100000};
            struct ff_advice_list advice = {.items = items, .capacity = 64};
            ff__prefetch_learned_faults.learning->learn(instance.state, &event, 1);
            ff__prefetch_learned_faults.learning->publish(instance.state, &event, 1);
            ff__prefetch_learned_faults.learning->plan(instance.state, &fake.view, &advice);
            assert_true(advice.count <= 1);
            all += turn > 600;
            if (turn > 600 && advice.count == 1)
                right += items[0].block * FF_BLOCK_PAGES + ff_mask_next(&items[0].pages, 0) == next;
        }
    assert_true(SANITIZED || right > all * 9 / 10);
    instance_close(&instance);
    fake_close(&fake);
}

/* ---- anything ---- */

/* Whatever is accessed, advice names pages that there are. */
static void test_anything(void **state) {
    struct bench bench;
    struct ff__random random = ff__random_seeded(5);
    (void)state;
    bench_open(&bench, model_path, "touches", 1, "bring", FF__BRING_TREE, NULL);
    bench.fake.blocks[9].page_count = 0;
    bench.fake.blocks[9].range = FF_NONE;
    bench.fake.blocks[8].page_count = 77;
    for (unsigned long i = 0; i < scaled_cases(20000, 2000); i++) {
        uint32_t block = ff__random_below(&random, 8), page = ff__random_below(&random, 512);
        struct ff_access access = {.block = block,
                                   .page = (uint16_t)page,
                                   .tier = TIER,
                                   .flags = (uint8_t)ff__random_below(&random, 8),
                                   .pc = ff__random_below(&random, 3) * 8,
                                   .sm = (uint16_t)ff__random_below(&random, 65536),
                                   .warp = (uint16_t)ff__random_below(&random, 65536)};
        bench.fake.view.now_ns += ff__random_below(&random, 5000);
        show(&bench, &access);
        if (bench.advice.count == 0)
            continue;
        const struct ff_advice *advice = &bench.items[0];
        assert_true(advice->block < BLOCKS && !ff_mask_empty(&advice->pages));
        struct ff_mask there = ff_mask_of_run(0, bench.fake.blocks[advice->block].page_count);
        assert_true(ff_mask_within(&advice->pages, &there));
        assert_true(advice->ready_ns >= bench.fake.view.now_ns);
    }
    bench_close(&bench);
}

/* The paper's Table 7: 5.6 MB; ours is for 28 SMs of 64 warps. */
static void test_size(void **state) {
    (void)state;
    assert_true(ff__lookahead_arena(28 * 64) <= (size_t)(5.6 * 1048576));
}

/* ---- files ---- */

/* Starts the policy with a file; the error's line. */
static const char *refused(const char *path, const char *text, size_t size, int status) {
    static struct ff_error error;
    struct fake fake;
    struct instance instance;
    if (text) {
        FILE *file = fopen(path, "wb");
        assert_non_null(file);
        assert_int_equal(fwrite(text, 1, size, file), size);
        fclose(file);
    }
    fake_open(&fake, 2, 1);
    instance_init(&instance, &ff__prefetch_learned.base);
    void *born = fake_zeroed(ff__prefetch_learned.base.state_size);
    struct ff_policy_env env = {
        .block_limit = 1, .params = instance.params, .text = path, .error = &error};
    error.message[0] = '\0';
    assert_int_equal(ff__prefetch_learned.base.init(born, &env), status);
    assert_non_null(strstr(error.message, path));
    assert_null(strchr(error.message, '\n'));
    free(born);
    fake_close(&fake);
    if (text)
        remove(path);
    return error.message;
}

static void test_files(void **state) {
    char path[80], *bytes = malloc(1 << 20);
    (void)state;
    FILE *file = fopen(model_path, "rb");
    assert_non_null(file);
    size_t size = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    snprintf(path, sizeof path, "%s-other", model_path);
    assert_non_null(strstr(refused(path, NULL, 0, -ENOENT), "No such file"));
    assert_non_null(strstr(refused(path, "#!/bin/sh\n", 10, -EBADMSG), "not a model"));
    assert_non_null(strstr(refused(path, bytes, 10, -EBADMSG), "truncated"));
    assert_non_null(strstr(refused(path, bytes, size / 2, -EBADMSG), "truncated"));
    bytes[size / 2] ^= 1;
    assert_non_null(strstr(refused(path, bytes, size, -EBADMSG), "damaged"));
    bytes[8] ^= 64; /* its version */
    assert_non_null(strstr(refused(path, bytes, size, -ENOTSUP), "train it again"));
    free(bytes);
}

/* A text parameter, and one that is too long. */
static void test_text(void **state) {
    struct ff__system system;
    struct ff_error error;
    char spec[700] = "hlsh:model=";
    (void)state;
    assert_int_equal(ff__system_parse("hlsh:model=/a/b,latency=2us", &system, &error), 0);
    assert_string_equal(system.text + system.params[FF__PREFETCH][FF__LOOKAHEAD_MODEL], "/a/b");
    assert_int_equal(system.params[FF__PREFETCH][FF__LOOKAHEAD_LATENCY], 2000);
    assert_int_equal(ff__system_parse("hlsh", &system, &error), 0);
    assert_string_equal(system.text + system.params[FF__PREFETCH][FF__LOOKAHEAD_MODEL], "");
    memset(spec + strlen(spec), 'x', 450);
    assert_int_equal(ff__system_parse(spec, &system, &error), -EINVAL);
    assert_non_null(strstr(error.message, "model"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_predicts),      cmocka_unit_test(test_asks_once),
        cmocka_unit_test(test_backlog),       cmocka_unit_test(test_live),
        cmocka_unit_test(test_leaf),          cmocka_unit_test(test_request),
        cmocka_unit_test(test_tree),          cmocka_unit_test(test_waits),
        cmocka_unit_test(test_touches),       cmocka_unit_test(test_tunes),
        cmocka_unit_test(test_learning_time), cmocka_unit_test(test_faults_alone),
        cmocka_unit_test(test_anything),      cmocka_unit_test(test_size),
        cmocka_unit_test(test_files),         cmocka_unit_test(test_text),
    };
    return cmocka_run_group_tests(tests, make_model, remove_model);
}
