/* What a program may do to its own process: give up rights, set limits, use other memory as
 * debuggers, language run times and databases do. Managed memory goes on working after each of
 * these. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/userfaultfd.h>
#include <setjmp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>

#include "runtime/child.h"

#define BUDGET (4 * MB)
#define SIZE   (2 * BUDGET)
#define NOBODY 65534

/* Only in headers later than Debian's. */
#define GUARD_INSTALL 102
#define GUARD_REMOVE  103

struct program {
    const struct ff_config *config;
    struct ff_context *context;
    unsigned char *data; /* SIZE bytes */
};

static unsigned char mark_of(size_t at, unsigned round) {
    return (unsigned char)(at / PAGE * 7 + round);
}

static void write_all(const struct program *program, unsigned round) {
    for (size_t at = 0; at < SIZE; at += PAGE)
        program->data[at] = mark_of(at, round);
}

static void check_all(const struct program *program, unsigned round) {
    for (size_t at = 0; at < SIZE; at += PAGE)
        CHECK(program->data[at] == mark_of(at, round));
}

static void use(const struct program *program) {
    write_all(program, 1);
    check_all(program, 1);
}

/* ---- rights and limits ---- */

static void become_nobody(const struct program *program) {
    (void)program;
    CHECK(geteuid() != 0 ||
          (setgroups(0, NULL) == 0 && setgid(NOBODY) == 0 && setuid(NOBODY) == 0));
}

/* To where there is no /proc, among others. */
static void change_root(const struct program *program) {
    (void)program;
    CHECK(geteuid() != 0 || (chroot("/proc/self/fdinfo") == 0 && chdir("/") == 0));
}

static void forbid_dumps(const struct program *program) {
    (void)program;
    CHECK(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0);
}

#if !SANITIZED
static void forbid_more(const struct program *program) {
    static const enum __rlimit_resource what[] = {RLIMIT_AS, RLIMIT_DATA, RLIMIT_NOFILE,
                                                  RLIMIT_NPROC, RLIMIT_MEMLOCK};
    const struct rlimit none = {0, 0};
    (void)program;
    for (size_t i = 0; i < sizeof what / sizeof what[0]; i++)
        CHECK(setrlimit(what[i], &none) == 0);
}
#endif

/* ---- advice on managed memory ---- */

/* The kernel may refuse; what it does must not lose anything. */
static void give_advice(const struct program *program) {
    static const int advice[] = {MADV_SEQUENTIAL, MADV_WILLNEED, MADV_COLD,     MADV_PAGEOUT,
                                 MADV_NOHUGEPAGE, MADV_HUGEPAGE, MADV_DONTDUMP, MADV_MERGEABLE};
    for (size_t i = 0; i < sizeof advice / sizeof advice[0]; i++) {
        madvise(program->data, SIZE, advice[i]);
        check_all(program, 0);
    }
}

static void populate(const struct program *program) {
    if (madvise(program->data, SIZE, MADV_POPULATE_WRITE))
        CHECK(errno == EINVAL ||
              errno == EFAULT); /* Linux before 5.14; signals in place of messages */
}

/* The child has a copy of what is on the device; ours goes on as before. */
static void share_with_child(const struct program *program) {
    int ends[2];
    char byte;
    CHECK(madvise(program->data, SIZE, MADV_DOFORK) == 0 && pipe(ends) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        close(ends[1]);
        _exit(read(ends[0], &byte, 1) == 0 ? 0 : 1); /* until the parent has done its part */
    }
    int status = 1;
    use(program);
    close(ends[0]);
    close(ends[1]);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static void guard_a_page(const struct program *program) {
    if (madvise(program->data + 2 * PAGE, PAGE, GUARD_INSTALL)) {
        CHECK(errno == EINVAL); /* Linux before 6.13 */
        return;
    }
    CHECK(ff_mem_hint(program->context, program->data, SIZE, FF_HINT_EVICT, 0) == 0);
    CHECK(madvise(program->data + 2 * PAGE, PAGE, GUARD_REMOVE) == 0);
}

/* As garbage collectors do it, to learn which pages were written to. */
static void clear_soft_dirty(const struct program *program) {
    (void)program;
    int fd = open("/proc/self/clear_refs", O_WRONLY);
    CHECK(fd >= 0 && write(fd, "4", 1) == 1);
    close(fd);
}

/* ---- faults of its own ---- */

static sigjmp_buf back;

static void leave_handler(int number) {
    (void)number;
    siglongjmp(back, 1);
}

static void set_stack_for_signals(void *stack, size_t size) {
    const stack_t other = {.ss_sp = stack, .ss_size = size};
    struct sigaction action = {.sa_flags = SA_ONSTACK};
    action.sa_handler = leave_handler;
    CHECK(sigaltstack(&other, NULL) == 0 && sigaction(SIGSEGV, &action, NULL) == 0);
}

static void meet_segv(void) {
    if (!sigsetjmp(back, 1))
        *(volatile int *)16 = 1;
}

static void survive_faults(const struct program *program) {
    static char stack[64 << 10];
    set_stack_for_signals(stack, sizeof stack);
    for (size_t at = 0; at < SIZE; at += MB) {
        meet_segv();
        CHECK(program->data[at] == mark_of(at, 0));
    }
}

/* Where faults are signals themselves, there the kernel cannot deliver one. */
static void survive_on_managed_stack(const struct program *program) {
    if (program->config->handler == FF_HANDLER_SIGBUS)
        return;
    unsigned char *stack = child_alloc(program->context, MB);
    set_stack_for_signals(stack, MB);
    for (int i = 0; i < 8; i++) {
        child_evict(program->context, stack, MB);
        meet_segv();
    }
}

/* A program may use userfaultfd for other memory, as emulators do. */
static void use_userfaultfd(const struct program *program) {
    (void)program;
    struct uffdio_api api = {.api = UFFD_API};
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    CHECK(fd >= 0 && ioctl(fd, UFFDIO_API, &api) == 0);
    void *own = mmap(NULL, MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(own != MAP_FAILED);
    struct uffdio_register all = {{(uintptr_t)own, MB}, UFFDIO_REGISTER_MODE_MISSING, 0};
    CHECK(ioctl(fd, UFFDIO_REGISTER, &all) == 0);
    all.range.start = (uintptr_t)program->data;
    CHECK(ioctl(fd, UFFDIO_REGISTER, &all) == -1 && errno == EBUSY);
}

/* ---- other processes ---- */

static void start_children(const struct program *program) {
    for (size_t at = 0; at < 20 * MB; at += MB) {
        pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        if (child == 0)
            _exit(0);
        CHECK(child > 0 && program->data[at % SIZE] == mark_of(at % SIZE, 0));
        int status = 1;
        CHECK(waitpid(child, &status, 0) == child && status == 0);
    }
}

/* Runs the function in a child while the program uses its memory. */
static void beside_child(const struct program *program, void (*run)(const struct program *)) {
    pid_t parent = getpid(), child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK(getppid() == parent);
        run(program);
        _exit(0);
    }
    prctl(PR_SET_PTRACER, child, 0, 0, 0);
    int status = 0, ended;
    do {
        use(program);
        ended = waitpid(child, &status, WNOHANG);
    } while (ended == 0);
    CHECK(ended == child && status == 0);
}

static void stop_parent(const struct program *program) {
    (void)program;
    for (int i = 0; i < 10; i++) {
        CHECK(kill(getppid(), SIGSTOP) == 0);
        usleep(5000);
        CHECK(kill(getppid(), SIGCONT) == 0);
        usleep(5000);
    }
}

/* A signal that the program gets before the debugger's SIGSTOP, as a fault's, is passed on: left at
 * such a stop, the program would still have the SIGSTOP before it, and nobody to continue it. */
static void attach_to_parent(void) {
    int status = 0;
    CHECK(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL) == 0);
    CHECK(waitpid(getppid(), &status, 0) == getppid() && WIFSTOPPED(status));
    while (WSTOPSIG(status) != SIGSTOP) {
        CHECK(ptrace(PTRACE_CONT, getppid(), NULL, (long)WSTOPSIG(status)) == 0);
        CHECK(waitpid(getppid(), &status, 0) == getppid() && WIFSTOPPED(status));
    }
}

/* Of a page that is absent a debugger is told that it is not there. */
static void peek_at_parent(const struct program *program) {
    attach_to_parent();
    for (size_t at = 0; at < SIZE; at += 16 * PAGE) {
        errno = 0;
        ptrace(PTRACE_PEEKDATA, getppid(), program->data + at, NULL);
        CHECK(errno == 0 || errno == EIO);
    }
    CHECK(ptrace(PTRACE_DETACH, getppid(), NULL, NULL) == 0);
}

static void be_stopped(const struct program *program) {
    beside_child(program, stop_parent);
}

static void be_debugged(const struct program *program) {
    beside_child(program, peek_at_parent);
}

/* ---- each of these ---- */

static const struct act {
    const char *name;
    void (*run)(const struct program *program);
} acts[] = {
    {"become nobody", become_nobody},
    {"change the root", change_root},
    {"forbid dumps", forbid_dumps},
#if !SANITIZED /* whose run-time library would have no addresses left */
    {"forbid more of anything", forbid_more},
#endif
    {"give advice", give_advice},
    {"populate", populate},
    {"share with a child", share_with_child},
    {"guard a page", guard_a_page},
    {"clear soft-dirty bits", clear_soft_dirty},
    {"survive faults", survive_faults},
    {"survive faults on a managed stack", survive_on_managed_stack},
    {"use userfaultfd", use_userfaultfd},
    {"start children", start_children},
    {"be stopped", be_stopped},
    {"be debugged", be_debugged},
};

static void act_then_use(const struct ff_config *config, const void *argument) {
    const struct act *act = argument;
    struct program program = {config, child_open(config), NULL};
    program.data = child_alloc(program.context, SIZE);
    write_all(&program, 0);
    act->run(&program);
    use(&program);
    child_close(program.context);
}

enum how { DEFAULTS, COPIES, SIGNALS, HOWS };

static void expect_act(const struct act *act, enum how how) {
    struct ff_config config = child_config(BUDGET);
    config.mechanism = how == COPIES ? FF_MECHANISM_COPY : FF_MECHANISM_AUTO;
    config.handler = how == SIGNALS ? FF_HANDLER_SIGBUS : FF_HANDLER_ADAPTIVE;
    config.system = "nvidia";
    expect_end(act->name, act_then_use, &config, act, 0);
}

/* In long runs each in every way; in others with the defaults and in one of the other two. */
static void test_acts(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof acts / sizeof acts[0]; i++)
        for (enum how how = DEFAULTS; how < HOWS; how++)
            if (long_run_repeats() || how != (i % 2 ? COPIES : SIGNALS))
                expect_act(&acts[i], how);
}

int main(void) {
    struct ff_config config = child_config(BUDGET);
    ff_close(open_or_skip(&config));
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_acts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
