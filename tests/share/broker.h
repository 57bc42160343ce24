/* A broker for tests, in a thread or a process of its own, and a client that says what it likes. */
#ifndef FF_TESTS_SHARE_BROKER_H
#define FF_TESTS_SHARE_BROKER_H

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon/broker.h"

#define SLOT FF__SLOT_SIZE

struct test_broker {
    struct ff__broker broker;
    char path[64];
    pthread_t thread;
};

static inline void set_devices(struct test_broker *test, uint32_t count, uint32_t slots,
                               uint64_t limit_ns) {
    static unsigned number;
    memset(test, 0, sizeof *test);
    snprintf(test->path, sizeof test->path, "/tmp/farfault-test-%d-%u", getpid(), number++);
    test->broker.device_count = count;
    test->broker.limit_ns = limit_ns;
    for (uint32_t d = 0; d < count; d++) {
        test->broker.devices[d] = (struct ff__broker_device){"", slots, {0}};
        snprintf(test->broker.devices[d].name, FF__SHARE_NAME, "gpu%u", d);
    }
}

#endif
