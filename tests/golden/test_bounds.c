/* What bundled workloads must move at least: of one that goes through its data again and again, and
 * of one with random accesses. */
#include "golden/golden.h"

#include <inttypes.h>
#include <unistd.h>

#include "backend/sim/sim.h"
#include "trace/model/bound.h"

#define GPU     "v100-32g"
#define COLUMNS "workload memory order\tfetched written_back"

static void write_event(void *self, const struct ff_trace_event *event,
                        const struct ff_access *seen) {
    (void)seen;
    assert_int_equal(ff_trace_write(self, event), 0);
}

/* Every access, of a run in which everything fits. */
static void write_trace(struct ff__workload *workload, const char *path) {
    static struct ff__gpu gpu;
    const struct ff_trace_info info = {.source = "sim", .accesses = true};
    struct ff_error error = {""};
    struct ff__sim_result result;
    struct ff__sim_config config = {.gpu = &gpu, .devices = 1, .seed = 1, .observe = write_event};
    struct ff_trace_writer *writer;
    assert_int_equal(ff_trace_create(path, &info, &writer), 0);
    config.observer = writer;
    int status = ff__gpu_read(GPU, GPU_FOLDER, &gpu, &error);
    if (!status)
        status = ff__system_parse("demand", &config.system, &error);
    if (!status)
        status = ff__sim_run(&config, workload, &result, &error);
    if (status)
        fail_msg("%s: %s", workload->type->name, error.message);
    assert_int_equal(ff_trace_finish(writer), 0);
}

static void add_bounds(struct golden *golden, const char *name, uint64_t footprint,
                       const struct ff__touches *touches) {
    static const char *const orders[] = {"any", "recorded"};
    static const unsigned shares[] = {33, 50, 66, 90, 100};
    for (unsigned order = FF__ORDER_ANY; order <= FF__ORDER_RECORDED; order++) {
        for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
            char key[128];
            struct ff__bound bound;
            snprintf(key, sizeof key, "%s %u%% %s", name, shares[i], orders[order]);
            assert_int_equal(ff__bound_find(touches, (enum ff__touch_order)order,
                                            footprint * shares[i] / 100, &bound),
                             0);
            golden_add(golden, key, "%" PRIu64 " %" PRIu64, bound.fetched, bound.written_back);
        }
    }
}

static void test_bounds(void **state) {
    static const char *const workloads[] = {"hotspot:size=12M,steps=4", "ra:size=8M"};
    struct golden golden = golden_open("bounds", COLUMNS);
    char path[64];
    (void)state;
    snprintf(path, sizeof path, "/tmp/farfault-bounds-%ld.trace", (long)getpid());
    for (size_t i = 0; i < sizeof workloads / sizeof workloads[0]; i++) {
        struct ff__workload *workload = NULL;
        struct ff__touches touches;
        struct ff_error error = {""};
        if (ff__workload_open(workloads[i], 1, &workload, &error))
            fail_msg("%s: %s", workloads[i], error.message);
        write_trace(workload, path);
        if (ff__touches_read(path, &touches, &error))
            fail_msg("%s", error.message);
        add_bounds(&golden, workload->type->name, ff__workload_footprint(workload), &touches);
        ff__touches_free(&touches);
        ff__workload_close(workload);
        unlink(path);
    }
    golden_close(&golden);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
