/* SIGBUS and the program: its own handler gets what is its own, however late it is set, and
 * managed memory is there whatever the program blocks. */
#include "client.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE (16 * MIB)

static unsigned char *data;
static sigjmp_buf way_out;
static volatile sig_atomic_t met, touched;

static void touch_all(void) {
    for (size_t at = 0; at < SIZE; at += 4096)
        data[at]++;
    touched++;
}

static void check_all(void) {
    for (size_t at = 0; at < SIZE; at += 4096)
        CHECK(data[at] == touched);
}

static void note(int number) {
    (void)number;
    met++;
}

static void note_and_leave(int number, siginfo_t *info, void *ucontext) {
    (void)number, (void)ucontext;
    CHECK(info->si_addr);
    met++;
    siglongjmp(way_out, 1);
}

static volatile char *beyond_a_file(void) {
    char path[] = "./farfault-sigbus-XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0 && unlink(path) == 0);
    volatile char *area = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    CHECK(area != MAP_FAILED && close(fd) == 0);
    return area;
}

static void test_handler(volatile char *area) {
    struct sigaction action = {.sa_sigaction = note_and_leave, .sa_flags = SA_SIGINFO}, before;
    CHECK(sigaction(SIGBUS, &action, NULL) == 0);
    CHECK(sigaction(SIGBUS, NULL, &before) == 0 && before.sa_sigaction == note_and_leave);
    touch_all();
    CHECK(met == 0);
    if (sigsetjmp(way_out, 1) == 0)
        (void)area[0];
    CHECK(met == 1);
    CHECK(signal(SIGBUS, note) != SIG_ERR && raise(SIGBUS) == 0 && met == 2);
    touch_all();
    CHECK(met == 2 && signal(SIGBUS, SIG_IGN) == note && raise(SIGBUS) == 0);
    touch_all();
}

static void touch(int number) {
    (void)number;
    touch_all();
}

static void test_blocked(void) {
    struct sigaction action = {.sa_handler = touch};
    sigset_t all, before;
    sigfillset(&all);
    CHECK(pthread_sigmask(SIG_BLOCK, &all, &before) == 0);
    touch_all();
    CHECK(sigprocmask(SIG_SETMASK, &all, NULL) == 0);
    touch_all();
    CHECK(sigprocmask(SIG_SETMASK, &before, NULL) == 0);
    sigfillset(&action.sa_mask);
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0 && raise(SIGUSR1) == 0);
}

int main(void) {
    struct client client;
    client_open(&client, 0);
    data = clSVMAlloc(client.context, CL_MEM_READ_WRITE, SIZE, 0);
    CHECK(data);
    memset(data, 0, SIZE);
    test_handler(beyond_a_file());
    test_blocked();
    check_all();
    clSVMFree(client.context, data);
    client_close(&client);
    return 0;
}
