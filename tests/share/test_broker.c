/* The broker alone: who gets what, and what becomes of clients that break the protocol. */
#include "share/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "base/cases.h"
#include "base/clock.h"
#include "base/random.h"
#include "daemon/divide.h"

#define SLOTS    32u
#define LIMIT_NS UINT64_C(300000000)
#define WAIT_MS  10000

/* ---- dividing ---- */

static void test_division_is_fair(void **state) {
    (void)state;
    struct ff__random dice = ff__random_seeded(1);
    for (uint32_t round = 0; round < 2000; round++) {
        struct ff__division d = {.devices = 2 + ff__random_below(&dice, 7)};
        d.programs = d.devices;
        uint64_t spare = 0, all = 0, given[FF__PROGRAMS] = {0};
        for (uint32_t i = 0; i < d.devices; i++) {
            d.spare[i] = ff__random_below(&dice, 40);
            d.home[i] = i;
            d.wanted[i] = ff__random_below(&dice, 3) ? ff__random_below(&dice, 60) : 0;
            d.is_idle[i] = ff__random_below(&dice, 3) == 0;
            spare += d.spare[i];
            for (uint32_t j = 0; j < d.devices; j++)
                d.held[i][j] = i == j ? 0 : ff__random_below(&dice, 10);
        }
        ff__divide(&d);
        for (uint32_t device = 0; device < d.devices; device++) {
            uint32_t lent = 0;
            for (uint32_t p = 0; p < d.devices; p++) {
                lent += d.share[p][device];
                given[p] += d.share[p][device];
            }
            assert_true(lent <= d.spare[device]);
            assert_int_equal(d.share[device][device], 0);
        }
        for (uint32_t p = 0; p < d.devices; p++) {
            assert_true(given[p] <= d.wanted[p]);
            all += given[p];
        }
        assert_true(all <= spare);
    }
    struct ff__division two = {
        .devices = 3, .programs = 3, .spare = {0, 0, 20}, .home = {0, 1, 2}, .wanted = {50, 50, 0}};
    two.held[0][2] = 20;
    ff__divide(&two);
    assert_int_equal(two.share[0][2], 10);
    assert_int_equal(two.share[1][2], 10);
    two.is_idle[0] = true; /* it gets what the other leaves, which is nothing, */
    ff__divide(&two);
    assert_int_equal(two.share[0][2], 0);
    assert_int_equal(two.share[1][2], 20);
    two.wanted[1] = 5; /* and then the rest */
    ff__divide(&two);
    assert_int_equal(two.share[0][2], 15);
}

/* ---- grants ---- */

static void test_grants(void **state) {
    (void)state;
    struct ff__grant grant;
    assert_int_equal(ff__grant_open(&grant, 8), 0);
    int seals = fcntl(grant.memory_fd, F_GET_SEALS);
    assert_true((seals & F_SEAL_SHRINK) && (seals & F_SEAL_GROW));
    assert_true(ftruncate(grant.memory_fd, 0) != 0);
    assert_int_equal(ff__grant_take(&grant, 8), 0);
    assert_int_equal(ff__grant_give(&grant, 5), 5);
    assert_int_equal(ff__grant_give(&grant, 9), 3);
    /* two hold something: one that the host has, too */
    char *memory = mmap(NULL, 8 * SLOT, PROT_READ | PROT_WRITE, MAP_SHARED, grant.memory_fd, 0);
    assert_true(memory != MAP_FAILED);
    memory[2 * SLOT] = memory[3 * SLOT] = 7;
    ff__slot before = ff__slot_read(&grant.states[3]);
    assert_true(ff__slot_change(&grant.states[2], ff__slot_read(&grant.states[2]), FF__SLOT_USED));
    assert_true(ff__slot_change(&grant.states[3], before, FF__SLOT_CLEAN));
    assert_int_equal(ff__grant_take(&grant, 8), 7);
    assert_int_equal(grant.given, 1);
    assert_int_equal(memory[2 * SLOT], 7);
    assert_int_equal(memory[3 * SLOT], 0); /* given back to the system */
    assert_true(ff__slot_read(&grant.states[3]) >> 2 != before >> 2);
    /* what a program writes there after that is nobody's */
    assert_false(ff__slot_change(&grant.states[3], before, FF__SLOT_USED));
    grant.states[3] = (before & ~(ff__slot)3) | FF__SLOT_USED;
    assert_int_equal(ff__grant_take(&grant, 8), 0);
    assert_int_equal(grant.given, 1);
    munmap(memory, 8 * SLOT);
    ff__grant_close(&grant);
}

/* ---- a broker, and clients ---- */

static struct test_broker test;

static void *serve(void *unused) {
    (void)unused;
    ff__broker_run(&test.broker);
    return NULL;
}

static int start_broker(void **state) {
    (void)state;
    struct ff_error error = {""};
    set_devices(&test, 3, SLOTS, LIMIT_NS);
    if (ff__broker_open(&test.broker, test.path, &error))
        fail_msg("%s", error.message);
    return pthread_create(&test.thread, NULL, serve, NULL);
}

static int stop_broker(void **state) {
    (void)state;
    __atomic_store_n(&test.broker.stop, true, __ATOMIC_RELAXED);
    pthread_join(test.thread, NULL);
    ff__broker_close(&test.broker);
    return access(test.path, F_OK) == 0;
}

static int dial(void) {
    int fd = ff__share_connect(test.path);
    assert_true(fd >= 0);
    return fd;
}

static void say(int fd, enum ff__share_kind kind, uint64_t bytes) {
    struct ff__share_message message = ff__share_message(kind);
    message.bytes = bytes;
    ff__share_send(fd, &message, NULL, 0, true);
}

/* The next message; false: the connection has ended. */
static bool hear(int fd, struct ff__share_message *message, int fds[2]) {
    struct pollfd there = {.fd = fd, .events = POLLIN};
    unsigned count = 0;
    assert_int_equal(poll(&there, 1, WAIT_MS), 1);
    int status = ff__share_receive(fd, message, fds, &count, true);
    if (status == 1 && message->kind == FF__SHARE_LEASE && count == 0 && fds)
        fds[0] = fds[1] = -1;
    return status == 1;
}

static uint64_t join_as(int fd, const char *name) {
    struct ff__share_message message = ff__share_message(FF__SHARE_HELLO);
    uint64_t own = 0;
    ff__share_set_text(&message, "%s", name);
    assert_int_equal(ff__share_send(fd, &message, NULL, 0, true), 0);
    do {
        assert_true(hear(fd, &message, NULL));
        if (message.kind == FF__SHARE_WELCOME)
            own = message.bytes;
    } while (message.kind == FF__SHARE_DEVICE || message.kind == FF__SHARE_WELCOME);
    assert_int_equal(message.kind, FF__SHARE_END);
    return own;
}

/* What is leased of the device now; takes what is told of others on the way. */
static ff__slot *lease_of(int fd, uint32_t device, uint64_t *bytes) {
    struct ff__share_message message;
    ff__slot *states = NULL;
    *bytes = 0;
    while (*bytes == 0) {
        int fds[2] = {-1, -1};
        assert_true(hear(fd, &message, fds));
        if (message.kind != FF__SHARE_LEASE || message.device != device)
            continue;
        *bytes = message.bytes;
        if (fds[0] < 0)
            continue;
        states = mmap(NULL, SLOTS * sizeof *states, PROT_READ | PROT_WRITE, MAP_SHARED, fds[1], 0);
        assert_true(states != MAP_FAILED);
        close(fds[0]);
        close(fds[1]);
    }
    return states;
}

static void expect_refusal(int fd, const char *why) {
    struct ff__share_message message;
    int fds[2];
    do {
        fds[0] = fds[1] = -1;
        assert_true(hear(fd, &message, fds));
        close(fds[0]); /* of another device's lease, if there are any */
        close(fds[1]);
    } while (message.kind != FF__SHARE_REFUSED);
    assert_non_null(strstr(message.text, why));
    assert_false(hear(fd, &message, NULL));
    close(fd);
}

static void test_lend_and_reclaim(void **state) {
    (void)state;
    int harvester = dial(), yielder = dial();
    struct ff__share_message message;
    uint64_t bytes;
    assert_int_equal(join_as(harvester, "gpu0"), SLOTS * SLOT);
    say(harvester, FF__SHARE_HARVEST, 10 * SLOT);
    ff__slot *states = lease_of(harvester, 1, &bytes);
    assert_int_equal(bytes, 10 * SLOT);
    for (uint32_t i = 0; i < 10; i++) { /* two are used */
        enum ff__slot_state is = i < 2 ? FF__SLOT_USED : FF__SLOT_CLEAN;
        assert_true(ff__slot_change(&states[i], ff__slot_read(&states[i]), is));
    }
    /* its program begins, and has what is free; what it needs comes as far as nobody must write it
     * back */
    assert_int_equal(join_as(yielder, "gpu1"), (SLOTS - 10) * SLOT);
    say(yielder, FF__SHARE_NEED, SLOTS * SLOT);
    assert_true(hear(yielder, &message, NULL));
    assert_int_equal(message.kind, FF__SHARE_OWN);
    assert_int_equal(message.bytes, (SLOTS - 2) * SLOT);
    for (uint32_t i = 0; i < 2; i++)
        assert_true(ff__slot_change(&states[i], ff__slot_read(&states[i]), FF__SLOT_FREE));
    do
        assert_true(hear(yielder, &message, NULL));
    while (message.bytes < SLOTS * SLOT);
    for (uint32_t i = 0; i < SLOTS; i++)
        assert_int_equal(ff__slot_state(ff__slot_read(&states[i])), FF__SLOT_TAKEN);
    munmap(states, SLOTS * sizeof *states);
    close(harvester);
    close(yielder);
}

static void test_who_keeps_memory_is_disconnected(void **state) {
    (void)state;
    int harvester = dial(), yielder = dial();
    struct ff__share_message message;
    uint64_t bytes;
    join_as(harvester, "gpu0");
    say(harvester, FF__SHARE_HARVEST, 4 * SLOT);
    ff__slot *states = lease_of(harvester, 1, &bytes);
    for (uint32_t i = 0; i < 4; i++)
        states[i] = (states[i] & ~(ff__slot)3) | FF__SLOT_USED;
    join_as(yielder, "gpu1");
    uint64_t start = ff__clock_ns();
    say(yielder, FF__SHARE_NEED, SLOTS * SLOT);
    do
        assert_true(hear(yielder, &message, NULL));
    while (message.bytes < SLOTS * SLOT);
    assert_true(ff__clock_ns() - start >= LIMIT_NS);
    for (uint32_t i = 0; i < SLOTS; i++)
        assert_int_equal(ff__slot_state(ff__slot_read(&states[i])), FF__SLOT_TAKEN);
    expect_refusal(harvester, "in time");
    munmap(states, SLOTS * sizeof *states);
    close(yielder);
}

static void test_two_harvesters_share(void **state) {
    (void)state;
    int first = dial(), second = dial(), third = dial();
    uint64_t bytes, before;
    join_as(third, "gpu2");
    join_as(first, "gpu0");
    say(first, FF__SHARE_HARVEST, 100 * SLOT);
    munmap(lease_of(first, 1, &bytes), SLOTS * sizeof(ff__slot));
    assert_int_equal(bytes, (SLOTS - FF__KEEP) * SLOT);
    say(third, FF__SHARE_HARVEST, 100 * SLOT);
    munmap(lease_of(third, 1, &before), SLOTS * sizeof(ff__slot));
    assert_int_equal(before, (SLOTS - FF__KEEP) / 2 * SLOT);
    lease_of(first, 1, &bytes);
    assert_int_equal(bytes, before);
    close(first);
    close(second);
    close(third);
}

static uint64_t lend_request(int fd) {
    struct ff__share_message message;
    do
        assert_true(hear(fd, &message, NULL));
    while (message.kind != FF__SHARE_LEND);
    return message.bytes;
}

/* Idle programs are asked for what others lack, once until they have answered, and those in use are
 * not. */
static void test_idle_programs_are_asked(void **state) {
    (void)state;
    int harvester = dial(), idle = dial(), busy = dial();
    struct ff__share_message message;
    uint64_t bytes;
    join_as(idle, "gpu1");
    join_as(busy, "gpu2");
    join_as(harvester, "gpu0");
    say(idle, FF__SHARE_REPORT, 20 * SLOT);
    say(harvester, FF__SHARE_HARVEST, 8 * SLOT);
    assert_int_equal(lend_request(idle), 8 * SLOT);
    say(idle, FF__SHARE_REPORT, 20 * SLOT);
    say(idle, FF__SHARE_NEED, (SLOTS - 5) * SLOT); /* a part of it */
    munmap(lease_of(harvester, 1, &bytes), SLOTS * sizeof(ff__slot));
    assert_int_equal(bytes, 5 * SLOT);
    assert_int_equal(lend_request(idle), 3 * SLOT);
    say(idle, FF__SHARE_REPORT, 0); /* it is in use again, and gets all back */
    say(idle, FF__SHARE_NEED, SLOTS * SLOT);
    do
        assert_true(hear(idle, &message, NULL));
    while (message.kind != FF__SHARE_OWN || message.bytes < SLOTS * SLOT || message.lent > 0);
    struct pollfd there = {.fd = busy, .events = POLLIN};
    assert_int_equal(poll(&there, 1, 0), 0);
    close(harvester);
    close(idle);
    close(busy);
}

/* ---- those who break the protocol ---- */

static void test_malformed_messages(void **state) {
    (void)state;
    struct ff__share_message message = ff__share_message(FF__SHARE_HELLO), bad = message;
    char long_one[1000] = {0};
    memcpy(long_one, &message, sizeof message);
    for (uint32_t i = 0; i < 7; i++) {
        int fd = dial();
        const void *bytes = &bad;
        size_t size = sizeof bad;
        bad = message;
        switch (i) {
        case 0:
            bad.magic++;
            break;
        case 1:
            bad.kind = FF__SHARE_KINDS;
            break;
        case 2:
            memset(bad.text, 'x', sizeof bad.text);
            break;
        case 3:
            bad.bytes = UINT64_MAX;
            break;
        case 4:
            size--;
            break;
        case 5:
            bytes = long_one;
            size = sizeof long_one;
            break;
        case 6:
            bad.device = FF__SHARE_DEVICES;
            break;
        }
        assert_int_equal(send(fd, bytes, size, 0), size);
        expect_refusal(fd, "no message of this protocol");
    }
}

static void test_messages_out_of_order(void **state) {
    (void)state;
    static const enum ff__share_kind early[] = {FF__SHARE_NEED,   FF__SHARE_HARVEST,
                                                FF__SHARE_REPORT, FF__SHARE_WELCOME,
                                                FF__SHARE_LEASE,  FF__SHARE_END};
    for (size_t i = 0; i < sizeof early / sizeof early[0]; i++) {
        int fd = dial();
        say(fd, early[i], SLOT);
        expect_refusal(fd, "does not belong here");
    }
    int fd = dial();
    join_as(fd, "gpu1");
    say(fd, FF__SHARE_HELLO, 0);
    expect_refusal(fd, "does not belong here");
    fd = dial();
    struct ff__share_message hello = ff__share_message(FF__SHARE_HELLO);
    ff__share_set_text(&hello, "gpu7");
    ff__share_send(fd, &hello, NULL, 0, true);
    expect_refusal(fd, "no such device");
}

static void test_unasked_descriptors(void **state) {
    (void)state;
    int fd = dial(), ends[2];
    char byte;
    struct ff__share_message hello = ff__share_message(FF__SHARE_HELLO);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(ff__share_send(fd, &hello, &ends[1], 1, true), 0);
    close(ends[1]);
    expect_refusal(fd, "no message of this protocol");
    assert_int_equal(read(ends[0], &byte, 1), 0); /* nobody has kept the other end */
    close(ends[0]);
}

static void test_many_connections(void **state) {
    (void)state;
    int good = dial(), fds[1000], refused = 0;
    join_as(good, "gpu0");
    for (unsigned i = 0; i < 1000; i++) {
        struct ff__share_message message;
        fds[i] = dial();
        struct pollfd there = {.fd = fds[i], .events = POLLIN};
        if (i < FF__CLIENTS_OF_PID && poll(&there, 1, 50) == 0)
            continue;
        assert_true(hear(fds[i], &message, NULL));
        assert_int_equal(message.kind, FF__SHARE_REFUSED);
        assert_non_null(strstr(message.text, "too many"));
        refused++;
        close(fds[i]);
        fds[i] = -1;
    }
    assert_int_equal(refused, 1000 - FF__CLIENTS_OF_PID + 1);
    /* nobody else notices */
    struct ff__share_message message;
    int lease[2];
    say(good, FF__SHARE_HARVEST, 2 * SLOT);
    assert_true(hear(good, &message, lease));
    assert_int_equal(message.kind, FF__SHARE_LEASE);
    close(lease[0]);
    close(lease[1]);
    for (unsigned i = 0; i < 1000; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    close(good);
}

static void test_who_does_not_read_is_disconnected(void **state) {
    (void)state;
    int fd = dial(), other = dial();
    join_as(fd, "gpu0");
    join_as(other, "gpu1");
    for (uint32_t i = 0; i < 4000; i++) {
        say(fd, FF__SHARE_HARVEST, i % 2 ? 8 * SLOT : 2 * SLOT);
        struct ff__share_message message = ff__share_message(FF__SHARE_NEED);
        message.bytes = i % 2 ? 20 * SLOT : 30 * SLOT;
        if (ff__share_send(fd, &message, NULL, 0, true))
            break; /* it is */
    }
    say(other, FF__SHARE_HARVEST, 2 * SLOT);
    uint64_t bytes;
    munmap(lease_of(other, 2, &bytes), SLOTS * sizeof(ff__slot));
    close(fd);
    close(other);
}

static void test_socket(void **state) {
    (void)state;
    struct stat about;
    assert_int_equal(stat(test.path, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
    static struct test_broker second;
    struct ff_error error = {""};
    set_devices(&second, 1, SLOTS, LIMIT_NS);
    assert_int_equal(ff__broker_open(&second.broker, test.path, &error), -EADDRINUSE);
    assert_non_null(strstr(error.message, "listens there already"));
    assert_int_equal(ff__broker_open(&second.broker, "/dev/null", &error), -EEXIST);
}

/* A connection that cannot be taken in wakes the broker once a step, not all the time; it is as
 * soon as it can be. */
static void test_no_descriptors(void **state) {
    (void)state;
    static struct test_broker full;
    struct ff_error error = {""};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct rlimit before, none;
    set_devices(&full, 1, SLOTS, LIMIT_NS);
    assert_int_equal(ff__broker_open(&full.broker, full.path, &error), 0);
    strcpy(address.sun_path, full.path);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
    getrlimit(RLIMIT_NOFILE, &before);
    none = before, none.rlim_cur = 3;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    uint64_t start = ff__clock_ns();
    for (int i = 0; i < 6; i++)
        assert_true(ff__broker_step(&full.broker, 50) >= 0);
    assert_true(ff__clock_ns() - start >= UINT64_C(100000000));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    for (int i = 0; i < 2; i++)
        assert_true(ff__broker_step(&full.broker, 50) >= 0);
    assert_true(full.broker.clients[0].fd >= 0);
    close(fd);
    ff__broker_close(&full.broker);
}

int main(void) {
#define WITH_BROKER(name) cmocka_unit_test_setup_teardown(name, start_broker, stop_broker)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_division_is_fair),
        cmocka_unit_test(test_grants),
        cmocka_unit_test(test_no_descriptors),
        WITH_BROKER(test_lend_and_reclaim),
        WITH_BROKER(test_who_keeps_memory_is_disconnected),
        WITH_BROKER(test_two_harvesters_share),
        WITH_BROKER(test_idle_programs_are_asked),
        WITH_BROKER(test_malformed_messages),
        WITH_BROKER(test_messages_out_of_order),
        WITH_BROKER(test_unasked_descriptors),
        WITH_BROKER(test_many_connections),
        WITH_BROKER(test_who_does_not_read_is_disconnected),
        WITH_BROKER(test_socket),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
