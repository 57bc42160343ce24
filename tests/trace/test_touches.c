/* Recording what each launch touches: every page once a launch, whatever is resident, and whether
 * it was written to. */
#include "trace/fixture.h"

#include "runtime/fixture.h"

#include "base/clock.h"
#include "trace/model/replay.h"
#include "trace/touchers.h"

#include <pthread.h>
#include <sys/syscall.h>

#define PAGES  64u /* of the memory; the first half is read, the second written */
#define LATE   5u  /* read first, written in the end */
#define BUDGET ((uint64_t)8 << 20)

/* ---- CPU time ---- */

static uint64_t cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void spin(uint64_t ns) {
    for (uint64_t start = cpu_ns(); cpu_ns() - start < ns;)
        ;
}

/* ---- the recording ---- */

struct work {
    volatile unsigned char *memory;
    unsigned pages;
};

static void touch(const struct ff_work *work, void *arguments) {
    const struct work *what = arguments;
    (void)work;
    for (size_t page = 0; page < what->pages; page++)
        if (page < PAGES / 2)
            (void)what->memory[page * FF_PAGE_SIZE];
        else
            what->memory[page * FF_PAGE_SIZE]++;
    what->memory[LATE * FF_PAGE_SIZE]++;
}

static void launch(struct ff_stream *stream, struct work *work) {
    const struct ff_launch what = {.name = "touch",
                                   .kernel = touch,
                                   .grid = 1,
                                   .arguments = work,
                                   .argument_size = sizeof *work};
    assert_int_equal(ff_kernel_launch(stream, &what), 0);
    spin(1000000); /* what the program does meanwhile is no part of the launch */
    ff_stream_synchronize(stream);
}

/* Two launches over pages that the program has written before. */
static void record(struct ff_config config, unsigned pages) {
    struct ff_stream *stream;
    config.system = "demand";
    config.touches = true;
    config.workers = 1;
    struct ff_context *context = open_or_skip(&config);
    struct work work = {alloc(context, pages * FF_PAGE_SIZE), pages};
    memset((void *)(uintptr_t)work.memory, 1, pages * FF_PAGE_SIZE);
    assert_int_equal(ff_stream_create(context, 0, &stream), 0);
    launch(stream, &work);
    launch(stream, &work);
    ff_stream_destroy(stream);
    for (unsigned page = 0; page < PAGES; page++)
        assert_int_equal(work.memory[page * FF_PAGE_SIZE],
                         page == LATE || page >= PAGES / 2 ? 3 : 1);
    ff_close(context);
}

static bool is_written(uint64_t page) {
    return page == LATE || page >= PAGES / 2;
}

/* ---- what it holds ---- */

struct seen {
    unsigned launches, touches, written[PAGES];
};

static void see(struct seen *seen, const struct ff_trace_event *event) {
    switch (event->kind) {
    case FF_TRACE_LAUNCH:
        *seen = (struct seen){.launches = seen->launches + 1};
        break;
    case FF_TRACE_ACCESS:
        if (seen->launches == 0) {
#ifdef __x86_64__                      /* elsewhere a signal does not say so */
            assert_true(event->write); /* the program's memset() */
#endif
            break;
        }
        assert_int_equal(event->page, seen->touches++); /* in order */
        assert_true(event->instructions > 0);
        break;
    case FF_TRACE_WRITTEN:
        for (uint64_t i = 0; i < event->pages && seen->launches > 0; i++)
            seen->written[event->page + i]++;
        break;
    case FF_TRACE_LAUNCH_END:
        assert_int_equal(seen->touches, PAGES);
        for (unsigned page = 0; page < PAGES; page++)
            assert_int_equal(seen->written[page], is_written(page));
        break;
    default:
        assert_true(event->kind == FF_TRACE_RANGE || event->kind == FF_TRACE_WORK);
    }
}

static void check_trace(const char *path) {
    struct ff_trace_reader *reader;
    struct ff_trace_event event;
    struct ff_trace_info info;
    struct ff_error error;
    struct seen seen = {0};
    int status = ff_trace_open(path, &reader, &info, &error);
    if (status)
        fail_msg("%s", error.message);
    assert_true(info.touches);
    assert_false(info.accesses);
    assert_int_equal(info.memory, BUDGET);
    for (bool over = false; (status = ff_trace_read(reader, &event, &error)) > 0;) {
        over = over || (seen.launches == 2 && event.kind == FF_TRACE_LAUNCH_END);
        if (!over || event.kind == FF_TRACE_LAUNCH_END) /* later the test looks at the memory */
            see(&seen, &event);
    }
    assert_int_equal(status, 0);
    assert_int_equal(seen.launches, 2);
    ff_trace_close(reader);
}

/* Each touch is a step that waits for its page. */
static void check_launch(const struct ff__workload *workload, const struct ff__kernel *kernel) {
    struct ff__step step;
    uint64_t page = 0;
    for (uint32_t i = 0; kernel->step(workload, kernel, 0, 0, i, &step); i++) {
        assert_false(step.goes_on);
        if (step.page_count == 0)
            continue;
        assert_int_equal(step.page_count, 1);
        assert_int_equal(step.page[0], page);
        assert_int_equal(step.write, is_written(page));
        page++;
    }
    assert_int_equal(page, PAGES);
    assert_int_equal(kernel->ctas, 1);
}

static void check_replay(const char *path) {
    struct ff__workload *workload;
    struct ff_error error;
    struct ff__action action;
    unsigned launches = 0;
    if (ff__trace_workload(path, &workload, &error))
        fail_msg("%s", error.message);
    for (uint64_t i = 0; workload->type->action(workload, i, &action); i++) {
        if (action.kind != FF__ACTION_LAUNCH || strcmp(action.kernel.name, "touch") != 0)
            continue;
        check_launch(workload, &action.kernel);
        launches++;
    }
    assert_int_equal(launches, 2);
    workload->type->close(workload);
    free(workload->arrays);
    free(workload);
}

static void test_touches(void **state) {
    (void)state;
    FOR_EACH_CONFIG(config, BUDGET) {
        if (strcmp(config.system, "nvidia-1") !=
            0) /* of which every mechanism and handler is run */
            continue;
        config.record = in_folder("touches");
        record(config, PAGES);
        check_trace(config.record);
        check_replay(config.record);
    }
}

/* What a launch touches again after as much as there is memory for is touched again. */
static void test_window(void **state) {
    (void)state;
    struct ff_config config = standard_config((uint64_t)4 << 20);
    struct ff_trace_reader *reader;
    struct ff_trace_event event;
    unsigned launches = 0, late = 0;
    config.record = in_folder("window");
    record(config, 4 * FF_BLOCK_PAGES);
    assert_int_equal(ff_trace_open(config.record, &reader, NULL, NULL), 0);
    while (ff_trace_read(reader, &event, NULL) > 0 && launches < 2) {
        launches += event.kind == FF_TRACE_LAUNCH_END;
        late += event.kind == FF_TRACE_ACCESS && event.page == LATE;
    }
    ff_trace_close(reader);
    assert_int_equal(late, 1 + 2 * 2); /* before them, and in each launch first and last */
}

static void test_wrong_settings(void **state) {
    (void)state;
    struct ff_config config = standard_config(BUDGET);
    struct ff_context *context;
    struct ff_error error;
    config.touches = true;
    config.system = "demand";
    assert_int_equal(ff_open(&config, &context, &error), -EINVAL);
    assert_non_null(strstr(error.message, "touches=on"));
    config.record = in_folder("never");
    config.system = "nvidia";
    assert_int_equal(ff_open(&config, &context, &error), -EINVAL);
    assert_non_null(strstr(error.message, "system=demand"));
    assert_int_not_equal(access(in_folder("never"), F_OK), 0);
}

/* ---- the time between touches ---- */

/* A thread's work counts; its waiting does not. The thread's own clock says within what, however
 * loaded the machine is. */
static void test_work(void **state) {
    (void)state;
    struct ff__touchers touchers = {.count = 0};
    int32_t thread = (int32_t)syscall(SYS_gettid);
    uint32_t ns;
    assert_int_equal(ff__touchers_touch(&touchers, thread, &ns), 0);
    spin(5000000);
    assert_int_equal(ff__touchers_rest(&touchers, 0), 0); /* it has touched nothing in a launch */
    ff__touchers_begin(&touchers);
    spin(5000000);
    assert_int_equal(ff__touchers_rest(&touchers, 0), 0);
    ff__touchers_touch(&touchers, thread, &ns);
    uint64_t first = cpu_ns();
    ff__touchers_touch(&touchers, thread, &ns); /* at once: what a touch itself costs */
    spin(20000000);
    uint64_t second = cpu_ns();
    assert_int_equal(ff__touchers_touch(&touchers, thread, &ns), 0);
    assert_in_range(ns + touchers.cost_ns, 20000000, cpu_ns() - first);
    ff__clock_sleep(30000000);
    uint64_t third = cpu_ns();
    ff__touchers_touch(&touchers, thread, &ns);
    assert_in_range(ns, 1, cpu_ns() - second);
    spin(5000000);
    uint64_t fourth = cpu_ns();
    ns = ff__touchers_rest(&touchers, 0);
    assert_in_range(ns + touchers.cost_ns, 5000000, cpu_ns() - third);
    ns = ff__touchers_rest(&touchers, 0);
    assert_in_range(ns, 0, cpu_ns() - fourth); /* told once */
    spin(5000000);
    uint64_t fifth = cpu_ns();
    ff__touchers_begin(&touchers);
    ff__touchers_touch(&touchers, thread, &ns);
    assert_in_range(ns, 1, cpu_ns() - fifth);
    ff__touchers_end(&touchers);
    ff__touchers_end(&touchers);
    assert_int_equal(ff__touchers_touch(&touchers, thread + 1000000, &ns), 1); /* there is none */
    assert_int_equal(ns, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_touches),
        cmocka_unit_test(test_window),
        cmocka_unit_test(test_wrong_settings),
        cmocka_unit_test(test_work),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
