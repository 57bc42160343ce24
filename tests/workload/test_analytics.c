/* Calls of graph analytics: what the pool gives out, their footprint follows from the text and the
 * graph, they scale, no kernel leaves the pool, and every call after the first does the same. */
#include "base/cases.h"

#include "workload/graph/pool.h"
#include "workload/model.h"

#define MIB (UINT64_C(1) << 20)

static struct ff__workload *open_call(const char *spec) {
    struct ff__workload *workload = NULL;
    struct ff_error error = {""};
    if (ff__workload_open(spec, 1, &workload, &error))
        fail_msg("%s: %s", spec, error.message);
    return workload;
}

static const char *const names[] = {"pagerank", "wcc", "bfs-levels", "louvain"};

static struct ff__pool_block take(struct ff__pool *pool, uint64_t bytes, uint64_t expected) {
    struct ff__pool_block block;
    assert_int_equal(ff__pool_take(pool, bytes, &block), 0);
    assert_int_equal(block.offset, expected);
    return block;
}

static void test_pool(void **state) {
    (void)state;
    struct ff__pool pool;
    struct ff__pool_block block;
    ff__pool_init(&pool, 16 * MIB);
    struct ff__pool_block a = take(&pool, 4 * MIB, 0), b = take(&pool, MIB, 4 * MIB);
    struct ff__pool_block c = take(&pool, 2 * MIB - 1, 5 * MIB);
    assert_int_equal(c.bytes, 2 * MIB);
    struct ff__pool_block d = take(&pool, MIB, 7 * MIB);
    ff__pool_give(&pool, &a);
    ff__pool_give(&pool, &c);
    c = take(&pool, MIB, 5 * MIB); /* the smallest that is large enough */
    ff__pool_give(&pool, &c);
    ff__pool_give(&pool, &b); /* joins both its neighbours */
    a = take(&pool, 7 * MIB, 0);
    assert_int_equal(pool.peak, 8 * MIB);
    assert_int_equal(ff__pool_take(&pool, 8 * MIB + 1, &block), -ENOSPC);
    ff__pool_give(&pool, &a);
    ff__pool_give(&pool, &d);
    assert_true(pool.free_count == 1 && pool.free[0].bytes == 16 * MIB);
}

/* Growing text: an old and a new buffer at the same time, of text and of 8 bytes a row. */
static void test_footprint(void **state) {
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        char spec[96];
        snprintf(spec, sizeof spec, "%s:nodes=9,arcs=64000000,scale=4,chunk=16", names[i]);
        struct ff__workload *workload = open_call(spec);
        uint64_t text = 16000000 * UINT64_C(4), rows = 16000000 * UINT64_C(8);
        uint64_t bytes = ff__workload_footprint(workload);
        assert_true(bytes > 2 * rows + text && bytes <= 2 * (rows + text) + 16 * MIB);
        ff__workload_close(workload);
        snprintf(spec, sizeof spec, "%s:size=64M,calls=1048576", names[i]);
        workload = open_call(spec);
        assert_true(workload->peak_by > 0); /* or so many calls take minutes */
        bytes = ff__workload_footprint(workload);
        assert_true(bytes > 63 * MIB && bytes < 65 * MIB);
        ff__workload_close(workload);
    }
}

static uint64_t end_of(const struct ff__operand *operand) {
    uint64_t end = operand->offset + operand->run;
    for (int i = 0; i < FF__LOOPS; i++)
        end += (operand->loop[i].count - 1) * operand->loop[i].stride;
    return end;
}

static void check_kernel(const struct ff__workload *workload, const struct ff__kernel *kernel) {
    assert_true(kernel->operand_count > 0 && kernel->traffic > 0);
    for (uint32_t k = 0; k < kernel->operand_count; k++)
        assert_true(end_of(&kernel->operands[k]) <= workload->arrays[0].bytes);
}

/* Returns its kernels. */
static uint32_t walk(const char *spec) {
    struct ff__workload *workload = open_call(spec);
    struct ff__action action;
    uint32_t launches = 0;
    for (uint64_t j = 0; workload->type->action(workload, j, &action); j++) {
        launches += action.kind == FF__ACTION_LAUNCH;
        if (action.kind == FF__ACTION_LAUNCH)
            check_kernel(workload, &action.kernel);
    }
    ff__workload_close(workload);
    return launches;
}

static void test_bounds(void **state) {
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        char spec[96];
        snprintf(spec, sizeof spec, "%s:size=64M,iterations=7", names[i]);
        uint32_t once = walk(spec);
        snprintf(spec, sizeof spec, "%s:size=64M,iterations=7,calls=3", names[i]);
        /* a call has the same kernels each time: three to make rows, one to sort them, and the
         * iterations */
        assert_int_equal(walk(spec) - once, 2 * (4 + 7));
    }
}

/* Growing buffers are copied by a copy engine, and the host works for each edge of each call, if
 * asked for. */
static void test_options(void **state) {
    (void)state;
    for (int on = 0; on < 2; on++) {
        char spec[96];
        snprintf(spec, sizeof spec,
                 "wcc:nodes=9,arcs=64000000,scale=4,chunk=16,calls=3,engine=%d,edge_ns=%d", on,
                 5 * on);
        struct ff__workload *workload = open_call(spec);
        struct ff__action action;
        uint32_t copies = 0, works = 0, iterations = 0;
        for (uint64_t j = 0; workload->type->action(workload, j, &action); j++) {
            bool copy = action.kind == FF__ACTION_LAUNCH && action.kernel.copies;
            copies += copy;
            works += action.kind == FF__ACTION_WORK && action.work_ns == 16000000 * UINT64_C(5);
            iterations += action.kind == FF__ACTION_ITERATION;
            assert_true(!copy || strncmp(action.kernel.name, "grow_", 5) == 0);
        }
        assert_int_equal(iterations, 3);
        assert_int_equal(works, on ? 3 : 0);
        assert_int_equal(copies > 0, on);
        ff__workload_close(workload);
    }
}

static void test_too_many(void **state) {
    (void)state;
    struct ff__workload *workload = NULL;
    struct ff_error error = {""};
    assert_int_equal(ff__workload_open("wcc:chunk=1", 1, &workload, &error), -EINVAL);
    assert_non_null(strstr(error.message, "larger chunks"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pool),     cmocka_unit_test(test_footprint),
        cmocka_unit_test(test_bounds),   cmocka_unit_test(test_options),
        cmocka_unit_test(test_too_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
