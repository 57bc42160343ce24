/* Children that call the library: on what they inherit every function returns at once, and what
 * they open works. */
#include "runtime/child.h"

#include <farfault/policy.h>

#include <pthread.h>
#include <spawn.h>

#include "base/process.h"

#define BUDGET (4 * MB)
#define SIZE   (12 * MB)

extern char **environ;

struct inherited {
    struct ff_context *context;
    struct ff_stream *stream;
    unsigned char *memory;
};

static void nothing(const struct ff_work *work, void *arguments) {
    (void)work, (void)arguments;
}

static bool is_zero(const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (((const unsigned char *)bytes)[i])
            return false;
    return true;
}

/* ---- what the child does ---- */

static void call_memory(const struct inherited *it) {
    void *pointer = NULL;
    size_t size = 0;
    CHECK(ff_mem_alloc(it->context, PAGE, &pointer) == -EPERM && !pointer);
    CHECK(ff_mem_free(it->context, it->memory) == -EPERM);
    CHECK(!ff_mem_lookup(it->context, it->memory, &pointer, &size));
    CHECK(!ff_context_owns(it->context, it->memory, PAGE));
    CHECK(ff_mem_write(it->context, it->memory, "abc", 3) == -EPERM);
    CHECK(ff_mem_prefetch(it->context, it->memory, PAGE, 0) == -EPERM);
    for (int kind = FF_HINT_DISCARD; kind <= FF_HINT_ACTIVE; kind++)
        CHECK(ff_mem_hint(it->context, it->memory, PAGE, (enum ff_hint)kind, 0) == -EPERM);
    CHECK(ff_memory_limit(it->context, 0, BUDGET) == -EPERM);
}

static void call_launches(const struct inherited *it) {
    const void *operand = it->memory;
    const struct ff_launch launch = {.kernel = nothing, .grid = 1};
    struct ff_stream *another = NULL;
    CHECK(ff_stream_create(it->context, 0, &another) == -EPERM && !another);
    CHECK(ff_kernel_launch(it->stream, &launch) == -EPERM);
    ff_stream_synchronize(it->stream);
    ff_stream_destroy(it->stream);
    ff_launch_begin(it->context, 0, 1, "kernel", &operand, NULL, 1);
    ff_launch_end(it->context, 0, 1);
}

static void call_reports(const struct inherited *it) {
    struct ff_stats stats;
    struct ff_moved_list moved;
    struct ff_found found;
    ff_stats_read(it->context, &stats);
    CHECK(is_zero(&stats, sizeof stats));
    CHECK(ff_check(it->context, NULL) == -EPERM);
    CHECK(!ff_finding_read(it->context, 0, &found));
    ff_moved_read(it->context, FF_MOVED_BY_ALLOCATION, &moved);
    CHECK(is_zero(&moved, sizeof moved));
    CHECK(ff_context_describe(it->context)[0] != '\0');
    CHECK(ff_record_finish(it->context) == -EPERM);
}

/* ThreadSanitizer lets no threads start in a child of a process with several. */
static void use_own(const struct ff_config *config) {
#ifdef __SANITIZE_THREAD__
    (void)config;
    return;
#endif
    struct ff_context *context = child_open(config);
    unsigned char *memory = child_alloc(context, SIZE);
    memset(memory, 3, SIZE);
    for (size_t i = 0; i < SIZE; i += PAGE)
        CHECK(memory[i] == 3);
    CHECK(ff_check(context, NULL) == 0);
    ff_close(context);
}

static void call_inherited(const struct ff_config *config, const void *argument) {
    (void)config;
    call_memory(argument);
    call_launches(argument);
    call_reports(argument);
    ff_close(((const struct inherited *)argument)->context);
}

static void call_all(const struct ff_config *config, const void *argument) {
    call_inherited(config, argument);
    use_own(config);
}

static void call_in_childs_child(const struct ff_config *config, const void *argument) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        call_all(config, argument);
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    call_all(config, argument);
}

/* ---- the parent ---- */

static struct inherited set_up(const struct ff_config *config) {
    struct inherited it = {open_or_skip(config), NULL, NULL};
    it.memory = alloc(it.context, SIZE);
    memset(it.memory, 1, SIZE);
    assert_int_equal(ff_stream_create(it.context, 0, &it.stream), 0);
    return it;
}

static void tear_down(struct inherited *it) {
    for (size_t i = 0; i < SIZE; i += PAGE)
        assert_int_equal(it->memory[i], 1);
    assert_int_equal(ff_check(it->context, NULL), 0);
    ff_stream_destroy(it->stream);
    ff_close(it->context);
}

static void test_every_call(void **state) {
    (void)state;
    struct ff_config config = child_config(BUDGET);
    for (int handler = FF_HANDLER_ADAPTIVE; handler <= FF_HANDLER_KERNELS; handler++) {
        config.handler = (enum ff_handler)handler;
        struct inherited it = set_up(&config);
        expect_ok(call_all, &config, &it);
        expect_ok(call_in_childs_child, &config, &it);
        tear_down(&it);
    }
}

/* The same in children that no handler of pthread_atfork() is told of; and not in those that share
 * memory. */
static void test_clone(void **state) {
    (void)state;
    struct ff_config config = child_config(BUDGET);
    struct inherited it = set_up(&config);
    uint32_t ours = ff__process_number();
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    assert_true(child >= 0);
    if (child == 0) {
        end_on_signals();
        call_inherited(&config, &it);
        _exit(ff__process_number() == ours);
    }
    assert_int_equal(wait_for_child(child), 0);
    char *const arguments[] = {"true", NULL};
    assert_int_equal(posix_spawn(&child, "/bin/true", NULL, NULL, arguments, environ), 0);
    assert_int_equal(wait_for_child(child), 0);
    assert_int_equal(ff__process_number(), ours);
    tear_down(&it);
}

/* ---- while other threads fault ---- */

struct faulter {
    unsigned char *memory;
    bool stop;
};

static void *fault(void *argument) {
    struct faulter *it = argument;
    while (!__atomic_load_n(&it->stop, __ATOMIC_RELAXED))
        for (size_t i = 0; i < SIZE / 2; i += PAGE)
            *(volatile unsigned char *)&it->memory[i] = 1;
    return NULL;
}

static void test_while_faulting(void **state) {
    (void)state;
    struct ff_config config = child_config(BUDGET);
    config.check = false;
    struct inherited it = set_up(&config);
    struct faulter faulters[] = {{it.memory, false}, {it.memory + SIZE / 2, false}};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, fault, &faulters[i]), 0);
    unsigned forks = SANITIZED ? 3 : 20 + long_run_repeats();
    for (unsigned i = 0; i < forks; i++)
        /* AddressSanitizer's allocator may be locked for ever in a child of several threads */
        expect_ok(SANITIZED ? call_inherited : call_all, &config, &it);
    for (int i = 0; i < 2; i++) {
        __atomic_store_n(&faulters[i].stop, true, __ATOMIC_RELAXED);
        pthread_join(threads[i], NULL);
    }
    tear_down(&it);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_call),
        cmocka_unit_test(test_clone),
        cmocka_unit_test(test_while_faulting),
    };
    return run_or_skip(tests);
}
