/* Streams and launches: what a kernel gets, which stream is served, and what a worker thread is to
 * the program. */
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>

#include "runtime/fixture.h"

#include <farfault/policy.h>

#define MB (UINT64_C(1) << 20)

static struct ff_context *open_with_workers(uint32_t workers, enum ff_handler handler) {
    struct ff_config config = standard_config(8 * MB);
    config.workers = workers;
    config.handler = handler;
    return open_or_skip(&config);
}

static struct ff_stream *make_stream(struct ff_context *context) {
    struct ff_stream *stream = NULL;
    assert_int_equal(ff_stream_create(context, 0, &stream), 0);
    return stream;
}

/* ---- arguments ---- */

/* Compilers read it with instructions that want it aligned. */
struct arguments {
    _Alignas(max_align_t) long double value;
    uintptr_t *seen;
};

static void note_address(const struct ff_work *work, void *arguments) {
    (void)work;
    *((struct arguments *)arguments)->seen = (uintptr_t)arguments;
}

static void test_arguments_are_aligned(void **state) {
    (void)state;
    struct ff_context *context = open_with_workers(1, FF_HANDLER_ADAPTIVE);
    struct ff_stream *stream = make_stream(context);
    const void *data = alloc(context, 4096), *operands[4] = {data, data, data, data};
    for (size_t count = 0; count <= 4; count++) {
        uintptr_t seen = 0;
        struct arguments arguments = {1, &seen};
        struct ff_launch launch = {.kernel = note_address,
                                   .grid = 1,
                                   .arguments = &arguments,
                                   .argument_size = sizeof arguments,
                                   .operands = operands,
                                   .operand_count = count};
        assert_int_equal(ff_kernel_launch(stream, &launch), 0);
        ff_stream_synchronize(stream);
        assert_true(seen != 0);
        assert_int_equal(seen % _Alignof(max_align_t), 0);
    }
    ff_stream_destroy(stream);
    ff_close(context);
}

/* Operands lie behind arguments of any size. */
static void test_odd_arguments(void **state) {
    (void)state;
    struct ff_context *context = open_with_workers(1, FF_HANDLER_ADAPTIVE);
    struct ff_stream *stream = make_stream(context);
    const void *data = alloc(context, 3 * 4096), *operands[] = {data};
    uint64_t launches = 0;
    for (size_t size = sizeof(struct arguments); size < sizeof(struct arguments) + 9; size++) {
        union {
            struct arguments first;
            char all[sizeof(struct arguments) + 16];
        } arguments = {.first = {1, &(uintptr_t){0}}};
        struct ff_launch launch = {.name = "odd",
                                   .kernel = note_address,
                                   .grid = 1,
                                   .arguments = &arguments,
                                   .argument_size = size,
                                   .operands = operands,
                                   .operand_count = 1};
        assert_int_equal(ff_kernel_launch(stream, &launch), 0);
        ff_stream_synchronize(stream);
        struct ff_stats stats;
        ff_stats_read(context, &stats);
        assert_int_equal(stats.launches, ++launches);
        assert_int_equal(stats.demanded, 3 * launches);
    }
    ff_stream_destroy(stream);
    ff_close(context);
}

/* ---- hints ---- */

static void do_nothing(const struct ff_work *work, void *arguments) {
    (void)work, (void)arguments;
}

/* What the policies have found, as one text. */
static void read_findings(struct ff_context *context, char *out, size_t size) {
    struct ff_found found;
    size_t length = 0;
    for (uint32_t i = 0; length < size && ff_finding_read(context, i, &found); i++)
        length += (size_t)snprintf(out + length, size - length, "%s\n", found.text);
}

/* The array of hints is the caller's only until the call returns. */
static void test_strides_are_declared(void **state) {
    (void)state;
    struct ff_config config = standard_config(8 * MB);
    config.workers = 1;
    config.system = "specforest";
    struct ff_context *context = open_or_skip(&config);
    struct ff_stream *stream = make_stream(context);
    const void *operands[] = {alloc(context, 4096), alloc(context, 4096)};
    uint8_t strides[] = {FF_STRIDE_UNKNOWN, FF_STRIDE_HINT};
    char text[1024] = "";
    struct ff_launch launch = {.name = "hinted",
                               .kernel = do_nothing,
                               .grid = 1,
                               .operands = operands,
                               .strides = strides,
                               .operand_count = 2};
    assert_int_equal(ff_kernel_launch(stream, &launch), 0);
    strides[1] = 0xff;
    ff_stream_synchronize(stream);
    read_findings(context, text, sizeof text);
    assert_non_null(strstr(text, "linear; launches: profiled 0 (0 rounds), declared by hints 1"));
    assert_non_null(strstr(text, "2 ranges of launches: profiled 0, declared by hints 1"));
    ff_stream_destroy(stream);
    ff_close(context);
}

/* ---- turns ---- */

#define LAUNCHES 10

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool open;
    char order[2 * LAUNCHES + 1]; /* by the only worker */
    size_t done;
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void wait_at_gate(const struct ff_work *work, void *arguments) {
    (void)work, (void)arguments;
    pthread_mutex_lock(&gate.lock);
    while (!gate.open)
        pthread_cond_wait(&gate.changed, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
}

static void open_gate(void) {
    pthread_mutex_lock(&gate.lock);
    gate.open = true;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.lock);
}

static void note_turn(const struct ff_work *work, void *arguments) {
    (void)work;
    gate.order[gate.done++] = *(char *)arguments;
}

static void launch_simple(struct ff_stream *stream, ff_kernel_fn kernel, char name) {
    struct ff_launch launch = {.kernel = kernel, .grid = 1, .arguments = &name, .argument_size = 1};
    assert_int_equal(ff_kernel_launch(stream, &launch), 0);
}

/* Two streams with as much to do get on at the same pace, whichever is older. */
static void test_streams_take_turns(void **state) {
    (void)state;
    struct ff_context *context = open_with_workers(1, FF_HANDLER_ADAPTIVE);
    struct ff_stream *streams[2] = {make_stream(context), make_stream(context)};
    launch_simple(streams[0], wait_at_gate, 0);
    for (int i = 0; i < LAUNCHES; i++) {
        launch_simple(streams[0], note_turn, 'a');
        launch_simple(streams[1], note_turn, 'b');
    }
    open_gate();
    for (int i = 0; i < 2; i++)
        ff_stream_destroy(streams[i]);
    int ahead = 0;
    for (size_t i = 0; i < 2 * LAUNCHES; i++) {
        ahead += gate.order[i] == 'a' ? 1 : -1;
        if (ahead < -1 || ahead > 1)
            fail_msg("not in turn: %s", gate.order);
    }
    ff_close(context);
}

/* ---- signals ---- */

static void note_mask(const struct ff_work *work, void *arguments) {
    (void)work;
    pthread_sigmask(SIG_SETMASK, NULL, *(sigset_t **)arguments);
}

/* Signals that are sent go to the program's own threads; those that a kernel raises, to its thread.
 */
static void test_workers_take_no_signals(void **state) {
    (void)state;
    static const int sent[] = {SIGINT, SIGTERM, SIGALRM, SIGUSR1, SIGCHLD, SIGPROF};
    static const int raised[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    struct ff_context *context = open_with_workers(1, FF_HANDLER_ADAPTIVE);
    struct ff_stream *stream = make_stream(context);
    sigset_t mask, *where = &mask;
    struct ff_launch launch = {
        .kernel = note_mask, .grid = 1, .arguments = &where, .argument_size = sizeof where};
    assert_int_equal(ff_kernel_launch(stream, &launch), 0);
    ff_stream_destroy(stream);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(sigismember(&mask, sent[i]), 1);
        assert_int_equal(sigismember(&mask, raised[i]), 0);
    }
    ff_close(context);
}

/* ---- faults in a worker ---- */

static void fill(const struct ff_work *work, void *arguments) {
    memset(*(unsigned char **)arguments + work->first, 3, work->end - work->first);
}

static void test_workers_serve_faults(void **state) {
    (void)state;
    struct ff_context *context = open_with_workers(2, FF_HANDLER_SIGBUS);
    struct ff_stream *stream = make_stream(context);
    size_t size = 12 * MB;
    unsigned char *data = alloc(context, size);
    struct ff_launch launch = {
        .kernel = fill, .grid = size, .arguments = &data, .argument_size = sizeof data};
    assert_int_equal(ff_kernel_launch(stream, &launch), 0);
    ff_stream_destroy(stream);
    for (size_t at = 0; at < size; at += 4096)
        assert_int_equal(data[at], 3);
    ff_close(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arguments_are_aligned),   cmocka_unit_test(test_odd_arguments),
        cmocka_unit_test(test_strides_are_declared),    cmocka_unit_test(test_streams_take_turns),
        cmocka_unit_test(test_workers_take_no_signals), cmocka_unit_test(test_workers_serve_faults),
    };
    return run_or_skip(tests);
}
