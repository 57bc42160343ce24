/* Tables of contexts: what is learned and how fast, what confidence is worth, a naive twin; and
 * pages of streams. */
#include "base/cases.h"

#include "base/random.h"
#include "learn/train/online.h"

#define BITS 10u

static const uint8_t lengths[FF__CONTEXT_TABLES] = {1, 2, 3, 4, 8, 16, 31, 32};

/* ---- sequences ---- */

struct sequence {
    struct ff__context context;
    struct ff__recent recent;
    uint32_t folds[FF__CONTEXT_TABLES];
    void *memory;
};

static void open_sequence(struct sequence *s, uint32_t bits) {
    *s = (struct sequence){.memory = calloc(1, ff__context_size(bits))};
    assert_non_null(s->memory);
    ff__context_start(&s->context, s->memory, bits);
}

static struct ff__context_keys keys_of(const uint32_t *folds) {
    struct ff__context_keys keys;
    for (uint32_t t = 0; t < FF__CONTEXT_TABLES; t++)
        keys.of[t] = ff__context_key(ff__context_mix(t + 1, folds[t]));
    return keys;
}

/* Predicts the next value, and learns it. */
static bool next(struct sequence *s, int32_t value, struct ff__context_guess *guess) {
    struct ff__context_keys keys = keys_of(s->folds);
    *guess = (struct ff__context_guess){0, 0};
    bool found = ff__context_look(&s->context, &keys, guess);
    ff__context_teach(&s->context, &keys, value);
    ff__recent_add(&s->recent, (uint32_t)value, s->folds, lengths, FF__CONTEXT_TABLES);
    return found && guess->value == value;
}

/* How many values of a period are right in its `repeat`-th repetition. */
static uint32_t right_in(const int32_t *period, uint32_t length, uint32_t repeat) {
    struct sequence s;
    struct ff__context_guess guess;
    uint32_t right = 0;
    open_sequence(&s, BITS);
    for (uint32_t r = 0; r <= repeat; r++) {
        right = 0;
        for (uint32_t i = 0; i < length; i++)
            right += next(&s, period[i], &guess);
    }
    free(s.memory);
    return right;
}

static void test_periods(void **state) {
    static const int32_t one[] = {7}, row[] = {1, 1, 1, 1, 1, 1, 1, 100};
    static const int32_t nested[] = {1, 2, 1, 3, 1, 2, 1, 4};
    (void)state;
    assert_int_equal(right_in(one, 1, 2), 1);
    assert_int_equal(right_in(row, 8, 4), 8);
    assert_int_equal(right_in(nested, 8, 4), 8);
}

/* The most frequent value stays, whatever comes between. */
static void test_frequent(void **state) {
    struct ff__random random = ff__random_seeded(3);
    struct ff__context_guess guess;
    struct sequence s;
    uint32_t right = 0;
    (void)state;
    open_sequence(&s, BITS);
    for (uint32_t i = 0; i < 4000; i++) {
        struct ff__context_keys keys = {{0x10000001, 0x20000002}};
        bool common = ff__random_below(&random, 100) < 60;
        right += i >= 100 && ff__context_look(&s.context, &keys, &guess) && guess.value == 5;
        ff__context_teach(&s.context, &keys, common ? 5 : (int32_t)ff__random_below(&random, 9));
    }
    assert_true(right > 3850);
    free(s.memory);
}

/* What is certain is trusted, what is random is not. */
static void test_confidence(void **state) {
    struct ff__random random = ff__random_seeded(1);
    struct ff__context_guess guess;
    struct sequence s;
    uint64_t trust = 0;
    (void)state;
    open_sequence(&s, BITS);
    for (int32_t i = 0; i < 2000; i++)
        next(&s, i % 3, &guess);
    assert_true(guess.right > FF__CONTEXT_CERTAIN / 10 * 9);
    for (uint32_t i = 0; i < 20000; i++) {
        next(&s, (int32_t)ff__random_below(&random, 1000), &guess);
        trust += i >= 10000 ? guess.right : 0;
    }
    assert_true(trust / 10000 < FF__CONTEXT_CERTAIN / 20);
    free(s.memory);
}

/* A sequence that changes is learned anew as fast as it was at first, however much came before. */
static void test_changes(void **state) {
    struct ff__context_guess guess;
    struct sequence s;
    (void)state;
    open_sequence(&s, BITS);
    for (int32_t phase = 0; phase < 400; phase++) {
        uint32_t wrong = 0;
        for (int32_t i = 0; i < 500; i++)
            wrong += !next(&s, 1000 * phase + i % 5, &guess);
        if (wrong > 60)
            fail_msg("phase %d: %u of 500 wrong", phase, wrong);
    }
    free(s.memory);
}

/* ---- a naive twin: every fold from all its values, entries in a list, shares and states as the
 * header says ---- */

struct twin_entry {
    uint32_t table, index, tag;
    int32_t value[2];
    uint32_t count[2];
};

struct twin {
    uint32_t bits, dice, entries;
    struct twin_entry *entry;
    int32_t right[FF__CONTEXT_TABLES][3][9], asked[FF__CONTEXT_TABLES][3][9];
    uint32_t values;
    uint32_t value[4096];
};

static uint32_t twin_fold(const struct twin *twin, uint32_t length) {
    uint32_t fold = 0;
    for (uint32_t back = length; back > 0; back--) {
        uint32_t mixed = 0;
        if (back <= twin->values)
            mixed = ff__context_key(ff__context_mix(1, twin->value[twin->values - back]));
        fold = (fold << 1 | fold >> 31) ^ mixed;
    }
    return fold;
}

static struct twin_entry *twin_find(struct twin *twin, uint32_t table, uint32_t key) {
    for (uint32_t i = 0; i < twin->entries; i++)
        if (twin->entry[i].table == table && twin->entry[i].index == key >> (32 - twin->bits))
            return &twin->entry[i];
    return NULL;
}

static int32_t *twin_right(struct twin *twin, const struct twin_entry *entry) {
    uint32_t all = entry->count[0] + entry->count[1], age = all < 4 ? 0 : all < 12 ? 1 : 2;
    return &twin->right[entry->table][age][(entry->count[0] * 8 + all / 2) / all];
}

static bool twin_look(struct twin *twin, const struct ff__context_keys *keys,
                      struct ff__context_guess *guess) {
    int32_t best = -1;
    for (uint32_t t = 0; t < FF__CONTEXT_TABLES; t++) {
        const struct twin_entry *entry = twin_find(twin, t, keys->of[t]);
        if (!entry || entry->tag != (keys->of[t] & 0xFFFF) || *twin_right(twin, entry) < best)
            continue;
        best = *twin_right(twin, entry);
        *guess = (struct ff__context_guess){entry->value[0], (uint16_t)best};
    }
    return best >= 0;
}

static void twin_count(struct twin_entry *entry, int32_t value) {
    if (entry->count[0] == 31 || entry->count[1] == 31)
        for (int i = 0; i < 2; i++)
            entry->count[i] = (entry->count[i] + 1) / 2;
    if (entry->value[0] == value) {
        entry->count[0]++;
    } else if (entry->count[1] > 0 && entry->value[1] == value) {
        entry->count[1]++;
        if (entry->count[1] > entry->count[0])
            *entry = (struct twin_entry){entry->table,
                                         entry->index,
                                         entry->tag,
                                         {entry->value[1], entry->value[0]},
                                         {entry->count[1], entry->count[0]}};
    } else if (entry->count[1] > 1) {
        entry->count[1]--;
    } else {
        entry->value[1] = value;
        entry->count[1] = 1;
    }
}

static void twin_teach(struct twin *twin, const struct ff__context_keys *keys, int32_t value) {
    for (uint32_t t = 0; t < FF__CONTEXT_TABLES; t++) {
        uint32_t key = keys->of[t];
        struct twin_entry *entry = twin_find(twin, t, key);
        if (entry && entry->tag == (key & 0xFFFF)) {
            int32_t *right = twin_right(twin, entry);
            int32_t *asked = &twin->asked[0][0][0] + (right - &twin->right[0][0][0]);
            int32_t slow = *asked < 8     ? 4
                           : *asked < 16  ? 8
                           : *asked < 32  ? 16
                           : *asked < 64  ? 32
                           : *asked < 128 ? 64
                                          : 128;
            *right += ((entry->value[0] == value ? 65535 : 0) - *right) / slow;
            *asked += *asked < 128;
            twin_count(entry, value);
            continue;
        }
        twin->dice = twin->dice * 1664525u + 1013904223u;
        if (!entry)
            entry = &twin->entry[twin->entries++];
        else if (entry->count[0] > 1) {
            for (int i = 0; i < 2 && twin->dice >> 30 == 0; i++)
                entry->count[i] = (entry->count[i] + 1) / 2;
            continue;
        }
        *entry = (struct twin_entry){t, key >> (32 - twin->bits), key & 0xFFFF, {value, 0}, {1, 0}};
    }
}

static void twin_open(struct twin *twin, uint32_t bits) {
    *twin = (struct twin){.bits = bits, .dice = 1};
    twin->entry = calloc((size_t)FF__CONTEXT_TABLES << bits, sizeof *twin->entry);
    assert_non_null(twin->entry);
    for (uint32_t t = 0; t < FF__CONTEXT_TABLES; t++)
        for (int32_t age = 0; age < 3; age++)
            for (int32_t share = 0; share < 9; share++)
                twin->asked[t][age][share] = 4,
                twin->right[t][age][share] = 65535 * share / 9 * (age + 1) / 4;
}

/* Few values, so that contexts recur, and few entries, so that they compete. */
static void test_twin(void **state) {
    static struct twin twin;
    struct ff__random random = ff__random_seeded(7);
    struct ff__context_guess fast = {0, 0}, naive = {0, 0};
    struct sequence s;
    (void)state;
    open_sequence(&s, 5);
    twin_open(&twin, 5);
    for (uint32_t i = 0; i < 4000; i++) {
        struct ff__context_keys keys = keys_of(s.folds);
        for (uint32_t t = 0; t < FF__CONTEXT_TABLES; t++)
            assert_int_equal(s.folds[t], twin_fold(&twin, lengths[t]));
        bool found = ff__context_look(&s.context, &keys, &fast);
        assert_int_equal(found, twin_look(&twin, &keys, &naive));
        if (found && (fast.value != naive.value || fast.right != naive.right))
            fail_msg("%u: %d with %u, not %d with %u", i, fast.value, fast.right, naive.value,
                     naive.right);
        int32_t value =
            ff__random_below(&random, 4) ? (int32_t)(i % 7) : (int32_t)ff__random_below(&random, 3);
        ff__context_teach(&s.context, &keys, value);
        twin_teach(&twin, &keys, value);
        ff__recent_add(&s.recent, (uint32_t)value, s.folds, lengths, FF__CONTEXT_TABLES);
        twin.value[twin.values++] = (uint32_t)value;
    }
    free(twin.entry);
    free(s.memory);
}

/* ---- pages of streams ---- */

#define STREAMS 10u

/* Every stream walks over two arrays, at different speeds, and changes its stride in the middle. */
static void make_corpus(struct ff__corpus *corpus, uint32_t turns) {
    ff__corpus_init(corpus, FF__CLUSTER_SM_WARP, 1000000);
    for (uint32_t turn = 0; turn < turns; turn++)
        for (uint16_t warp = 0; warp < STREAMS; warp++)
            for (uint16_t array = 0; array < 2; array++) {
                uint32_t stride = turn < turns / 2 ? 3 : 5;
                const struct ff__access access = {.page = array * 1000000u +
                                                          turn * (array ? 1 : stride) + warp,
                                                  .pc = 8u * array,
                                                  .warp = warp,
                                                  .array = array};
                assert_int_equal(ff__corpus_add(corpus, &access), 0);
            }
    assert_int_equal(ff__corpus_close(corpus), 0);
}

static double top1(const struct ff__corpus *corpus, const struct ff__online_type *type,
                   uint32_t distance, enum ff__split split, bool goes_on) {
    struct ff__features features = {0};
    struct ff__dataset dataset;
    struct ff__score score;
    assert_int_equal(ff__dataset_build(&dataset, &features, corpus, distance, split, 1), 0);
    assert_int_equal(ff__online_score(type, corpus, &dataset, goes_on, 5000, &score), 0);
    assert_int_equal(score.samples, dataset.test_count < 5000 ? dataset.test_count : 5000);
    ff__dataset_fini(&dataset);
    ff__features_fini(&features);
    return score.top1;
}

static void test_online(void **state) {
    const struct ff__online_type *type;
    struct ff__corpus corpus;
    (void)state;
    make_corpus(&corpus, 400);
    for (unsigned i = 0; (type = ff__online_type_at(i)); i++)
        for (uint32_t distance = 1; distance <= 30; distance += 29) {
            double right = top1(&corpus, type, distance, FF__SPLIT_STREAMS, true);
            if (right < (type == &ff__online_context ? 0.95 : 0.7))
                fail_msg("%s, %u ahead: %.3f", type->name, distance, right);
        }
    assert_true(ff__online_type_find("order-12") == &ff__online_order12);
    assert_null(ff__online_type_find("order-3"));
    ff__corpus_fini(&corpus);
}

/* Every stream accesses a page of one array and two of another, of which the first is right without
 * naming a page. */
static void test_no_page(void **state) {
    struct ff__features features = {0};
    struct ff__corpus corpus;
    struct ff__dataset dataset;
    struct ff__score score;
    (void)state;
    ff__corpus_init(&corpus, FF__CLUSTER_SM_WARP, 1000000);
    for (uint16_t i = 0; i < 300; i++) {
        const struct ff__access access = {
            .page = i % 3 * 5, .pc = 8u * (i % 3), .warp = i / 3, .array = i % 3 ? 1 : 0};
        assert_int_equal(ff__corpus_add(&corpus, &access), 0);
    }
    assert_int_equal(ff__corpus_close(&corpus), 0);
    assert_int_equal(ff__dataset_build(&dataset, &features, &corpus, 1, FF__SPLIT_STREAMS, 1), 0);
    for (uint32_t i = 0; i < dataset.test_count; i++)
        assert_int_equal(dataset.names_page[dataset.test[i]], dataset.test[i] % 3 == 1);
    assert_int_equal(ff__online_score(&ff__online_order1, &corpus, &dataset, false, 1000, &score),
                     0);
    assert_true(score.top1 == 1 && score.no_page == 0.5);
    ff__dataset_fini(&dataset);
    ff__features_fini(&features);
    ff__corpus_fini(&corpus);
}

/* What learning on is worth: the last fifth is as nothing before it. */
static void test_goes_on(void **state) {
    struct ff__corpus corpus;
    (void)state;
    ff__corpus_init(&corpus, FF__CLUSTER_SM_WARP, 1000000);
    for (uint32_t turn = 0; turn < 1000; turn++) {
        uint32_t page = turn < 800 ? turn * 3 : 2400 + (turn - 800) * 7;
        assert_int_equal(ff__corpus_add(&corpus, &(struct ff__access){.page = page, .pc = 8}), 0);
    }
    assert_int_equal(ff__corpus_close(&corpus), 0);
    assert_true(top1(&corpus, &ff__online_context, 1, FF__SPLIT_TIME, false) < 0.1);
    assert_true(top1(&corpus, &ff__online_context, 1, FF__SPLIT_TIME, true) > 0.8);
    ff__corpus_fini(&corpus);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_periods),    cmocka_unit_test(test_frequent),
        cmocka_unit_test(test_confidence), cmocka_unit_test(test_changes),
        cmocka_unit_test(test_twin),       cmocka_unit_test(test_online),
        cmocka_unit_test(test_no_page),    cmocka_unit_test(test_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
