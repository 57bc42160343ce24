/* Calls of graph analytics: their footprint follows from the graph, they scale with it, and no kernel leaves its arrays. */
#include "base/cases.h"

#include "workload/model.h"

static struct ff__workload *open_call(const char *spec) {
    struct ff__workload *workload = NULL;
    struct ff_error error = {""};
    if (ff__workload_open(spec, 1, &workload, &error))
        fail_msg("%s: %s", spec, error.message);
    return workload;
}

static const char *const names[] = {"pagerank", "wcc", "bfs-levels", "louvain"};

static void test_footprint(void **state) {
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        char spec[96];
        snprintf(spec, sizeof spec, "%s:nodes=64000,arcs=640000,scale=4", names[i]);
        struct ff__workload *workload = open_call(spec);
        assert_int_equal(ff__workload_footprint(workload), 160000 * 16 * 3 + 16000 * 32);
        ff__workload_close(workload);
        snprintf(spec, sizeof spec, "%s:size=64M", names[i]);
        workload = open_call(spec);
        uint64_t bytes = ff__workload_footprint(workload);
        assert_true(bytes <= 64 << 20 && bytes > (64 << 20) - (64 << 10));
        ff__workload_close(workload);
    }
}

static uint64_t end_of(const struct ff__operand *operand) {
    uint64_t end = operand->offset + operand->run;
    for (int i = 0; i < FF__LOOPS; i++)
        end += (operand->loop[i].count - 1) * operand->loop[i].stride;
    return end;
}

static void test_bounds(void **state) {
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        char spec[96];
        snprintf(spec, sizeof spec, "%s:size=64M,iterations=7", names[i]);
        struct ff__workload *workload = open_call(spec);
        struct ff__action action;
        uint32_t launches = 0;
        for (uint64_t j = 0; workload->type->action(workload, j, &action); j++) {
            if (action.kind != FF__ACTION_LAUNCH)
                continue;
            launches++;
            assert_true(action.kernel.operand_count > 0 && action.kernel.traffic > 0);
            for (uint32_t k = 0; k < action.kernel.operand_count; k++) {
                const struct ff__operand *operand = &action.kernel.operands[k];
                assert_true(end_of(operand) <= workload->arrays[operand->array].bytes);
            }
        }
        assert_int_equal(launches, 1 + 8 + 8 + 1 + 8 + 1 + 7);
        ff__workload_close(workload);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_footprint),
        cmocka_unit_test(test_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
