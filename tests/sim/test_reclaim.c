/* Where the allocator of IBM's Large Model Support takes memory from, in which order, and what it
 * copies out ahead of need. Sequences are what the rules of its source give by hand. */
#include "base/cases.h"

#include "backend/sim/lms/lms.h"
#include "backend/sim/lms/paging_history.h"
#include "backend/sim/lms/reclaim.h"

#include <errno.h>

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)

enum { A, B, C, D, E, STORAGES };

static char said[256];

static void say(char what, uint32_t storage) {
    size_t length = strlen(said);
    snprintf(said + length, sizeof said - length, "%c%c ", what, (char)('A' + storage));
}

/* <: a copy begins; >: its end is waited for. */
static void page_out(void *self, uint32_t storage) {
    (void)self;
    say('<', storage);
}

static void finish(void *self, uint32_t storage) {
    (void)self;
    say('>', storage);
}

static struct ff__reclaim start(uint64_t limit) {
    struct ff__reclaim reclaim;
    assert_int_equal(ff__reclaim_init(&reclaim, STORAGES, limit), 0);
    reclaim.page_out = page_out;
    reclaim.finish = finish;
    return reclaim;
}

/* Allocates, and checks what went out for it, and where the memory is from. */
static void take(struct ff__reclaim *reclaim, uint32_t storage, uint64_t bytes,
                 enum ff__reclaim_source source, const char *expected) {
    uint64_t before = reclaim->from[source];
    said[0] = '\0';
    assert_int_equal(ff__reclaim_allocate(reclaim, bytes, &reclaim->storages[storage].block), 0);
    assert_string_equal(said, expected);
    assert_int_equal(reclaim->from[source], before + 1);
}

static const struct ff__caching_block *block_of(const struct ff__reclaim *reclaim,
                                                uint32_t storage) {
    return &reclaim->pool.blocks[reclaim->storages[storage].block];
}

/* The first storage of the list that is large enough, however much too large it is; then what is
 * left of it. One that is not on the list stays, if that is the end. */
static void test_one(void **state) {
    (void)state;
    struct ff__reclaim reclaim = start(72 * MIB);
    take(&reclaim, A, 20 * MIB, FF__FROM_DEVICE, "");
    take(&reclaim, B, 12 * MIB, FF__FROM_DEVICE, "");
    take(&reclaim, C, 40 * MIB, FF__FROM_DEVICE, "");
    ff__reclaim_list(&reclaim, B);
    ff__reclaim_list(&reclaim, A);
    take(&reclaim, D, 16 * MIB, FF__FROM_ONE, "<A >A ");
    take(&reclaim, E, 4 * MIB, FF__FROM_CACHE, "");
    assert_int_equal(block_of(&reclaim, E)->address, block_of(&reclaim, D)->address + 16 * MIB);
    said[0] = '\0';
    uint32_t block;
    assert_int_equal(ff__reclaim_allocate(&reclaim, 30 * MIB, &block), -ENOSPC);
    assert_string_equal(said, "<B >B ");
    assert_int_equal(reclaim.pool.reserved, 60 * MIB);
    ff__reclaim_fini(&reclaim);
}

/* The storage that was released first is asked first; one that is held again is not. */
static void test_order(void **state) {
    (void)state;
    struct ff__reclaim reclaim = start(60 * MIB);
    for (uint32_t i = A; i <= C; i++)
        take(&reclaim, i, 20 * MIB, FF__FROM_DEVICE, "");
    ff__reclaim_list(&reclaim, C);
    ff__reclaim_list(&reclaim, A);
    ff__reclaim_list(&reclaim, B);
    ff__reclaim_unlist(&reclaim, C);
    ff__reclaim_list(&reclaim, C);
    take(&reclaim, D, 20 * MIB, FF__FROM_ONE, "<A >A ");
    take(&reclaim, E, 20 * MIB, FF__FROM_ONE, "<B >B ");
    assert_int_equal(reclaim.listed, 1);
    ff__reclaim_fini(&reclaim);
}

/* A block counts with its free neighbours. */
static void test_neighbours(void **state) {
    (void)state;
    struct ff__reclaim reclaim = start(40 * MIB);
    take(&reclaim, A, 8 * MIB, FF__FROM_DEVICE, "");
    take(&reclaim, B, 8 * MIB, FF__FROM_CACHE, "");
    take(&reclaim, C, 20 * MIB, FF__FROM_DEVICE, "");
    ff__reclaim_list(&reclaim, A);
    ff__reclaim_list(&reclaim, B);
    take(&reclaim, D, 12 * MIB, FF__FROM_ONE, "<B >B ");
    ff__reclaim_fini(&reclaim);
}

/* If no storage is enough, all in segments that are; their copies are queued before any is waited
 * for. */
static void test_fragments(void **state) {
    (void)state;
    struct ff__reclaim reclaim = start(52 * MIB);
    take(&reclaim, A, 8 * MIB, FF__FROM_DEVICE, "");
    take(&reclaim, B, 8 * MIB, FF__FROM_CACHE, "");
    take(&reclaim, C, 20 * MIB, FF__FROM_DEVICE, "");
    take(&reclaim, E, 12 * MIB, FF__FROM_DEVICE, "");
    ff__reclaim_list(&reclaim, B);
    ff__reclaim_list(&reclaim, E);
    ff__reclaim_list(&reclaim, A);
    take(&reclaim, D, 18 * MIB, FF__FROM_FRAGMENTS, "<B <A >B >A ");
    assert_true(reclaim.storages[E].listed);
    ff__reclaim_fini(&reclaim);
}

/* If no segment is enough, all storages, so that segments may go back and a larger one come. */
static void test_all(void **state) {
    (void)state;
    struct ff__reclaim reclaim = start(40 * MIB);
    take(&reclaim, A, 20 * MIB, FF__FROM_DEVICE, "");
    take(&reclaim, B, 20 * MIB, FF__FROM_DEVICE, "");
    ff__reclaim_list(&reclaim, B);
    ff__reclaim_list(&reclaim, A);
    take(&reclaim, C, 30 * MIB, FF__FROM_DEVICE_AGAIN, "<B <A >B >A ");
    assert_int_equal(reclaim.pool.reserved, 30 * MIB);
    ff__reclaim_fini(&reclaim);
}

/* A storage of the other pool is of no use, until everything goes. */
static void test_pools(void **state) {
    (void)state;
    struct ff__reclaim reclaim = start(22 * MIB);
    take(&reclaim, A, KIB, FF__FROM_DEVICE, "");
    take(&reclaim, B, 20 * MIB, FF__FROM_DEVICE, "");
    take(&reclaim, C, MIB, FF__FROM_CACHE, "");
    ff__reclaim_list(&reclaim, B);
    ff__reclaim_list(&reclaim, A);
    take(&reclaim, D, MIB, FF__FROM_DEVICE_AGAIN, "<A >A <B >B ");
    ff__reclaim_fini(&reclaim);
}

/* A storage that is put on the list twice, and taken the second time, is expected to be so in the
 * next iteration, as long as it is used as before. */
static void test_history(void **state) {
    (void)state;
    struct ff__paging_history history = {0};
    uint32_t first, second, other;
    assert_int_equal(ff__paging_begin(&history, 20 * MIB, 1, &first), 0);
    assert_false(ff__paging_expected(&history, first));
    ff__paging_record(&history, first, false);
    assert_false(ff__paging_expected(&history, first));
    ff__paging_record(&history, first, true);
    history.storages--;
    assert_int_equal(ff__paging_begin(&history, 20 * MIB, 1, &second), 0);
    assert_int_equal(second, first);
    assert_false(ff__paging_expected(&history, second));
    ff__paging_record(&history, second, false);
    assert_true(ff__paging_expected(&history, second));
    ff__paging_record(&history, second, true);
    assert_false(ff__paging_expected(&history, second)); /* nothing is known of a third time */
    history.storages--;
    assert_int_equal(ff__paging_begin(&history, 20 * MIB, 1, &second), 0);
    ff__paging_record(&history, second, true); /* not as before */
    assert_false(ff__paging_expected(&history, second));
    assert_int_equal(ff__paging_begin(&history, 20 * MIB, 1, &other), 0); /* one more lives */
    assert_int_not_equal(other, first);
    ff__paging_history_fini(&history);
}

/* DeepUM's Figure 9(b): far from the edge, LMS runs or does not as it does there. What it cannot
 * move, masks of dropout for the most part, lies everywhere after some iterations. */
static void test_lms_fragments(void **state) {
    (void)state;
    static const struct {
        const char *spec;
        int status;
    } cases[] = {{"gpt2-l:batch=2,iterations=20", 0}, {"gpt2-xl:batch=7,iterations=20", -ENOSPC}};
    struct ff_error error = {""};
    struct ff__gpu gpu;
    assert_int_equal(ff__gpu_read("v100-32g", GPU_FOLDER, &gpu, &error), 0);
    struct ff__lms_config config = {&gpu, 31486 * MIB, false};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ff__workload *workload;
        struct ff__sim_result result;
        assert_int_equal(ff__workload_open(cases[i].spec, 1, &workload, &error), 0);
        assert_int_equal(ff__lms_run(&config, workload, 20, &result, &error), cases[i].status);
        assert_true(result.iterations > 2); /* not at once */
        ff__workload_close(workload);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one),        cmocka_unit_test(test_order),
        cmocka_unit_test(test_neighbours), cmocka_unit_test(test_fragments),
        cmocka_unit_test(test_all),        cmocka_unit_test(test_pools),
        cmocka_unit_test(test_history),    cmocka_unit_test(test_lms_fragments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
