/* Several devices of one process lend each other idle memory: what is evicted lies there, comes
 * back at a touch, and leaves when the lender needs its memory; no order of that loses a page, and
 * no device has more memory than its own. */
#include <pthread.h>
#include <sys/mman.h>

#include "backend/soft/device.h"
#include "base/random.h"
#include "runtime/child.h"

#define BUDGET (8 * MB)
#define SYSTEM "memharvester:keep=0,reserve=0"

static const char *const systems[] = {
    SYSTEM,
    SYSTEM ",parallel=0,path=0,writeback=0", /* hierarchical eviction alone */
    "deepum-far-peers",
};

#define SYSTEMS_HERE (sizeof systems / sizeof systems[0])

#define FOR_EACH_SYSTEM(config)                                                                    \
    FOR_EACH_VARIANT(config, BUDGET)                                                               \
    for (size_t system = 0; system < SYSTEMS_HERE; system++)                                       \
        if ((config.system = systems[system]))

static struct ff_stats stats_of(struct ff_context *context) {
    struct ff_stats stats;
    ff_stats_read(context, &stats);
    return stats;
}

/* Bytes of memory that guests have, as the kernel counts. */
static uint64_t lent_rss(const struct ff_context *context) {
    const struct ff__soft *soft = context->self;
    unsigned char there[BUDGET / PAGE];
    uint64_t bytes = 0;
    for (uint32_t tier = 1; tier < soft->memory.tier_count; tier++) {
        CHECK(mincore(soft->memory.lent[tier], BUDGET, there) == 0);
        for (size_t i = 0; i < sizeof there; i++)
            bytes += there[i] & 1 ? PAGE : 0;
    }
    return bytes;
}

/* ---- one program on the first device; the others are idle ---- */

static uint32_t value_of(size_t page, uint32_t round) {
    return (uint32_t)page * 2654435761u + round;
}

/* Goes over more than a device has, again and again, and writes to every third page. */
static void harvest(const struct ff_config *config, const void *argument) {
    struct ff_context *context = child_open(config);
    size_t size = BUDGET / 2 * 3, pages = size / PAGE;
    uint32_t *data = (void *)child_alloc(context, size), written[BUDGET / 2 * 3 / PAGE];
    (void)argument;
    for (size_t page = 0; page < pages; page++)
        data[page * PAGE / 4] = written[page] = value_of(page, 0);
    for (uint32_t round = 1; round < 4; round++) {
        for (size_t page = 0; page < pages; page++) {
            CHECK(data[page * PAGE / 4] == written[page]);
            if ((page + round) % 3 == 0)
                data[page * PAGE / 4] = written[page] = value_of(page, round);
        }
    }
    struct ff_stats stats = stats_of(context);
    CHECK(stats.pages_lent > 0 && stats.pages_fetched > 0 && stats.borrowed_peak > 0);
    CHECK(stats.borrowed <= stats.borrowed_peak && stats.borrowed_peak <= config->devices * BUDGET);
    CHECK(stats.resident <= stats.capacity + stats.overshoot);
    CHECK(managed_rss(context) + lent_rss(context) <= config->devices * BUDGET + stats.overshoot);
    child_close(context);
}

static void test_harvest(void **state) {
    (void)state;
    FOR_EACH_SYSTEM(config) {
        for (config.devices = 2; config.devices <= 3; config.devices++)
            expect_ok(harvest, &config, NULL);
    }
}

/* What fits both devices together is on the host once at most. */
static void fit_together(const struct ff_config *config, const void *argument) {
    struct ff_context *context = child_open(config);
    size_t size = BUDGET + BUDGET / 2;
    unsigned char *data = child_alloc(context, size);
    (void)argument;
    for (uint32_t round = 0; round < 3; round++)
        for (size_t at = 0; at < size; at += PAGE)
            data[at]++;
    struct ff_stats stats = stats_of(context);
    CHECK(stats.pages_lent > 0 && stats.pages_out == 0 && stats.pages_in == stats.pages_fetched);
    child_close(context);
}

static void test_nothing_goes_to_the_host(void **state) {
    (void)state;
    FOR_EACH_VARIANT(config, BUDGET) {
        config.system = systems[1];
        config.devices = 2;
        config.granule = FF_BLOCK_SIZE;
        expect_ok(fit_together, &config, NULL);
    }
}

/* What the program drops while another device has it reads as zeros, and nothing else does; without
 * MOVE it may come back (docs/architecture.md). */
static void drop_guests(const struct ff_config *config, const void *argument) {
    struct ff_context *context = child_open(config);
    size_t size = BUDGET + BUDGET / 2;
    unsigned char *data = child_alloc(context, size);
    (void)argument;
    for (size_t at = 0; at < size; at += PAGE)
        data[at] = 7;
    /* the oldest ones; a thread goes on when its page has come, a little before that is counted */
    for (uint32_t i = 0; i < 1000 && stats_of(context).pages_lent * PAGE < 2 * FF_BLOCK_SIZE; i++)
        usleep(1000);
    CHECK(stats_of(context).pages_lent * PAGE >= 2 * FF_BLOCK_SIZE);
    for (size_t at = 0; at < 2 * FF_BLOCK_SIZE; at += 2 * PAGE)
        CHECK(madvise(data + at, PAGE, MADV_DONTNEED) == 0);
    for (size_t at = 0; at < 2 * FF_BLOCK_SIZE; at += PAGE)
        CHECK(data[at] == (at / PAGE % 2 ? 7 : 0) || (!moves(config) && data[at] == 7));
    child_close(context);
}

static void test_dropped_guests(void **state) {
    (void)state;
    struct ff_config config = child_config(BUDGET);
    config.system = systems[1];
    config.devices = 2;
    expect_ok(drop_guests, &config, NULL);
}

/* ---- the lender wants its memory back ---- */

static void reclaim(const struct ff_config *config, const void *argument) {
    struct ff_context *context = child_open(config);
    unsigned char *data = child_alloc(context, 2 * BUDGET), *own = child_alloc(context, BUDGET);
    (void)argument;
    CHECK(ff_mem_hint(context, own, BUDGET, FF_HINT_HOME, 1) == 0);
    for (uint32_t round = 0; round < 4; round++) {
        for (size_t at = 0; at < 2 * BUDGET; at += PAGE)
            CHECK(data[at]++ == (unsigned char)round);
        for (size_t at = 0; at < BUDGET; at += PAGE)
            CHECK(own[at]++ == (unsigned char)round);
        CHECK(ff_memory_limit(context, 1, round % 2 ? BUDGET : 2 * MB) == 0);
    }
    struct ff_stats stats = stats_of(context);
    CHECK(stats.pages_lent > 0);
    CHECK(managed_rss(context) + lent_rss(context) <= 2 * BUDGET + stats.overshoot);
    child_close(context);
}

static void test_reclaim(void **state) {
    (void)state;
    FOR_EACH_SYSTEM(config) {
        config.devices = 2;
        expect_ok(reclaim, &config, NULL);
    }
}

/* ---- everything at once ---- */

#define THREADS 4u
#define SHARED  (2 * BUDGET)
#define PAGES   (SHARED / PAGE)

struct team {
    struct ff_context *context;
    unsigned char *data;
    uint32_t devices;
    uint32_t operations; /* of each thread */
    bool drops;
    bool stop; /* atomic */
};

struct user {
    struct team *team;
    uint32_t number;
    pthread_t thread;
};

/* Writes, reads and drops the pages that are its own, in blocks that are everybody's. */
static void *use_pages(void *argument) {
    const struct user *user = argument;
    struct team *team = user->team;
    struct ff__random random = ff__random_seeded(user->number + 1);
    uint32_t *versions = calloc(PAGES / THREADS, sizeof *versions);
    CHECK(versions);
    for (uint32_t i = 0; i < team->operations; i++) {
        size_t own = ff__random_below(&random, PAGES / THREADS);
        volatile uint32_t *word = (void *)(team->data + (own * THREADS + user->number) * PAGE);
        CHECK(*word == versions[own]);
        if (i % 3 == 0)
            *word = ++versions[own];
        if (team->drops && i % 37 == 0) {
            CHECK(madvise((void *)(uintptr_t)word, PAGE, MADV_DONTNEED) == 0);
            versions[own] = 0;
        }
    }
    free(versions);
    return NULL;
}

/* Homes, limits, hints: whatever moves pages. */
static void *disturb(void *argument) {
    struct team *team = argument;
    const void *operand = team->data;
    for (uint32_t i = 0; !__atomic_load_n(&team->stop, __ATOMIC_RELAXED); i++) {
        uint32_t device = i / 8 % team->devices;
        ff_launch_begin(team->context, device, 1 + device, "kernel", &operand, NULL, 1);
        ff_launch_end(team->context, device, 1 + device);
        CHECK(ff_memory_limit(team->context, i % team->devices, i % 3 ? BUDGET : 4 * MB) == 0);
        ff_mem_prefetch(team->context, team->data + i * 2 * MB % SHARED, 2 * MB, device);
        unsigned char *scratch = child_alloc(team->context, 4 * MB);
        memset(scratch, 7, 3 * MB);
        CHECK(ff_mem_free(team->context, scratch) == 0);
        usleep(2000);
    }
    return NULL;
}

static void use_all(const struct ff_config *config, const void *argument) {
    struct team team = {.context = child_open(config),
                        .devices = config->devices,
                        .operations = long_run_repeats() > 0 ? 500 : 60};
    struct user users[THREADS];
    pthread_t disturber;
    (void)argument;
    team.data = child_alloc(team.context, SHARED);
    /* with the other mechanism, what is on the host comes back (docs/architecture.md) */
    team.drops = moves(config) && config->handler != FF_HANDLER_SIGBUS;
    CHECK(pthread_create(&disturber, NULL, disturb, &team) == 0);
    for (uint32_t i = 0; i < THREADS; i++) {
        users[i] = (struct user){.team = &team, .number = i};
        CHECK(pthread_create(&users[i].thread, NULL, use_pages, &users[i]) == 0);
    }
    for (uint32_t i = 0; i < THREADS; i++)
        CHECK(pthread_join(users[i].thread, NULL) == 0);
    __atomic_store_n(&team.stop, true, __ATOMIC_RELAXED);
    CHECK(pthread_join(disturber, NULL) == 0);
    struct ff_error error = {""};
    if (ff_check(team.context, &error))
        fprintf(stderr, "%s\n", error.message);
    CHECK(error.message[0] == '\0');
    child_close(team.context);
}

static void test_everything_at_once(void **state) {
    (void)state;
    FOR_EACH_SYSTEM(config) {
        config.devices = 3;
        expect_ok(use_all, &config, NULL);
    }
}

int main(void) {
    struct ff_config config = child_config(BUDGET);
    ff_close(open_or_skip(&config));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_harvest),
        cmocka_unit_test(test_nothing_goes_to_the_host),
        cmocka_unit_test(test_dropped_guests),
        cmocka_unit_test(test_reclaim),
        cmocka_unit_test(test_everything_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
