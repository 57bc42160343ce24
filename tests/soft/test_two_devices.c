/* Several devices use one block: what lies on which of them changes while it is evicted, migrated
 * and used, and no order of that loses a page or waits for itself. */
#include <pthread.h>

#include "base/random.h"
#include "runtime/child.h"

#define BUDGET (8 * MB)
#define ROUNDS (long_run_repeats() ? 3u : 1u) /* of each scenario in each configuration */

static void wait_for_prefetches(struct ff_context *context, uint64_t pages) {
    uint64_t end = ff__clock_ns() + 100000000u; /* advice need not be followed */
    struct ff_stats stats;
    do {
        usleep(200);
        ff_stats_read(context, &stats);
    } while (stats.prefetched < pages && ff__clock_ns() < end);
}

/* ---- one block in pieces on several devices ---- */

enum leaving { BY_EVICTION, BY_HOME, BY_FREE, BY_DISCARD };

#define PIECES 12u

static unsigned char mark_of(unsigned page) {
    return (unsigned char)(page + 1);
}

/* Pages 0 to 11 come by faults, but every third by a prefetch to another device. */
static void scatter(struct ff_context *context, unsigned char *data, uint32_t devices) {
    for (unsigned page = 0; page < PIECES; page++)
        data[page * PAGE] = mark_of(page);
    child_evict(context, data, 2 * MB);
    for (unsigned page = 0; page < PIECES; page++)
        if (page % 3 != 1)
            CHECK(data[page * PAGE] == mark_of(page));
    struct ff_stats stats;
    ff_stats_read(context, &stats);
    for (unsigned page = 1; page < PIECES; page += 3)
        CHECK(ff_mem_prefetch(context, data + page * PAGE, PAGE, 1 + page / 3 % (devices - 1)) ==
              0);
    wait_for_prefetches(context, stats.prefetched + PIECES / 3);
}

static void leave(struct ff_context *context, unsigned char *data, enum leaving how) {
    switch (how) {
    case BY_EVICTION:
        child_evict(context, data, 2 * MB);
        break;
    case BY_HOME:
        CHECK(ff_mem_hint(context, data, 2 * MB, FF_HINT_HOME, 1) == 0);
        break;
    case BY_DISCARD:
        CHECK(ff_mem_hint(context, data, PAGE, FF_HINT_DISCARD, 0) == 0);
        data[0] = mark_of(0);
        break;
    case BY_FREE:
        CHECK(ff_mem_free(context, data) == 0);
        break;
    }
}

static void leave_in_pieces(const struct ff_config *config, const void *argument) {
    const enum leaving *how = argument;
    struct ff_context *context = child_open(config);
    unsigned char *beside = child_alloc(context, BUDGET);
    memset(beside, 0x77, BUDGET);
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned char *data = child_alloc(context, 2 * MB);
        scatter(context, data, config->devices);
        leave(context, data, *how);
        for (unsigned page = 0; *how != BY_FREE && page < PIECES; page++)
            CHECK(data[page * PAGE] == mark_of(page));
        CHECK(*how == BY_FREE || ff_mem_free(context, data) == 0);
    }
    for (size_t at = 0; at < BUDGET; at += PAGE)
        CHECK(beside[at] == 0x77);
    struct ff_stats stats;
    ff_stats_read(context, &stats);
    CHECK(stats.resident <= stats.capacity + stats.overshoot);
    child_close(context);
}

static void check_leaving(enum leaving how) {
    FOR_EACH_VARIANT(config, BUDGET) {
        for (config.devices = 2; config.devices <= 3; config.devices++)
            expect_ok(leave_in_pieces, &config, &how);
    }
}

static void test_evicted_in_pieces(void **state) {
    (void)state;
    check_leaving(BY_EVICTION);
}

static void test_sent_home_in_pieces(void **state) {
    (void)state;
    check_leaving(BY_HOME);
}

static void test_freed_in_pieces(void **state) {
    (void)state;
    check_leaving(BY_FREE);
}

static void test_discarded_in_pieces(void **state) {
    (void)state;
    check_leaving(BY_DISCARD);
}

/* ---- launches alternate between devices while threads use the operands ---- */

#define THREADS 4u
#define SHARED  (4 * MB)
#define PAGES   (SHARED / PAGE)

struct team {
    struct ff_context *context;
    unsigned char *data;
    uint32_t devices;
    uint64_t operations; /* of each thread */
    bool stop;           /* atomic */
};

struct user {
    struct team *team;
    unsigned number;
    pthread_t thread;
};

/* Writes and reads the pages that are its own, in blocks that are everybody's. */
static void *use_pages(void *argument) {
    const struct user *user = argument;
    struct ff__random random = ff__random_seeded(user->number + 1);
    uint32_t versions[PAGES / THREADS] = {0};
    for (uint64_t i = 0; i < user->team->operations; i++) {
        size_t own = ff__random_below(&random, PAGES / THREADS);
        volatile uint32_t *word =
            (void *)(user->team->data + (own * THREADS + user->number) * PAGE);
        CHECK(*word == versions[own]);
        *word = ++versions[own];
    }
    return NULL;
}

static void *launch_everywhere(void *argument) {
    struct team *team = argument;
    const void *operand = team->data;
    for (uint32_t i = 0; !__atomic_load_n(&team->stop, __ATOMIC_RELAXED); i++) {
        uint32_t device = i % team->devices;
        ff_launch_begin(team->context, device, 1 + device, "kernel", &operand, NULL, 1);
        ff_launch_end(team->context, device, 1 + device);
        usleep(300);
    }
    return NULL;
}

static void use_while_homes_change(const struct ff_config *config, const void *argument) {
    struct team team = {
        .context = child_open(config), .devices = config->devices, .operations = 4000};
    struct user users[THREADS];
    pthread_t launcher;
    (void)argument;
    team.data = child_alloc(team.context, SHARED);
    CHECK(pthread_create(&launcher, NULL, launch_everywhere, &team) == 0);
    for (unsigned i = 0; i < THREADS; i++) {
        users[i] = (struct user){.team = &team, .number = i};
        CHECK(pthread_create(&users[i].thread, NULL, use_pages, &users[i]) == 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        CHECK(pthread_join(users[i].thread, NULL) == 0);
    __atomic_store_n(&team.stop, true, __ATOMIC_RELAXED);
    CHECK(pthread_join(launcher, NULL) == 0);
    CHECK(rss_is_within_budget(team.context));
    child_close(team.context);
}

static void test_homes_change(void **state) {
    (void)state;
    FOR_EACH_VARIANT(config, BUDGET) {
        config.check = false;
        for (config.devices = 2; config.devices <= 3; config.devices++)
            expect_ok(use_while_homes_change, &config, NULL);
    }
}

/* ---- two streams on two devices read one input ---- */

#define COUNT (MB / sizeof(uint32_t))

struct addition {
    const uint32_t *from;
    uint32_t *to;
    uint32_t term;
};

static void add(const struct ff_work *work, void *arguments) {
    const struct addition *a = arguments;
    for (size_t i = work->first; i < work->end; i++)
        a->to[i] = a->from[i] + a->term;
}

static void share_an_input(const struct ff_config *config, const void *argument) {
    struct ff_context *context = child_open(config);
    struct ff_stream *streams[3];
    uint32_t *input = (void *)child_alloc(context, COUNT * sizeof *input), *outputs[3];
    (void)argument;
    for (uint32_t i = 0; i < COUNT; i++)
        input[i] = i * 2654435761u;
    for (uint32_t d = 0; d < config->devices; d++) {
        outputs[d] = (void *)child_alloc(context, COUNT * sizeof *input);
        CHECK(ff_stream_create(context, d, &streams[d]) == 0);
    }
    for (uint32_t round = 0; round < 10 * ROUNDS; round++) {
        for (uint32_t d = 0; d < config->devices; d++) {
            struct addition sum = {input, outputs[d], round + d};
            const void *operands[] = {input, outputs[d]};
            struct ff_launch launch = {.name = "add",
                                       .kernel = add,
                                       .grid = COUNT,
                                       .arguments = &sum,
                                       .argument_size = sizeof sum,
                                       .operands = operands,
                                       .operand_count = 2};
            CHECK(ff_kernel_launch(streams[d], &launch) == 0);
        }
        for (uint32_t d = 0; d < config->devices; d++)
            ff_stream_synchronize(streams[d]);
        for (uint32_t d = 0; d < config->devices; d++)
            for (uint32_t i = round; i < COUNT; i += 997)
                CHECK(outputs[d][i] == input[i] + round + d);
    }
    for (uint32_t d = 0; d < config->devices; d++)
        ff_stream_destroy(streams[d]);
    child_close(context);
}

static void test_shared_input(void **state) {
    (void)state;
    FOR_EACH_VARIANT(config, 4 * MB) {
        config.workers = 2;
        for (config.devices = 2; config.devices <= 3; config.devices++)
            expect_ok(share_an_input, &config, NULL);
    }
}

int main(void) {
    struct ff_config config = child_config(BUDGET);
    ff_close(open_or_skip(&config));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_evicted_in_pieces), cmocka_unit_test(test_sent_home_in_pieces),
        cmocka_unit_test(test_freed_in_pieces),   cmocka_unit_test(test_discarded_in_pieces),
        cmocka_unit_test(test_homes_change),      cmocka_unit_test(test_shared_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
