/* The bound: on no workload of workloads.tsv and workloads-ours.tsv is any system faster than the
 * oracle, but for those in oracle.tsv, with by how much. */
#include "golden/golden.h"

#include <inttypes.h>

#define COLUMNS "workload system\ttime relative to the oracle's"

struct row {
    char workload[64], system[64];
    uint64_t time_ns;
};

/* False: the system cannot run the workload. */
static bool parse(const char *line, struct row *row) {
    return sscanf(line, "%63s %63s %" SCNu64, row->workload, row->system, &row->time_ns) == 3;
}

/* 0: it cannot run it. */
static uint64_t oracle_ns(const struct golden *table, const char *workload) {
    struct row row;
    for (unsigned i = 0; i < table->count; i++)
        if (parse(table->lines[i], &row) && strcmp(row.workload, workload) == 0 &&
            strcmp(row.system, "oracle") == 0)
            return row.time_ns;
    return 0;
}

static void test_bound(void **state) {
    struct golden_systems name = golden_systems_open("workloads", "workloads-ours", "");
    struct golden table = golden_read(&name.published), ours = golden_read(&name.ours);
    struct golden faster = golden_open("oracle", COLUMNS);
    unsigned compared = 0;
    for (unsigned i = 0; i < ours.count; i++)
        golden_keep(&table, ours.lines[i]);
    struct row row;
    (void)state;
    for (unsigned i = 0; i < table.count; i++) {
        uint64_t bound = parse(table.lines[i], &row) ? oracle_ns(&table, row.workload) : 0;
        char key[160];
        compared += bound > 0;
        if (bound == 0 || row.time_ns >= bound)
            continue;
        snprintf(key, sizeof key, "%s %s", row.workload, row.system);
        golden_add(&faster, key, "%.3f", (double)row.time_ns / (double)bound);
    }
    assert_true(compared > 350);
    golden_close(&faster);
    free(table.lines);
    free(ours.lines);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
