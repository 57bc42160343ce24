/* Recording live runs on the software device. */
#include "trace/fixture.h"

#include "runtime/fixture.h"

#include "trace/model/replay.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define PAGES  2048u /* of the memory, twice the device's */
#define BUDGET ((uint64_t)4 << 20)

struct sum {
    unsigned char *memory;
    size_t pages;
};

static void touch(const struct ff_work *work, void *arguments) {
    const struct sum *sum = arguments;
    for (size_t i = work->first; i < work->end; i++)
        sum->memory[i % sum->pages * FF_PAGE_SIZE]++;
}

static void launch(struct ff_stream *stream, struct sum *sum) {
    char name[] = "touch"; /* gone before the kernel runs */
    const void *operands[] = {sum->memory};
    struct ff_launch what = {.name = name,
                             .kernel = touch,
                             .grid = sum->pages,
                             .chunk = sum->pages,
                             .arguments = sum,
                             .argument_size = sizeof *sum,
                             .operands = operands,
                             .operand_count = 1};
    assert_int_equal(ff_kernel_launch(stream, &what), 0);
    memset(name, 'x', sizeof name - 1);
}

/* Two launches over twice the device's memory. */
static void run(struct ff_context *context, struct ff_stats *stats) {
    struct sum sum = {alloc(context, PAGES * FF_PAGE_SIZE), PAGES};
    struct ff_stream *stream;
    assert_int_equal(ff_stream_create(context, 0, &stream), 0);
    for (int i = 0; i < 2; i++)
        launch(stream, &sum);
    ff_stream_synchronize(stream);
    ff_stats_read(context, stats);
    ff_stream_destroy(stream);
    assert_int_equal(ff_mem_free(context, sum.memory), 0);
}

struct totals {
    uint64_t count[FF_TRACE_KINDS], pages[FF_TRACE_KINDS];
};

static struct totals read_totals(const char *path, struct ff_trace_info *info) {
    struct totals totals = {{0}, {0}};
    struct ff_trace_reader *reader;
    struct ff_trace_event event;
    struct ff_error error;
    int status = ff_trace_open(path, &reader, info, &error);
    if (status)
        fail_msg("%s", error.message);
    while ((status = ff_trace_read(reader, &event, &error)) > 0) {
        totals.count[event.kind]++;
        totals.pages[event.kind] += event.pages;
        if (event.kind == FF_TRACE_LAUNCH)
            assert_string_equal(event.name, "touch");
        if (event.kind == FF_TRACE_RANGE)
            assert_int_equal(event.bytes, PAGES * FF_PAGE_SIZE);
        if (event.kind != FF_TRACE_LAUNCH && event.kind != FF_TRACE_LAUNCH_END)
            assert_true(event.page + event.pages <= PAGES);
    }
    if (status)
        fail_msg("%s", error.message);
    ff_trace_close(reader);
    return totals;
}

static void check_run(struct ff_config config) {
    const char *path = in_folder("live");
    struct ff_trace_info info;
    struct ff_stats stats;
    struct ff_error error;
    unlink(path);
    config.record = path;
    struct ff_context *context = open_or_skip(&config);
    run(context, &stats);
    assert_int_not_equal(access(path, F_OK), 0); /* not before its end */
    ff_close(context);
    struct totals totals = read_totals(path, &info);
    assert_string_equal(info.source, "live");
    assert_non_null(strstr(info.subject, "test_trace_record"));
    assert_false(info.accesses);
    assert_int_equal(info.memory, BUDGET);
    assert_int_equal(totals.count[FF_TRACE_RANGE], 1);
    assert_int_equal(totals.count[FF_TRACE_FREE], 1);
    assert_int_equal(totals.count[FF_TRACE_LAUNCH], 2);
    assert_int_equal(totals.count[FF_TRACE_LAUNCH_END], 2);
    assert_true(totals.count[FF_TRACE_FAULT] >= stats.faults);
    assert_true(totals.pages[FF_TRACE_MIGRATE] >= 2 * PAGES - BUDGET / FF_PAGE_SIZE);
    /* in the end nothing is on the device */
    assert_int_equal(totals.pages[FF_TRACE_MIGRATE], totals.pages[FF_TRACE_EVICT]);
    struct ff__workload *workload;
    assert_int_equal(ff__trace_workload(path, &workload, &error), 0);
    struct ff__action action;
    assert_true(workload->type->action(workload, 1, &action));
    assert_int_equal(action.kind, FF__ACTION_LAUNCH);
    assert_string_equal(action.kernel.name, "touch");
    workload->type->close(workload);
    free(workload->arrays);
    free(workload);
}

static void test_runs(void **state) {
    (void)state;
    FOR_EACH_CONFIG(config, BUDGET) {
        check_run(config);
    }
}

/* Several threads allocate, touch and free; what they did must fit together. */
static void *allocate_and_touch(void *argument) {
    struct ff_context *context = argument;
    for (int i = 0; i < 20; i++) {
        unsigned char *memory = alloc(context, 600 * FF_PAGE_SIZE);
        for (int page = 0; page < 600; page += 7)
            memory[page * (int)FF_PAGE_SIZE] = 1;
        assert_int_equal(ff_mem_free(context, memory), 0);
    }
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    struct ff_config config = standard_config(BUDGET);
    struct ff_error error = {""};
    pthread_t threads[4];
    config.record = in_folder("threads");
    struct ff_context *context = open_or_skip(&config);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, allocate_and_touch, context), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    ff_close(context);
    struct ff__workload *workload = NULL;
    if (ff__trace_workload(config.record, &workload, &error))
        fail_msg("%s", error.message);
    workload->type->close(workload);
    free(workload->arrays);
    free(workload);
}

static void test_ended_early(void **state) {
    (void)state;
    struct ff_config config = standard_config(BUDGET);
    struct ff_stats stats;
    struct ff_trace_info info;
    char pattern[160], path[160];
    snprintf(pattern, sizeof pattern, "%s", in_folder("trace-%p.fft"));
    snprintf(path, sizeof path, "%s/trace-%ld.fft", folder, (long)getpid());
    config.record = pattern;
    struct ff_context *context = open_or_skip(&config);
    run(context, &stats);
    assert_int_equal(ff_record_finish(context), 0);
    assert_int_equal(read_totals(path, &info).count[FF_TRACE_LAUNCH], 2);
    run(context, &stats); /* goes on without */
    assert_int_equal(ff_record_finish(context), 0);
    ff_close(context);
    assert_int_equal(read_totals(path, &info).count[FF_TRACE_LAUNCH], 2);
    config.record = NULL;
    context = open_or_skip(&config);
    assert_int_equal(ff_record_finish(context), 0);
    ff_close(context);
}

static void test_cannot_begin(void **state) {
    (void)state;
    static const char *const paths[] = {"/nonexistent/trace", "/dev/null", "/"};
    struct ff_config config = standard_config(BUDGET);
    struct ff_error error;
    ff_close(open_or_skip(&config));
    for (int i = 0; i < 3; i++) {
        struct ff_context *context;
        config.record = paths[i];
        assert_true(ff_open(&config, &context, &error) < 0);
        assert_non_null(strstr(error.message, "cannot record to"));
    }
}

static unsigned warnings;

static void count_warnings(void *user, enum ff_log_level level, const char *message) {
    (void)user;
    warnings += level == FF_LOG_WARNING && strstr(message, "recording to") != NULL;
}

/* The disk is full from the first block on; the program does not notice. */
static void test_full_disk(void **state) {
    (void)state;
    struct ff_config plain = standard_config(BUDGET);
    ff_close(open_or_skip(&plain));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct rlimit limit = {200, 200};
        struct ff_config config = standard_config(BUDGET);
        struct ff_context *context;
        struct ff_stats stats;
        config.record = in_folder("full");
        config.log = count_warnings;
        if (setrlimit(RLIMIT_FSIZE, &limit) || ff_open(&config, &context, NULL))
            _exit(2);
        run(context, &stats);
        int status = ff_record_finish(context);
        run(context, &stats);
        ff_close(context);
        _exit(status != -EFBIG || warnings != 1 || access(in_folder("full"), F_OK) == 0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* A forked child that leaves leaves its parent's recording alone. */
static void test_fork(void **state) {
    (void)state;
    struct ff_config config = standard_config(BUDGET);
    struct ff_stats stats;
    struct ff_trace_info info;
    config.record = in_folder("fork");
    struct ff_context *context = open_or_skip(&config);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(ff_record_finish(context) != -EPERM);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_not_equal(access(config.record, F_OK), 0);
    run(context, &stats);
    ff_close(context);
    assert_int_equal(read_totals(config.record, &info).count[FF_TRACE_LAUNCH], 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs),        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_ended_early), cmocka_unit_test(test_cannot_begin),
        cmocka_unit_test(test_full_disk),   cmocka_unit_test(test_fork),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
