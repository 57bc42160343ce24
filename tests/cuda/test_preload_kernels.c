/* Device memory, whose faults are met by SIGBUS and served by the threads that meet them: a handler
 * of the program's gets what is its own, whenever it is set, the memory is there whatever the
 * program blocks, and system calls have no part in it. */
#include "cuda/driver.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#define MIB   ((size_t)1 << 20)
#define WORDS (4 * MIB) /* 16 MiB, on a device of 8 MiB */
#define STEP  1024      /* words of a page */

static CUdeviceptr data, rival;
static uint32_t added; /* to each word of data */
static sigjmp_buf way_out;
static volatile sig_atomic_t met;

/* ---- using device memory that is not on the device ---- */

static void increase(CUdeviceptr address) {
    unsigned n = WORDS, value = 1;
    void *params[] = {&address, &n, &value};
    OK(launch(function_of("add"), WORDS / 128, 128, NULL, params));
}

static bool is_all(const uint32_t *words) {
    for (size_t i = 0; i < WORDS; i += STEP)
        if (words[i] != added)
            return false;
    return true;
}

/* By kernels, by copies, and by the thread itself. */
static void use(void) {
    static uint32_t copy[WORDS];
    increase(data);
    increase(rival);
    added++;
    OK(cuMemcpyDtoH_v2(copy, data, sizeof copy));
    assert_true(is_all(copy));
    OK(cuMemcpyHtoD_v2(data, copy, sizeof copy));
    OK(cuMemsetD8_v2(rival, 0, 4 * WORDS));
    assert_true(is_all(words_at(data)));
}

/* ---- handlers ---- */

static void note(int number) {
    (void)number;
    met++;
}

static void note_and_leave(int number, siginfo_t *info, void *ucontext) {
    (void)number, (void)info, (void)ucontext;
    met++;
    siglongjmp(way_out, 1);
}

static volatile char *beyond_a_file(void) {
    char path[] = "./farfault-kernels-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0 && unlink(path) == 0);
    volatile char *area = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    assert_true(area != MAP_FAILED && close(fd) == 0);
    return area;
}

/* It is set before the driver is there; cmocka sets its own between tests. */
static void an_old_handler_gets_what_is_not_ours(void **state) {
    struct sigaction before;
    signal(SIGBUS, note);
    begin(state);
    data = allocate(4 * WORDS);
    rival = allocate(4 * WORDS);
    use();
    assert_int_equal(met, 0);
    assert_int_equal(sigaction(SIGBUS, NULL, &before), 0);
    assert_ptr_equal(before.sa_handler, note);
    assert_int_equal(raise(SIGBUS), 0);
    assert_int_equal(met, 1);
    use();
}

static void a_new_one_too(void **state) {
    struct sigaction action = {.sa_sigaction = note_and_leave, .sa_flags = SA_SIGINFO};
    volatile char *area = beyond_a_file();
    (void)state;
    met = 0;
    assert_int_equal(sigaction(SIGBUS, &action, NULL), 0);
    use();
    assert_int_equal(met, 0);
    if (sigsetjmp(way_out, 1) == 0)
        (void)area[0];
    assert_int_equal(met, 1);
    use();
    assert_true(signal(SIGBUS, note) != SIG_ERR && raise(SIGBUS) == 0);
    assert_int_equal(met, 2);
    assert_ptr_equal(signal(SIGBUS, SIG_IGN), note);
    assert_int_equal(raise(SIGBUS), 0);
    use();
    munmap((void *)(uintptr_t)area, 4096);
}

/* ---- masks ---- */

static void use_in_handler(int number) {
    (void)number;
    met += is_all(words_at(data));
}

static void called(void *user) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    *(bool *)user = is_all(words_at(data));
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void blocked_signals(void **state) {
    struct sigaction action = {.sa_handler = use_in_handler};
    sigset_t all, before;
    bool is_right = false;
    (void)state;
    sigfillset(&all);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, &all, &before), 0);
    use();
    OK(cuLaunchHostFunc(NULL, called, &is_right));
    OK(cuStreamSynchronize(NULL));
    assert_true(is_right);
    assert_int_equal(sigprocmask(SIG_SETMASK, &all, NULL), 0);
    use();
    assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
    sigfillset(&action.sa_mask);
    met = 0;
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    use();
    assert_int_equal(raise(SIGUSR1), 0);
    assert_int_equal(met, 1);
}

/* ---- an alternate stack that has room for little ---- */

static void *use_with_little_stack(void *unused) {
    struct sigaction action = {.sa_handler = use_in_handler, .sa_flags = SA_ONSTACK};
    size_t room = (size_t)sysconf(_SC_SIGSTKSZ);
    stack_t stack = {.ss_sp = malloc(room), .ss_size = room}, none = {.ss_flags = SS_DISABLE};
    (void)unused;
    CUresult result = cuCtxSetCurrent(context);
    bool is_set = stack.ss_sp != NULL && sigaltstack(&stack, NULL) == 0 &&
                  sigaction(SIGUSR1, &action, NULL) == 0;
    bool is_right = is_set && is_all(words_at(data)) && raise(SIGUSR1) == 0;
    sigaltstack(&none, NULL);
    free(stack.ss_sp);
    return result == CUDA_SUCCESS && is_right ? &data : NULL;
}

static void an_alternate_stack(void **state) {
    pthread_t thread;
    void *is_right;
    (void)state;
    met = 0;
    use();
    assert_int_equal(pthread_create(&thread, NULL, use_with_little_stack, NULL), 0);
    assert_int_equal(pthread_join(thread, &is_right), 0);
    assert_non_null(is_right);
    assert_int_equal(met, 1);
}

/* ---- system calls ---- */

/* Sends each page of 16 MiB of 5 through a pipe. Returns how many cannot be: EFAULT. */
static unsigned unsent_pages(CUdeviceptr address) {
    static uint32_t words[1024];
    unsigned unsent = 0;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    for (size_t i = 0; i < WORDS; i += 1024) {
        errno = 0;
        if (write(ends[1], words_at(address) + i, 4096) == 4096) {
            assert_int_equal(read(ends[0], words, 4096), 4096);
            assert_int_equal(words[1023], 5);
            continue;
        }
        assert_int_equal(errno, EFAULT);
        unsent++;
    }
    close(ends[0]);
    close(ends[1]);
    return unsent;
}

/* The kernel may read what is on a device, and of managed memory all, but no other device memory:
 * no driver gives its address to system calls. */
static void system_calls_reach_managed_memory(void **state) {
    CUdeviceptr plain, managed;
    (void)state;
    OK(cuMemAlloc_v2(&plain, 4 * WORDS));
    OK(cuMemAllocManaged(&managed, 4 * WORDS, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemsetD32_v2(plain, 5, WORDS));
    OK(cuMemsetD32_v2(managed, 5, WORDS));
    OK(cuCtxSynchronize());
    assert_int_equal(unsent_pages(managed), 0);
    assert_true(unsent_pages(plain) >= WORDS / 1024 / 2); /* as many as are on no device */
    for (size_t i = 0; i < WORDS; i++)
        assert_int_equal(words_at(plain)[i], 5);
    OK(cuMemFree_v2(managed));
    OK(cuMemFree_v2(plain));
}

static int end_all(void **state) {
    OK(cuMemFree_v2(data));
    OK(cuMemFree_v2(rival));
    return end(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_old_handler_gets_what_is_not_ours), cmocka_unit_test(a_new_one_too),
        cmocka_unit_test(blocked_signals), cmocka_unit_test(an_alternate_stack),
        cmocka_unit_test(system_calls_reach_managed_memory)};
    return cmocka_run_group_tests(tests, NULL, end_all);
}
