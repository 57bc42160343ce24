/* Programs that share devices through a broker: what they harvest from each other is as they left
 * it, a device's own program gets its memory back, and whoever is killed at whatever moment, the
 * others finish with the right results. */
#include "share/held.h"
#include "share/processes.h"

#include "base/random.h"

#include <sched.h>

#define SLOTS  8u
#define DEVICE (SLOTS * SLOT)

static const char *const systems[] = {"memharvester", "nvidia-1:place=memharvester"};

/* ---- the programs' processes ---- */

struct job {
    const char *device;
    size_t size;     /* bytes that it goes over again and again */
    uint32_t rounds; /* at least, and until what it must do has happened */
    uint32_t pause_us;
    bool must_lend, must_fetch; /* that it borrowed is what is tested */
    bool must_yield;            /* that others borrowed of its device */
    bool frees;                 /* each round allocates anew */
};

static unsigned char mark(size_t at, uint32_t round) {
    return (unsigned char)(at / PAGE * 31 + round);
}

static void go_over(unsigned char *data, size_t size, uint32_t round, bool fresh) {
    for (size_t at = 0; at < size; at += PAGE) {
        unsigned char *byte = data + at + at / PAGE % PAGE;
        CHECK(fresh ? *byte == 0 : *byte == mark(at, round - 1));
        *byte = mark(at, round);
    }
}

/* What a library may keep of its own once its context is closed. */
#define KEPT MB

/* Once it is closed, a context has left nothing of it: no lease, and no memory. */
static void check_gone(const struct held *before) {
    struct held after = held_by(getpid());
    CHECK(after.files == 0 && after.maps == 0 && after.sockets == before->sockets);
    CHECK(SANITIZED || after.bytes <= before->bytes + KEPT);
}

/* Whether others have borrowed of the device at some moment of a pause. */
static bool lends_while_it_rests(struct ff_context *context, uint32_t pause_us) {
    const uint32_t step_us = 50000;
    struct ff_stats stats;
    bool lends = false;
    for (; pause_us > 0; pause_us -= pause_us < step_us ? pause_us : step_us) {
        usleep(pause_us < step_us ? pause_us : step_us);
        ff_stats_read(context, &stats);
        lends = lends || stats.lent > 0;
    }
    return lends;
}

static bool has_done(struct ff_context *context, const struct job *job, bool has_lent) {
    struct ff_stats stats;
    ff_stats_read(context, &stats);
    return (!job->must_lend || stats.pages_lent > 0) &&
           (!job->must_fetch || stats.pages_fetched > 0) &&
           (!job->must_yield || (has_lent && stats.lent_peak > 0));
}

/* On a loaded machine it may have gone over its data several times before the broker lends it
 * anything. */
static void work(const struct ff_config *config, const void *argument) {
    const struct job *job = argument;
    const struct held before = held_by(getpid());
    struct ff_config own = *config;
    own.share = test.path;
    own.share_device = job->device;
    struct ff_context *context = child_open(&own);
    unsigned char *data = child_alloc(context, job->size);
    bool has_lent = false;
    for (uint32_t round = 0; round < job->rounds || !has_done(context, job, has_lent); round++) {
        if (job->frees && round > 0)
            CHECK(ff_mem_free(context, data) == 0);
        if (lends_while_it_rests(context, round > 0 ? job->pause_us : 0))
            has_lent = true;
        if (job->frees && round > 0)
            data = child_alloc(context, job->size);
        go_over(data, job->size, round, job->frees || round == 0);
    }
    struct ff_error error = {""};
    CHECK(ff_check(context, &error) == 0);
    child_close(context);
    check_gone(&before);
}

static pid_t start(const struct ff_config *config, const struct job *job) {
    pid_t child = fork_child();
    if (child > 0)
        return child;
    end_on_signals();
    work(config, job);
    _exit(0);
}

/* ---- harvesting ---- */

#define FOR_EACH_KIND(config)                                                                      \
    for (struct ff_config config = child_config(DEVICE), *once = &config; once; once = NULL)       \
        for (unsigned kind = 0; kind < 4; kind++)                                                  \
            if ((config.system = systems[kind % 2]) &&                                             \
                ((config.mechanism = kind / 2 ? FF_MECHANISM_COPY : FF_MECHANISM_AUTO), true))

static void test_harvest(void **state) {
    (void)state;
    FOR_EACH_KIND(config) {
        pid_t broker = start_broker(2, SLOTS, PATIENT_NS);
        const struct job job = {"gpu0", DEVICE / 2 * 3, 8, 20000, true, true, false, false};
        expect_success(start(&config, &job), "harvester");
        stop_broker(broker);
    }
}

/* Its own program begins later, and takes all of its device, again and again. */
static void test_reclaim(void **state) {
    (void)state;
    FOR_EACH_KIND(config) {
        pid_t broker = start_broker(2, SLOTS, PATIENT_NS);
        const struct job harvest = {"gpu0", DEVICE / 2 * 3, 30, 30000, true, true, false, false};
        const struct job yield = {"gpu1", DEVICE - SLOT, 4, 700000, false, false, false, true};
        pid_t harvester = start(&config, &harvest);
        usleep(300000);
        pid_t yielder = start(&config, &yield);
        expect_success(yielder, "yielder");
        expect_success(harvester, "harvester");
        stop_broker(broker);
    }
}

/* A program that is idle lends what it has allocated, too, and finds it again. */
static void test_idle(void **state) {
    (void)state;
    struct ff_config config = child_config(DEVICE);
    config.system = systems[0];
    pid_t broker = start_broker(2, SLOTS, PATIENT_NS);
    const struct job harvest = {"gpu0", DEVICE / 2 * 3, 60, 100000, true, true, false, false};
    const struct job rest = {"gpu1", DEVICE - SLOT, 2, 5000000, false, false, true, false};
    pid_t idle = start(&config, &rest), harvester = start(&config, &harvest);
    expect_success(idle, "idle program");
    expect_success(harvester, "harvester");
    stop_broker(broker);
}

static void test_two_harvest(void **state) {
    (void)state;
    FOR_EACH_KIND(config) {
        pid_t broker = start_broker(3, SLOTS, PATIENT_NS), harvesters[2];
        for (uint32_t i = 0; i < 2; i++) {
            const struct job job = {
                i ? "gpu1" : "gpu0", DEVICE / 2 * 3, 12, 20000, true, false, false, false};
            harvesters[i] = start(&config, &job);
        }
        for (uint32_t i = 0; i < 2; i++)
            expect_success(harvesters[i], "one of two harvesters");
        stop_broker(broker);
    }
}

/* ---- somebody is killed ---- */

enum { HARVESTER, OTHER, YIELDER, BROKER, ROLES };

/* The broker has nothing any more of programs that have ended, however they have. */
static void expect_forgotten(pid_t broker) {
    unsigned sockets = held_by(getpid()).sockets + 1; /* the one that it listens at */
    struct held held = held_by(broker);
    for (uint32_t i = 0; i < 200 && (held.files || held.maps || held.sockets > sockets); i++) {
        usleep(10000); /* it is told of an end soon, but not at once */
        held = held_by(broker);
    }
    if (held.files || held.maps || held.sockets != sockets)
        fail_msg("the broker still has %u descriptors of leases, %u mappings, %u sockets",
                 held.files, held.maps, held.sockets);
}

/* The next broker at the place of one that was killed. It takes the socket's name, and takes it
 * away. */
static void replace_broker(void) {
    struct ff_error error = {""};
    if (ff__broker_open(&test.broker, test.path, &error))
        fail_msg("%s", error.message);
    ff__broker_close(&test.broker);
}

static void kill_one(const struct ff_config *config, uint32_t role, uint32_t delay_us) {
    static const char *const names[ROLES] = {"harvester", "other harvester", "yielder", "broker"};
    const struct job jobs[] = {{"gpu0", DEVICE / 2 * 3, 15, 20000, false, false, false, false},
                               {"gpu1", DEVICE / 2 * 3, 15, 20000, false, false, false, false},
                               {"gpu2", DEVICE - SLOT, 3, 300000, false, false, false, true}};
    pid_t all[ROLES];
    all[BROKER] = start_broker(3, SLOTS, PATIENT_NS);
    for (uint32_t i = 0; i < BROKER; i++)
        all[i] = start(config, &jobs[i]);
    usleep(delay_us);
    kill(all[role], SIGKILL);
    wait_for_child(all[role]);
    for (uint32_t i = 0; i < BROKER; i++)
        if (i != role)
            expect_success(all[i], names[i]);
    if (role != BROKER) {
        expect_forgotten(all[BROKER]);
        stop_broker(all[BROKER]);
    } else {
        replace_broker();
    }
}

/* Once a broker has been killed before a program has joined, that cannot. */
static void test_kills(void **state) {
    (void)state;
    struct ff__random dice = ff__random_seeded((uint64_t)getpid());
    struct ff_config config = child_config(DEVICE);
    unsigned repeats = long_run_repeats() > 0 ? long_run_repeats() : SANITIZED ? 2 : ROLES;
    char ours[64];
    snprintf(ours, sizeof ours, "/tmp/farfault-test-%d-", getpid());
    const struct held before = held_by(getpid());
    for (unsigned i = 0; i < repeats; i++) {
        uint32_t role = i % ROLES;
        config.system = systems[i / ROLES % 2];
        kill_one(&config, role, 400000 + ff__random_below(&dice, 900000));
    }
    const struct held after = held_by(getpid());
    assert_int_equal(files_like(ours), 0);
    assert_int_equal(after.files + after.maps, 0);
    assert_int_equal(after.sockets, before.sockets);
}

/* Who does not answer for too long loses what it has borrowed; its program ends, and nobody else
 * does. */
static void test_stopped_program(void **state) {
    (void)state;
    struct ff_config config = child_config(DEVICE);
    config.system = systems[0];
    config.check = false;
    pid_t broker = start_broker(2, SLOTS, UINT64_C(300000000));
    const struct job harvest = {"gpu0", DEVICE / 2 * 3, 1000000, 1000, false, false, false, false};
    const struct job yield = {"gpu1", DEVICE - SLOT, 3, 100000, false, false, false, true};
    pid_t harvester = start(&config, &harvest);
    usleep(700000);
    kill(harvester, SIGSTOP);
    expect_success(start(&config, &yield), "yielder");
    kill(harvester, SIGCONT);
    usleep(300000);
    kill(harvester, SIGKILL); /* unless it has ended itself, as it has lost something */
    int status = wait_for_child(harvester);
    assert_true(WIFSIGNALED(status));
    stop_broker(broker);
}

int main(void) {
    struct ff_config config = child_config(DEVICE);
    ff_close(open_or_skip(&config));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_harvest), cmocka_unit_test(test_reclaim),
        cmocka_unit_test(test_idle),    cmocka_unit_test(test_two_harvest),
        cmocka_unit_test(test_kills),   cmocka_unit_test(test_stopped_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
