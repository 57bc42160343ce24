/* SIGBUS where faults are signals (handler=sigbus): those that are not ours do what they would have
 * done without us, and ours go on being served. */
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>

#include "runtime/child.h"

#define BUDGET (4 * MB)
#define SIZE   (8 * MB)

static volatile sig_atomic_t noted;

static void note(int number) {
    (void)number;
    noted++;
}

static void note_and_leave(int number) {
    (void)number;
    _exit(0);
}

/* As the program has set it before the context came. */
static struct ff_context *open_after(const struct ff_config *config, void (*handler)(int)) {
    CHECK(signal(SIGBUS, handler) != SIG_ERR);
    return child_open(config);
}

static void use_and_close(struct ff_context *context) {
    unsigned char *data = child_alloc(context, SIZE);
    for (size_t at = 0; at < SIZE; at += PAGE)
        data[at] = (unsigned char)(at / PAGE);
    for (size_t at = 0; at < SIZE; at += PAGE)
        CHECK(data[at] == (unsigned char)(at / PAGE));
    child_close(context);
}

/* Beyond the end of a file. */
static void meet_another_fault(void) {
    char path[] = "./farfault-signals-XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0 && unlink(path) == 0);
    volatile char *area = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
    CHECK(area != MAP_FAILED);
    (void)area[0];
}

/* ---- sent ---- */

static void send_with_handler(const struct ff_config *config, const void *argument) {
    (void)argument;
    struct ff_context *context = open_after(config, note);
    CHECK(raise(SIGBUS) == 0 && noted == 1);
    CHECK(kill(getpid(), SIGBUS) == 0 && noted == 2);
    use_and_close(context);
    CHECK(noted == 2);
}

static void send_ignored(const struct ff_config *config, const void *argument) {
    (void)argument;
    struct ff_context *context = open_after(config, SIG_IGN);
    CHECK(raise(SIGBUS) == 0);
    use_and_close(context);
}

static void send_unexpected(const struct ff_config *config, const void *argument) {
    (void)argument;
    open_after(config, SIG_DFL);
    raise(SIGBUS);
}

static void test_sent(void **state) {
    (void)state;
    struct ff_config config = child_config(BUDGET);
    config.handler = FF_HANDLER_SIGBUS;
    expect_ok(send_with_handler, &config, NULL);
    expect_ok(send_ignored, &config, NULL);
    expect_signal(send_unexpected, &config, NULL, SIGBUS);
}

/* ---- met elsewhere ---- */

static void meet_with_handler(const struct ff_config *config, const void *argument) {
    (void)argument;
    use_and_close(open_after(config, note_and_leave));
    open_after(config, note_and_leave);
    meet_another_fault();
    _exit(1);
}

static void meet_ignored(const struct ff_config *config, const void *argument) {
    (void)argument;
    open_after(config, SIG_IGN);
    meet_another_fault(); /* which cannot be ignored */
}

static void meet_unexpected(const struct ff_config *config, const void *argument) {
    (void)argument;
    open_after(config, SIG_DFL);
    meet_another_fault();
}

static void test_met_elsewhere(void **state) {
    (void)state;
    struct ff_config config = child_config(BUDGET);
    config.handler = FF_HANDLER_SIGBUS;
    expect_ok(meet_with_handler, &config, NULL);
    expect_signal(meet_ignored, &config, NULL, SIGBUS);
    expect_signal(meet_unexpected, &config, NULL, SIGBUS);
}

/* ---- met by threads with little stack ---- */

/* As those of run times that have many: a stack with room for little, and another one for signals,
 * of which more is not to be had. */
#define PAGES_BELOW 4u

struct small_thread {
    unsigned char *data;
    unsigned number;
};

static void *use_with_little_stack(void *argument) {
    const struct small_thread *thread = argument;
    size_t room = ((size_t)sysconf(_SC_SIGSTKSZ) + PAGE - 1) / PAGE * PAGE;
    char *area = mmap(NULL, PAGES_BELOW * PAGE + room, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(area != MAP_FAILED && mprotect(area, PAGES_BELOW * PAGE, PROT_NONE) == 0);
    stack_t stack = {.ss_sp = area + PAGES_BELOW * PAGE, .ss_size = room};
    CHECK(sigaltstack(&stack, NULL) == 0);
    for (int round = 1; round <= 3; round++) {
        for (size_t at = 0; at < SIZE; at += PAGE)
            thread->data[at + thread->number] = (unsigned char)(at / PAGE * 3 + (unsigned)round);
        for (size_t at = 0; at < SIZE; at += PAGE)
            CHECK(thread->data[at + thread->number] ==
                  (unsigned char)(at / PAGE * 3 + (unsigned)round));
    }
    return NULL;
}

static void use_small_threads(const struct ff_config *config, const void *argument) {
    struct small_thread threads[4];
    pthread_t handles[4];
    pthread_attr_t attributes;
    (void)argument;
    struct ff_context *context = child_open(config);
    unsigned char *data = child_alloc(context, SIZE);
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN) == 0);
    for (unsigned i = 0; i < 4; i++) {
        threads[i] = (struct small_thread){data, i};
        CHECK(pthread_create(&handles[i], &attributes, use_with_little_stack, &threads[i]) == 0);
    }
    for (unsigned i = 0; i < 4; i++)
        CHECK(pthread_join(handles[i], NULL) == 0);
    child_close(context);
}

static void test_small_threads(void **state) {
    static const char *const systems[] = {"demand", "nvidia", "nvidia-1", "deepum-far"};
    struct ff_config config = child_config(BUDGET);
    (void)state;
    config.handler = FF_HANDLER_SIGBUS;
    for (unsigned i = 0; i < 4; i++) {
        config.system = systems[i];
        expect_ok(use_small_threads, &config, NULL);
    }
}

int main(void) {
    struct ff_config config = child_config(BUDGET);
    config.handler = FF_HANDLER_SIGBUS;
    ff_close(open_or_skip(&config));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sent),
        cmocka_unit_test(test_met_elsewhere),
        cmocka_unit_test(test_small_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
