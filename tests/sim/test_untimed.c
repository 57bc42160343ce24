/* Runs without time: a naive twin of least-recently-used misses the same pages and sends the same
 * ones away, in the same order. */
#include "sim/little.h"

#include <stdlib.h>
#include <string.h>

#define PAGES      3000u
#define ROOM       700u /* pages of the device */
#define ACCESSES   40000u
#define LEAVES_MAX (512 * ACCESSES) /* an access may bring its block */
#define ZIPF       "zipf:pages=3000,accesses=40000,ctas=2,warps=3"

static struct ff__workload *open_workload(const char *spec) {
    struct ff__workload *workload;
    struct ff_error error = {""};
    if (ff__workload_open(spec, 1, &workload, &error))
        fail_msg("%s", error.message);
    return workload;
}

/* ---- watching evictions: a policy around the policy ---- */

static struct {
    const struct ff_evict_policy *inner;
    uint32_t pages[LEAVES_MAX];
    uint32_t count;
} left;

static void watch_leave(void *state, const struct ff_view *view, const struct ff_leave *leave) {
    static const struct ff_mask none;
    const struct ff_mask *pages = leave->kind == FF_LEAVE_PAGES ? leave->pages : &none;
    FF_MASK_FOR_EACH_PAGE(pages, page) {
        assert_true(left.count < LEAVES_MAX);
        left.pages[left.count++] = leave->block * FF_BLOCK_PAGES + page;
    }
    left.inner->base.on_leave(state, view, leave);
}

static struct ff__sim_result simulate(const char *spec, const char *gpu, const char *system,
                                      bool untimed, bool check) {
    static struct ff__gpu preset;
    static struct ff_evict_policy watched;
    struct ff__workload *workload = open_workload(spec);
    struct ff_error error = {""};
    struct ff__sim_config config = {.gpu = &preset,
                                    .memory = ROOM * FF_PAGE_SIZE,
                                    .devices = 1,
                                    .seed = 1,
                                    .check = check,
                                    .untimed = untimed};
    struct ff__sim_result result = {0};
    if (ff__gpu_read(gpu, GPU_FOLDER, &preset, &error) ||
        ff__system_parse(system, &config.system, &error))
        fail_msg("%s", error.message);
    left.count = 0;
    left.inner = (const void *)config.system.policy[FF__EVICT];
    watched = *left.inner;
    if (watched.base.on_leave)
        watched.base.on_leave = watch_leave;
    config.system.policy[FF__EVICT] = &watched.base;
    if (ff__sim_run(&config, workload, &result, &error))
        fail_msg("%s", error.message);
    ff__workload_close(workload);
    return result;
}

/* ---- the twin ---- */

struct twin {
    uint32_t used[PAGES]; /* when last; 0: not here */
    uint32_t here, misses, left_count;
    uint32_t left[ACCESSES];
};

static void twin_touch(struct twin *twin, uint32_t page, uint32_t now) {
    if (twin->used[page] == 0) {
        twin->misses++;
        if (twin->here == ROOM) {
            uint32_t oldest = 0;
            for (uint32_t i = 0; i < PAGES; i++)
                if (twin->used[i] && (!twin->used[oldest] || twin->used[i] < twin->used[oldest]))
                    oldest = i;
            twin->used[oldest] = 0;
            twin->left[twin->left_count++] = oldest;
        } else {
            twin->here++;
        }
    }
    twin->used[page] = now;
}

/* The warps of the model take turns, and share out one sequence. */
static void run_twin(struct twin *twin) {
    struct ff__workload *workload = open_workload(ZIPF);
    struct ff__action action;
    struct ff__step step;
    uint64_t index = 0;
    do
        assert_true(workload->type->action(workload, index++, &action));
    while (action.kind != FF__ACTION_LAUNCH);
    for (uint32_t at = 0; at < ACCESSES; at++) {
        assert_true(
            action.kernel.step(workload, &action.kernel, at / 3 % 2, at % 3, at / 6, &step));
        twin_touch(twin, (uint32_t)step.page[0], at + 1);
    }
    ff__workload_close(workload);
}

static void test_naive_twin(void **state) {
    (void)state;
    static struct twin twin;
    run_twin(&twin);
    for (unsigned check = 0; check < 2; check++) {
        struct ff__sim_result r =
            simulate(ZIPF, "gtx1080ti", "demand:evict=lru-4k", true, check > 0);
        assert_int_equal(r.accesses, ACCESSES);
        assert_int_equal(r.faults, twin.misses);
        assert_int_equal(r.hits, ACCESSES - twin.misses);
        assert_true(left.count >= twin.left_count); /* at the end, all that is there is freed */
        assert_memory_equal(left.pages, twin.left, twin.left_count * sizeof *twin.left);
        assert_true(twin.left_count > 1000);
    }
}

/* ---- against time ---- */

/* With a single warp, which waits for all that it reads, nothing overlaps: time changes nothing. */
static void test_as_timed(void **state) {
    (void)state;
    static const char *const systems[] = {"demand", "demand:evict=lru-4k", "nvidia:thrashing=0"};
    static const char *const gpus[] = {"gtx1080ti", "v100-16g"};
    const char *spec = "zipf:pages=3000,accesses=40000,ctas=1,warps=1,writes=0";
    for (unsigned i = 0; i < 6; i++) {
        struct ff__sim_result with = simulate(spec, gpus[i % 2], systems[i / 2], false, true);
        struct ff__sim_result without = simulate(spec, gpus[i % 2], systems[i / 2], true, true);
        assert_int_equal(with.faults, without.faults);
        assert_true(with.hits <= without.hits); /* what is still on its way is waited for */
        assert_int_equal(with.pages_in, without.pages_in);
        assert_int_equal(with.bytes_out, without.bytes_out);
        assert_int_equal(with.thrashed, without.thrashed);
        assert_int_equal(without.time_ns, 0);
    }
}

static void test_nobody_beats_belady(void **state) {
    (void)state;
    static const char *const others[] = {"demand", "demand:evict=lru-4k", "demand:evict=random-4k"};
    uint64_t least = simulate(ZIPF, "gtx1080ti", "belady", true, false).faults;
    for (unsigned i = 0; i < 3; i++)
        assert_true(simulate(ZIPF, "gtx1080ti", others[i], true, false).faults > least);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_naive_twin),
        cmocka_unit_test(test_as_timed),
        cmocka_unit_test(test_nobody_beats_belady),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
