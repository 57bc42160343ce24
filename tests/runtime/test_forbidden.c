/* Programs that forbid system calls to all their threads (seccomp, TSYNC) when a context is open
 * already. */
#include "runtime/child.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#define BUDGET (4 * MB)
#define SIZE   (12 * MB)
#define ROUNDS 3

#ifdef __SANITIZE_THREAD__ /* which holds the signal back from a thread that is in a handler */
#define LAST_HANDLER FF_HANDLER_ADAPTIVE
#else
#define LAST_HANDLER FF_HANDLER_SIGBUS
#endif

/* What is said in a child, for its parent. */
struct said {
    unsigned lines;
    char last[256];
};
static struct said *said;

static void take_line(void *user, enum ff_log_level level, const char *message) {
    (void)user, (void)level;
    if (strstr(message, "forbids")) {
        said->lines++;
        snprintf(said->last, sizeof said->last, "%s", message);
    }
}

static void forbid(int call) {
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const struct sock_fprog filter = {sizeof steps / sizeof steps[0], steps};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) == 0);
}

static void work(const struct ff_config *config, const void *argument) {
    struct ff_context *context = child_open(config);
    unsigned char *memory = child_alloc(context, SIZE);
    memset(memory, 1, SIZE);
    forbid(*(const int *)argument);
    for (unsigned round = 2; round < 2 + ROUNDS; round++) {
        memset(memory, (int)round, SIZE);
        for (size_t i = 0; i < SIZE; i += PAGE)
            CHECK(memory[i] == round);
    }
    ff_close(context);
}

static struct ff_config forbidding_config(enum ff_mechanism mechanism) {
    struct ff_config config = child_config(BUDGET);
    config.mechanism = mechanism;
    config.granule = FF_LEAF_SIZE; /* what leaves in 64 KiB is given back */
    config.log = take_line;
    *said = (struct said){0};
    return config;
}

/* It goes on, and is told that the budget may not be kept. */
static void check_goes_on(enum ff_mechanism mechanism, int call) {
    struct ff_config config = forbidding_config(mechanism);
    expect_ok(work, &config, &call);
    if (said->lines != 1)
        fail_msg("%s: call %d: %u lines", config_text(&config), call, said->lines);
    assert_non_null(strstr(said->last, "may use more memory than they have"));
}

static void test_madvise(void **state) {
    (void)state;
    check_goes_on(FF_MECHANISM_AUTO, SYS_madvise);
    check_goes_on(FF_MECHANISM_COPY, SYS_madvise);
}

static void test_process_vm_readv(void **state) {
    (void)state;
    check_goes_on(FF_MECHANISM_COPY, SYS_process_vm_readv);
}

/* No fault can be answered any more: it ends, and says why. */
static void test_ioctl(void **state) {
    (void)state;
    int call = SYS_ioctl;
    for (int mechanism = FF_MECHANISM_AUTO; mechanism <= FF_MECHANISM_COPY; mechanism += 2) {
        for (int handler = FF_HANDLER_ADAPTIVE; handler <= LAST_HANDLER; handler += 2) {
            struct ff_config config = forbidding_config((enum ff_mechanism)mechanism);
            config.handler = (enum ff_handler)handler;
            expect_signal(work, &config, &call, SIGBUS);
            assert_true(said->lines >= 1);
            assert_non_null(strstr(said->last, "cannot go on"));
        }
    }
}

int main(void) {
    struct ff_config config = child_config(BUDGET);
    said = mmap(NULL, sizeof *said, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ff_close(open_or_skip(&config));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_madvise),
        cmocka_unit_test(test_process_vm_readv),
        cmocka_unit_test(test_ioctl),
    };
    return run_or_skip(tests);
}
