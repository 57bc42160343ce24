/* Traces as workloads: the same accesses in the same order, warp by warp, whatever the order of the
 * trace was. */
#include "trace/fixture.h"

#include "trace/model/replay.h"

static struct ff__workload *replay(const char *path) {
    struct ff_error error = {""};
    struct ff__workload *workload = NULL;
    int status = ff__trace_workload(path, &workload, &error);
    if (status)
        fail_msg("%d %s", status, error.message);
    for (uint32_t i = 0; i < workload->array_count; i++) /* as its runner would */
        workload->arrays[i].first_page = 1000000 * (uint64_t)(i + 1);
    return workload;
}

static void done(struct ff__workload *workload) {
    workload->type->close(workload);
    free(workload->arrays);
    free(workload);
}

static struct ff__action action_at(const struct ff__workload *workload, uint64_t index,
                                   enum ff__action_kind kind) {
    struct ff__action action;
    assert_true(workload->type->action(workload, index, &action));
    assert_int_equal(action.kind, kind);
    return action;
}

static void assert_over(const struct ff__workload *workload, uint64_t index) {
    struct ff__action action;
    assert_false(workload->type->action(workload, index, &action));
    assert_false(workload->type->action(workload, UINT64_MAX, &action));
}

static bool step_at(const struct ff__workload *workload, const struct ff__kernel *kernel,
                    uint32_t cta, uint32_t warp, uint32_t index, struct ff__step *step) {
    memset(step, 0x5a, sizeof *step);
    return kernel->step(workload, kernel, cta, warp, index, step);
}

static void assert_step(const struct ff__workload *workload, const struct ff__kernel *kernel,
                        uint32_t cta, uint32_t warp, uint32_t index, struct ff__step want) {
    struct ff__step got;
    assert_true(step_at(workload, kernel, cta, warp, index, &got));
    assert_int_equal(got.instructions, want.instructions);
    assert_int_equal(got.pc, want.pc);
    assert_int_equal(got.sectors, want.sectors);
    assert_int_equal(got.write, want.write);
    assert_int_equal(got.page_count, want.page_count);
    for (uint32_t i = 0; i < want.page_count; i++)
        assert_int_equal(got.page[i], want.page[i]);
}

/* ---- accesses ---- */

#define RANGE(n, size)                                                                             \
    { .kind = FF_TRACE_RANGE, .range = n, .bytes = size }
#define FREE(n)                                                                                    \
    { .kind = FF_TRACE_FREE, .range = n }
#define LAUNCH(i, text)                                                                            \
    { .kind = FF_TRACE_LAUNCH, .identity = i, .name = text }
#define LAUNCH_END(i)                                                                              \
    { .kind = FF_TRACE_LAUNCH_END, .identity = i }
#define FAULT(n, p)                                                                                \
    { .kind = FF_TRACE_FAULT, .range = n, .page = p }
#define ACCESS(n, p, ...)                                                                          \
    { .kind = FF_TRACE_ACCESS, .range = n, .page = p, __VA_ARGS__ }
#define WRITE(path, accesses, events)                                                              \
    write_trace(path, accesses, events, sizeof events / sizeof events[0])

static void test_steps(void **state) {
    (void)state;
    const struct ff_trace_event events[] = {
        RANGE(0, 1 << 20),
        RANGE(1, 5000),
        {.kind = FF_TRACE_HOST_WRITE, .range = 1, .page = 1, .bytes = 4096},
        {.kind = FF_TRACE_LAUNCH, .identity = 7, .name = "k", .ctas = 2, .warps = 2},
        ACCESS(0, 3, .instructions = 4, .pc = 16, .bytes = 128),
        ACCESS(1, 0, .instructions = 2, .pc = 16, .warp = 1, .write = true),
        ACCESS(0, 4, .pc = 16, .bytes = 64), /* a page more of warp 0's instruction */
        ACCESS(0, 3, .pc = 16, .bytes = 32), /* the same page again: no page more */
        ACCESS(0, 9, .pc = 16, .bytes = 32, .write = true), /* cannot be the same instruction */
        ACCESS(1, 1, .instructions = 1, .pc = 20, .warp = 1),
        ACCESS(0, 255, .instructions = 1, .pc = 24, .cta = 1, .warp = 1),
        {.kind = FF_TRACE_FAULT, .range = 0, .page = 200}, /* follows from an access: no step */
        {.kind = FF_TRACE_MIGRATE, .range = 0, .pages = 5},
        LAUNCH_END(7),
        {.kind = FF_TRACE_HOST_READ, .range = 0, .page = 255, .bytes = 1 << 20},
        FREE(1),
    };
    WRITE(in_folder("steps"), true, events);
    struct ff__workload *workload = replay(in_folder("steps"));
    assert_int_equal(workload->array_count, 2);
    assert_int_equal(workload->arrays[1].bytes, 5000);
    assert_int_equal(action_at(workload, 1, FF__ACTION_ALLOCATE).array, 1);
    struct ff__action write = action_at(workload, 2, FF__ACTION_HOST_WRITE);
    assert_int_equal(write.offset, 4096);
    assert_int_equal(write.bytes, 5000 - 4096); /* no more than there is */
    struct ff__kernel kernel = action_at(workload, 3, FF__ACTION_LAUNCH).kernel;
    assert_string_equal(kernel.name, "k");
    assert_int_equal(kernel.identity, 7);
    assert_int_equal(kernel.ctas, 2);
    assert_int_equal(kernel.warps, 2);
    for (int i = 0; i < 2; i++) { /* asked again, it says the same */
        assert_step(workload, &kernel, 0, 0, 1,
                    (struct ff__step){1, 16, 1, true, true, 1, {1000009}});
        assert_step(workload, &kernel, 0, 0, 0,
                    (struct ff__step){4, 16, 7, false, false, 2, {1000003, 1000004}});
        assert_step(workload, &kernel, 0, 1, 0,
                    (struct ff__step){2, 16, 4, true, true, 1, {2000000}});
        assert_step(workload, &kernel, 0, 1, 1,
                    (struct ff__step){1, 20, 4, false, false, 1, {2000001}});
        assert_step(workload, &kernel, 1, 1, 0,
                    (struct ff__step){1, 24, 4, false, false, 1, {1000255}});
    }
    struct ff__step step;
    assert_false(step_at(workload, &kernel, 0, 0, 2, &step));
    assert_false(step_at(workload, &kernel, 1, 0, 0, &step));
    assert_false(step_at(workload, &kernel, 2, 0, 0, &step));
    assert_false(step_at(workload, &kernel, 0, 2, 0, &step));
    assert_int_equal(action_at(workload, 4, FF__ACTION_HOST_READ).bytes, 4096);
    assert_int_equal(action_at(workload, 5, FF__ACTION_FREE).array, 1);
    assert_over(workload, 6);
    done(workload);
}

static struct ff__workload *replay_touches(const struct ff_trace_event *events, size_t count) {
    const struct ff_trace_info info = {.source = "test", .touches = true};
    struct ff_trace_writer *writer;
    assert_int_equal(ff_trace_create(in_folder("touches"), &info, &writer), 0);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(ff_trace_write(writer, &events[i]), 0);
    assert_int_equal(ff_trace_finish(writer), 0);
    return replay(in_folder("touches"));
}

/* Touches are waited for, also those of writes. Only what was found changed is a write, also if
 * that is found later; and there is work without a touch. */
static void test_touches(void **state) {
    (void)state;
    const struct ff_trace_event events[] = {
        RANGE(0, 1 << 20),
        LAUNCH(1, "k"),
        ACCESS(0, 3, .instructions = 50),
        ACCESS(0, 4, .instructions = 60, .cta = 1, .write = true), /* of what was there before */
        ACCESS(0, 5, .instructions = 70),
        {.kind = FF_TRACE_WORK, .instructions = 900},
        {.kind = FF_TRACE_WORK, .cta = 1}, /* none: no step */
        {.kind = FF_TRACE_WRITTEN, .page = 5, .pages = 2},
        FAULT(0, 200), /* of a recording that has both: no step */
        LAUNCH_END(1),
        {.kind = FF_TRACE_WRITTEN,
         .page = 3,
         .pages = 1}, /* nothing runs that could have done it */
    };
    struct ff__workload *workload = replay_touches(events, sizeof events / sizeof events[0]);
    struct ff__kernel kernel = action_at(workload, 1, FF__ACTION_LAUNCH).kernel;
    struct ff__step step;
    assert_int_equal(kernel.ctas, 2); /* one a thread */
    assert_int_equal(kernel.warps, 1);
    assert_step(workload, &kernel, 0, 0, 0,
                (struct ff__step){50, 0, 4, false, false, 1, {1000003}});
    assert_step(workload, &kernel, 0, 0, 1, (struct ff__step){70, 0, 4, true, false, 1, {1000005}});
    assert_step(workload, &kernel, 0, 0, 2, (struct ff__step){900, 0, 0, false, false, 0, {0}});
    assert_step(workload, &kernel, 1, 0, 0,
                (struct ff__step){60, 0, 4, false, false, 1, {1000004}});
    assert_true(step_at(workload, &kernel, 0, 0, 1, &step));
    assert_false(step.goes_on);
    assert_false(step_at(workload, &kernel, 0, 0, 3, &step));
    assert_false(step_at(workload, &kernel, 1, 0, 1, &step));
    assert_over(workload, 2);
    done(workload);
}

/* What the host touches outside of launches is written to if its fault said so. */
static void test_touches_of_the_host(void **state) {
    (void)state;
    const struct ff_trace_event events[] = {RANGE(0, 1 << 20), ACCESS(0, 3, .write = true),
                                            ACCESS(0, 4, .instructions = 1)};
    struct ff__workload *workload = replay_touches(events, sizeof events / sizeof events[0]);
    struct ff__kernel kernel = action_at(workload, 1, FF__ACTION_LAUNCH).kernel;
    assert_step(workload, &kernel, 0, 0, 0, (struct ff__step){1, 0, 4, true, false, 1, {1000003}});
    assert_step(workload, &kernel, 0, 0, 1, (struct ff__step){1, 0, 4, false, false, 1, {1000004}});
    done(workload);
}

/* A huge grid of which little was traced is made small; so is one of unknown size. */
static void test_shapes(void **state) {
    (void)state;
    const struct ff_trace_event events[] = {
        RANGE(0, 1 << 20),
        {.kind = FF_TRACE_LAUNCH, .identity = 1, .ctas = 1u << 31, .warps = 32},
        ACCESS(0, 1, .instructions = 1, .cta = 1u << 30, .warp = 31),
        ACCESS(0, 2, .instructions = 1, .cta = 5, .warp = 3),
        LAUNCH_END(1),
        LAUNCH(2, NULL),
        ACCESS(0, 3, .instructions = 1, .cta = 9, .warp = 3),
        ACCESS(0, 4, .instructions = 1, .cta = 9, .warp = 1),
        LAUNCH_END(2),
        LAUNCH(3, "idle"),
        LAUNCH_END(3),
    };
    WRITE(in_folder("shapes"), true, events);
    struct ff__workload *workload = replay(in_folder("shapes"));
    struct ff__kernel kernel = action_at(workload, 1, FF__ACTION_LAUNCH).kernel;
    assert_int_equal(kernel.ctas, 2);
    assert_int_equal(kernel.warps, 1);
    assert_step(workload, &kernel, 0, 0, 0, (struct ff__step){1, 0, 4, false, false, 1, {1000002}});
    assert_step(workload, &kernel, 1, 0, 0, (struct ff__step){1, 0, 4, false, false, 1, {1000001}});
    kernel = action_at(workload, 2, FF__ACTION_LAUNCH).kernel;
    assert_string_equal(kernel.name, "");
    assert_int_equal(kernel.ctas, 1);
    assert_int_equal(kernel.warps, 2);
    assert_step(workload, &kernel, 0, 1, 0, (struct ff__step){1, 0, 4, false, false, 1, {1000003}});
    kernel = action_at(workload, 3, FF__ACTION_LAUNCH).kernel;
    struct ff__step step;
    assert_int_equal(kernel.ctas, 1);
    assert_false(step_at(workload, &kernel, 0, 0, 0, &step));
    done(workload);
}

/* Many warps in turn, against lists kept by the naive way. */
static void test_many(void **state) {
    (void)state;
    enum { CTAS = 40, WARPS = 7, COUNT = 60000 };
    static uint64_t pages[CTAS][WARPS][1000];
    static uint32_t counts[CTAS][WARPS];
    struct ff_trace_event *events = calloc(COUNT + 3, sizeof *events);
    struct ff__random random = ff__random_seeded(3);
    events[0] = (struct ff_trace_event)RANGE(0, 1 << 30);
    events[1] = (struct ff_trace_event){
        .kind = FF_TRACE_LAUNCH, .identity = 1, .ctas = CTAS, .warps = WARPS};
    for (uint32_t i = 2; i < COUNT + 2; i++) {
        uint32_t cta = ff__random_below(&random, CTAS), warp = ff__random_below(&random, WARPS);
        uint32_t page = ff__random_below(&random, 1 << 18);
        events[i] =
            (struct ff_trace_event)ACCESS(0, page, .instructions = 1, .cta = cta, .warp = warp);
        assert_true(counts[cta][warp] < 1000);
        pages[cta][warp][counts[cta][warp]++] = page;
    }
    write_trace(in_folder("many"), true, events, COUNT + 2); /* the launch has no end */
    struct ff__workload *workload = replay(in_folder("many"));
    struct ff__kernel kernel = action_at(workload, 1, FF__ACTION_LAUNCH).kernel;
    for (uint32_t i = 0; i < CTAS * WARPS; i++) {
        uint32_t cta = i / WARPS, warp = i % WARPS;
        struct ff__step step;
        for (uint32_t j = 0; j < counts[cta][warp]; j++) {
            assert_true(step_at(workload, &kernel, cta, warp, j, &step));
            assert_int_equal(step.page[0], 1000000 + pages[cta][warp][j]);
        }
        assert_false(step_at(workload, &kernel, cta, warp, counts[cta][warp], &step));
    }
    done(workload);
    free(events);
}

/* ---- faults ---- */

static void test_faults(void **state) {
    (void)state;
    const struct ff_trace_event events[] = {
        RANGE(0, 1 << 20), FAULT(0, 1),    FAULT(0, 2),   LAUNCH(1, "a"),
        FAULT(0, 3),       LAUNCH(2, "b"), FAULT(0, 4), /* the latest launch's */
        LAUNCH_END(2),     FAULT(0, 5),    LAUNCH_END(1), FAULT(0, 6),
        LAUNCH_END(99),    FAULT(0, 7),    FREE(0),
    };
    static const struct {
        const char *name;
        uint64_t pages[3];
    } want[] = {
        {"(no launch)", {1, 2, 0}}, {"a", {3, 5, 0}}, {"b", {4, 0}}, {"(no launch)", {6, 7, 0}}};
    WRITE(in_folder("faults"), false, events);
    struct ff__workload *workload = replay(in_folder("faults"));
    for (uint32_t i = 0; i < 4; i++) {
        struct ff__kernel kernel = action_at(workload, 1 + i, FF__ACTION_LAUNCH).kernel;
        struct ff__step step;
        uint32_t index = 0;
        assert_string_equal(kernel.name, want[i].name);
        assert_int_equal(kernel.ctas * kernel.warps, 1);
        for (; want[i].pages[index]; index++)
            assert_step(
                workload, &kernel, 0, 0, index,
                (struct ff__step){1, 0, 4, false, false, 1, {1000000 + want[i].pages[index]}});
        assert_false(step_at(workload, &kernel, 0, 0, index, &step));
    }
    assert_int_equal(action_at(workload, 5, FF__ACTION_FREE).array, 0);
    assert_over(workload, 6);
    done(workload);
}

/* ---- ranges that come and go ---- */

static void test_ranges_again(void **state) {
    (void)state;
    const struct ff_trace_event events[] = {
        RANGE(0, 8192), FREE(0),        RANGE(0, 8192), /* the same array */
        FREE(0),        RANGE(0, 4096),                 /* another one */
        LAUNCH(1, "k"), FAULT(0, 0),    FREE(0),        RANGE(0, 4096), FAULT(0, 0), LAUNCH_END(1),
    };
    WRITE(in_folder("again"), false, events);
    struct ff__workload *workload = replay(in_folder("again"));
    static const enum ff__action_kind kinds[] = {
        FF__ACTION_ALLOCATE, FF__ACTION_FREE,     FF__ACTION_ALLOCATE, FF__ACTION_FREE,
        FF__ACTION_ALLOCATE, FF__ACTION_ALLOCATE, FF__ACTION_LAUNCH,   FF__ACTION_FREE};
    static const uint32_t arrays[] = {0, 0, 0, 0, 1, 2, 0, 1};
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(action_at(workload, i, kinds[i]).array, arrays[i]);
    assert_over(workload, 8);
    assert_int_equal(workload->array_count, 3);
    /* what the kernel uses exists before it starts, though the program allocated it meanwhile */
    struct ff__kernel kernel = action_at(workload, 6, FF__ACTION_LAUNCH).kernel;
    assert_step(workload, &kernel, 0, 0, 0, (struct ff__step){1, 0, 4, false, false, 1, {2000000}});
    assert_step(workload, &kernel, 0, 0, 1, (struct ff__step){1, 0, 4, false, false, 1, {3000000}});
    done(workload);
}

/* Logs of faults announce ranges in between: that is one launch, after all its ranges. */
static void test_ranges_between(void **state) {
    (void)state;
    const struct ff_trace_event events[] = {
        RANGE(0, 4096), FAULT(0, 0), RANGE(1, 4096), FAULT(1, 0), FREE(0), FAULT(1, 0),
    };
    WRITE(in_folder("between"), false, events);
    struct ff__workload *workload = replay(in_folder("between"));
    action_at(workload, 0, FF__ACTION_ALLOCATE);
    action_at(workload, 1, FF__ACTION_ALLOCATE);
    struct ff__kernel kernel = action_at(workload, 2, FF__ACTION_LAUNCH).kernel;
    assert_step(workload, &kernel, 0, 0, 1, (struct ff__step){1, 0, 4, false, false, 1, {2000000}});
    action_at(workload, 3, FF__ACTION_FREE);
    action_at(workload, 4, FF__ACTION_LAUNCH);
    assert_over(workload, 5);
    done(workload);
}

static void check_contradiction(const struct ff_trace_event *events, size_t count, int want,
                                const char *says) {
    struct ff__workload *workload = NULL;
    struct ff_error error = {""};
    write_trace(in_folder("bad"), false, events, count);
    assert_int_equal(ff__trace_workload(in_folder("bad"), &workload, &error), want);
    if (!strstr(error.message, says))
        fail_msg("'%s' is not in '%s'", says, error.message);
}

static void test_contradictions(void **state) {
    (void)state;
    const struct ff_trace_event unknown[] = {FAULT(0, 0)};
    const struct ff_trace_event freed[] = {RANGE(0, 4096), FREE(0), FAULT(0, 0)};
    const struct ff_trace_event behind[] = {RANGE(0, 4097), FAULT(0, 1), FAULT(0, 2)};
    const struct ff_trace_event twice[] = {RANGE(0, 4096), RANGE(0, 4096)};
    const struct ff_trace_event empty[] = {RANGE(0, 0)};
    const struct ff_trace_event huge[] = {RANGE(0, UINT64_MAX)};
    const struct ff_trace_event device[] = {RANGE(0, 4096), {.kind = FF_TRACE_LAUNCH, .device = 8}};
    check_contradiction(unknown, 1, -EBADMSG, "not allocated");
    check_contradiction(freed, 3, -EBADMSG, "not allocated");
    check_contradiction(behind, 3, -EBADMSG, "beyond its end");
    check_contradiction(twice, 2, -EBADMSG, "twice");
    check_contradiction(empty, 1, -EBADMSG, "size");
    check_contradiction(huge, 1, -EBADMSG, "size");
    check_contradiction(device, 2, -ENOTSUP, "device 8");
    struct ff__workload *workload = NULL;
    struct ff_error error = {""};
    assert_int_equal(ff__trace_workload(in_folder("nothing"), &workload, &error), -ENOENT);
    assert_true(error.message[0] != '\0');
    assert_int_equal(ff__trace_workload(in_folder("nothing"), &workload, NULL), -ENOENT);
}

static void test_many_running(void **state) {
    (void)state;
    struct ff_trace_event *events = calloc(5000, sizeof *events);
    for (uint32_t i = 0; i < 5000; i++)
        events[i] = (struct ff_trace_event)LAUNCH(i, "k");
    check_contradiction(events, 5000, -EBADMSG, "do not end");
    free(events);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps),          cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_many),           cmocka_unit_test(test_faults),
        cmocka_unit_test(test_touches),        cmocka_unit_test(test_touches_of_the_host),
        cmocka_unit_test(test_ranges_again),   cmocka_unit_test(test_ranges_between),
        cmocka_unit_test(test_contradictions), cmocka_unit_test(test_many_running),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
