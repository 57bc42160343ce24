/* A broker in a process of its own, and programs in others. */
#ifndef FF_TESTS_SHARE_PROCESSES_H
#define FF_TESTS_SHARE_PROCESSES_H

#include <sys/prctl.h>

#include "runtime/child.h"
#include "share/broker.h"

static struct test_broker test;

static inline void stop(int signal) {
    (void)signal;
    __atomic_store_n(&test.broker.stop, true, __ATOMIC_RELAXED);
}

#define PATIENT_NS UINT64_C(30000000000)

/* A child that ends with the test, also where that has failed and waits for nobody. */
static inline pid_t fork_child(void) {
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    return child;
}

static inline pid_t start_broker(uint32_t devices, uint32_t slots, uint64_t limit_ns) {
    struct ff_error error = {""};
    set_devices(&test, devices, slots, limit_ns);
    if (ff__broker_open(&test.broker, test.path, &error))
        fail_msg("%s", error.message);
    pid_t child = fork_child();
    if (child == 0) {
        signal(SIGTERM, stop);
        int status = ff__broker_run(&test.broker);
        ff__broker_close(&test.broker);
        _exit(status != 0);
    }
    close(test.broker.listener);
    close(test.broker.epoll);
    return child;
}

static inline void stop_broker(pid_t broker) {
    kill(broker, SIGTERM);
    assert_int_equal(wait_for_child(broker), 0);
    assert_true(access(test.path, F_OK) != 0);
}

static inline void expect_success(pid_t child, const char *who) {
    int status = wait_for_child(child);
    if (status < 0)
        fail_msg("%s: not done in time", who);
    if (WIFSIGNALED(status))
        fail_msg("%s: ended by signal %d", who, WTERMSIG(status));
    if (status != 0)
        fail_msg("%s: failed", who);
}

#endif
