/* What if it fails? Every call by which the library asks the system or the C library for something
 * fails once, the first in the first round, the second in the next, until a round meets no failure
 * any more. Whatever fails: an error and one line about it or, where the work is repeated or can do
 * without, the right result; nothing is leaked, and the next context opens.
 *
 * The calls are caught by the linker (--wrap; see CMakeLists.txt), which also counts what is
 * taken and given back. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <farfault/policy.h>

#include "base/cases.h"
#include "base/wrap.h"
#include "policy/registry.h"
#include "runtime/fixture.h"

#define MB (UINT64_C(1) << 20)

/* ---- the shim ---- */

static struct {
    bool armed, sticky;
    long at;                     /* this call fails, and with `sticky` all behind it */
    long calls, hits;            /* since it was armed */
    const char *what;            /* failed first */
    long blocks, bytes, threads; /* taken and not given back */
} shim;

static void arm(long at, bool sticky) {
    shim.at = at;
    shim.sticky = sticky;
    shim.calls = shim.hits = 0;
    shim.what = "nothing";
    __atomic_store_n(&shim.armed, true, __ATOMIC_RELEASE);
}

static void disarm(void) {
    __atomic_store_n(&shim.armed, false, __ATOMIC_RELEASE);
}

static bool fails(const char *what) {
    if (!__atomic_load_n(&shim.armed, __ATOMIC_ACQUIRE))
        return false;
    long call = __atomic_fetch_add(&shim.calls, 1, __ATOMIC_RELAXED);
    if (call != shim.at && !(shim.sticky && call > shim.at))
        return false;
    if (__atomic_fetch_add(&shim.hits, 1, __ATOMIC_RELAXED) == 0)
        __atomic_store_n(&shim.what, what, __ATOMIC_RELAXED);
    return true;
}

static void count(long *counter, long change) {
    __atomic_fetch_add(counter, change, __ATOMIC_RELAXED);
}

#define FAIL_IF(what, code, result)                                                                \
    if (fails(what)) {                                                                             \
        errno = code;                                                                              \
        return result;                                                                             \
    }

WRAP(void *, calloc, size_t number, size_t size) {
    FAIL_IF("calloc", ENOMEM, NULL)
    void *memory = __real_calloc(number, size);
    count(&shim.blocks, memory != NULL);
    return memory;
}

WRAP(void *, aligned_alloc, size_t alignment, size_t size) {
    FAIL_IF("aligned_alloc", ENOMEM, NULL)
    void *memory = __real_aligned_alloc(alignment, size);
    count(&shim.blocks, memory != NULL);
    return memory;
}

WRAP(void *, realloc, void *memory, size_t size) {
    FAIL_IF("realloc", ENOMEM, NULL)
    void *grown = __real_realloc(memory, size);
    count(&shim.blocks, memory == NULL && grown != NULL);
    return grown;
}

WRAP(void, free, void *memory) {
    count(&shim.blocks, -(memory != NULL));
    __real_free(memory);
}

WRAP(void *, mmap, void *at, size_t size, int protection, int flags, int fd, off_t offset) {
    FAIL_IF("mmap", ENOMEM, MAP_FAILED)
    void *area = __real_mmap(at, size, protection, flags, fd, offset);
    if (area != MAP_FAILED && !(flags & MAP_FIXED))
        count(&shim.bytes, (long)size);
    return area;
}

WRAP(int, munmap, void *area, size_t size) {
    count(&shim.bytes, -(long)size);
    return __real_munmap(area, size);
}

WRAP(int, madvise, void *area, size_t size, int advice) {
    FAIL_IF("madvise", ENOMEM, -1)
    return __real_madvise(area, size, advice);
}

WRAP(int, ioctl, int fd, unsigned long request, void *argument) {
    FAIL_IF("ioctl", ENOMEM, -1)
    return __real_ioctl(fd, request, argument);
}

WRAP(long, syscall, long number, long a, long b, long c, long d, long e) {
    if (number != SYS_futex) /* to wake threads cannot fail */
        FAIL_IF("syscall", EMFILE, -1)
    return __real_syscall(number, a, b, c, d, e);
}

WRAP(int, open, const char *path, int flags, mode_t mode) {
    FAIL_IF("open", EMFILE, -1)
    return __real_open(path, flags, mode);
}

WRAP(int, eventfd, unsigned initial, int flags) {
    FAIL_IF("eventfd", EMFILE, -1)
    return __real_eventfd(initial, flags);
}

WRAP(int, ftruncate, int fd, off_t size) {
    FAIL_IF("ftruncate", ENOSPC, -1)
    return __real_ftruncate(fd, size);
}

WRAP(int, posix_fallocate, int fd, off_t offset, off_t size) {
    FAIL_IF("posix_fallocate", ENOSPC, ENOSPC)
    return __real_posix_fallocate(fd, offset, size);
}

WRAP(int, sigaction, int number, const struct sigaction *action, struct sigaction *before) {
    FAIL_IF("sigaction", EINVAL, -1)
    return __real_sigaction(number, action, before);
}

WRAP(int, pthread_create, pthread_t *thread, const pthread_attr_t *attributes,
     void *(*start)(void *), void *argument) {
    FAIL_IF("pthread_create", EAGAIN, EAGAIN)
    int status = __real_pthread_create(thread, attributes, start, argument);
    count(&shim.threads, status == 0);
    return status;
}

WRAP(int, pthread_join, pthread_t thread, void **result) {
    count(&shim.threads, -1);
    return __real_pthread_join(thread, result);
}

/* ---- what must be as before ---- */

struct held {
    long blocks, bytes, threads, files;
};

static long open_files(void) {
    long files = 0;
    DIR *folder = opendir("/proc/self/fd");
    if (!folder)
        return 0;
    while (readdir(folder))
        files++;
    closedir(folder);
    return files;
}

static struct held hold(void) {
    return (struct held){shim.blocks, shim.bytes, shim.threads, open_files()};
}

static void check_held(const struct held *before, const char *system, long at) {
    struct held now = hold();
    if (now.blocks != before->blocks || now.bytes != before->bytes ||
        now.threads != before->threads || now.files != before->files)
        fail_msg("%s, call %ld (%s) fails: %ld blocks, %ld mapped bytes, %ld threads, %ld files "
                 "are left",
                 system, at, shim.what, now.blocks - before->blocks, now.bytes - before->bytes,
                 now.threads - before->threads, now.files - before->files);
}

/* ---- one round ---- */

static long unexplained; /* contexts that did not open and did not say why */
static const char *unexplained_what;

static void plan_nothing(void *state, const struct ff_view *view, struct ff_advice_list *advice) {
    (void)state, (void)view, (void)advice;
}

static void want_all(void *state, const struct ff_view *view, const struct ff_fault_group *group,
                     struct ff_fault_advice *advice) {
    (void)state, (void)view, (void)group;
    memset(&advice->prefetch, 0xff, sizeof advice->prefetch);
}

/* Has the correlator and the prefetching thread started, and their queue made. */
static const struct ff_learn_hooks planning = {.plan = plan_nothing};

static const struct ff_prefetch_policy planner = {
    .base = {.name = "planner", .summary = "plans nothing", .api = FF_POLICY_API},
    .on_fault = want_all, /* few calls a round, so that there are few rounds */
    .learning = &planning,
};

static void add_one(const struct ff_work *work, void *arguments) {
    unsigned char *bytes = *(unsigned char **)arguments;
    for (size_t i = work->first; i < work->end; i++)
        bytes[i * 4096]++;
}

/* 0, or the error of a call that said it failed. */
static int launch(struct ff_context *context, unsigned char *bytes, size_t pages) {
    struct ff_stream *stream = NULL;
    int status = ff_stream_create(context, 0, &stream);
    if (status)
        return status;
    const void *operand = bytes;
    struct ff_launch what = {.name = "add one",
                             .kernel = add_one,
                             .grid = pages,
                             .arguments = &bytes,
                             .argument_size = sizeof bytes,
                             .operands = &operand,
                             .operand_count = 1};
    status = ff_kernel_launch(stream, &what);
    ff_stream_destroy(stream);
    return status;
}

static void use_range(struct ff_context *context, unsigned char *bytes, size_t size) {
    for (size_t at = 0; at < size; at += 4096)
        bytes[at] = (unsigned char)(at >> 12);
    int status = launch(context, bytes, size / 4096);
    assert_true(status <= 0);
    for (size_t at = 0; at < size; at += 4096)
        assert_int_equal(bytes[at], (unsigned char)((at >> 12) + (status == 0)));
}

static void use_context(struct ff_context *context) {
    void *small = NULL, *large = NULL;
    int status = ff_mem_alloc(context, 4 * MB, &large);
    assert_true(status <= 0);
    if (status == 0)
        use_range(context, large, 4 * MB);
    if (ff_mem_alloc(context, 70000, &small) == 0)
        use_range(context, small, 17 * 4096);
    ff_mem_hint(context, large, 3 * MB, FF_HINT_EVICT, 0);
    assert_int_equal(ff_mem_free(context, small), 0);
    assert_int_equal(ff_mem_free(context, large), 0);
}

static void note_message(int status, const struct ff_error *error) {
    assert_true(status < 0 && status > -4096);
    if (error->message[0])
        return;
    unexplained++;
    unexplained_what = shim.what;
}

/* Whether the round met its failure. */
static bool run_round(const struct ff_config *config, long at) {
    struct ff_context *context = NULL;
    struct ff_error error;
    memset(&error, 'x', sizeof error);
    error.message[0] = '\0';
    struct held before = hold();
    arm(at, false);
    int status = ff_open(config, &context, &error);
    if (status == 0) {
        use_context(context);
        ff_close(context);
    }
    disarm();
    if (status)
        note_message(status, &error);
    assert_true(status == 0 || shim.hits > 0);
    check_held(&before, config->system, at);
    return shim.hits > 0;
}

/* From this call on everything fails, while the context opens. */
static bool run_sticky(const struct ff_config *config, long at) {
    struct ff_context *context = NULL;
    struct ff_error error = {""};
    struct held before = hold();
    arm(at, true);
    int status = ff_open(config, &context, &error);
    disarm();
    if (status)
        note_message(status, &error);
    else
        ff_close(context);
    check_held(&before, config->system, at);
    return shim.hits > 0;
}

static void open_and_close(const struct ff_config *config) {
    ff_close(open_or_skip(config));
}

static void check_config(const struct ff_config *config) {
    open_and_close(config); /* what is made once and kept is made here */
    const long step = SANITIZED ? 3 : 1;
    long at = 0, sticky = 0;
    while (run_round(config, at)) {
        if (at % 4 == 0)
            open_and_close(config);
        at += step;
        assert_true(at < 5000);
    }
    while (run_sticky(config, sticky))
        sticky += step;
    open_and_close(config);
    print_message("%s, %s: %ld calls, %ld to open\n", config->system,
                  config->mechanism == FF_MECHANISM_COPY ? "copy" : "move", at, sticky);
}

/* ---- configurations ---- */

static struct ff_config small_config(const char *system) {
    struct ff_config config = standard_config(4 * MB);
    config.address_space = 64 * MB;
    config.system = system;
    config.workers = 2;
    return config;
}

static void test_move(void **state) {
    (void)state;
    struct ff_config config = small_config("nvidia-1");
    check_config(&config);
}

static void test_copy(void **state) {
    (void)state;
    struct ff_config config = small_config("nvidia");
    config.mechanism = FF_MECHANISM_COPY;
    check_config(&config);
}

static void test_sigbus(void **state) {
    (void)state;
    struct ff_config config = small_config("nvidia-1");
    config.handler = FF_HANDLER_SIGBUS;
    check_config(&config);
}

static void test_several_devices_and_all_threads(void **state) {
    (void)state;
    struct ff_config config = small_config("nvidia:prefetch=planner");
    config.devices = 3;
    check_config(&config);
}

static void test_host_file(void **state) {
    (void)state;
    char path[] = "/tmp/farfault-failures-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    unlink(path);
    struct ff_config config = small_config("nvidia-1");
    config.host_file = path;
    check_config(&config);
    assert_int_equal(access(path, F_OK), -1); /* not left behind, whatever failed */
}

static void test_every_failure_is_explained(void **state) {
    (void)state;
    if (unexplained > 0)
        fail_msg("%ld contexts did not say why they failed, e.g. for %s", unexplained,
                 unexplained_what);
}

int main(void) {
    struct ff_config config = small_config("nvidia");
    ff_close(open_or_skip(&config));
    if (ff__policy_register(FF__PREFETCH, &planner.base, NULL))
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_move),      cmocka_unit_test(test_copy),
        cmocka_unit_test(test_sigbus),    cmocka_unit_test(test_several_devices_and_all_threads),
        cmocka_unit_test(test_host_file), cmocka_unit_test(test_every_failure_is_explained),
    };
    return run_or_skip(tests);
}
