/* Memory that an allocator of the application takes back (INACTIVE) and hands out again (ACTIVE),
 * while the device is short of memory: a write after ACTIVE is never dropped, however busy its
 * block is. */
#include <pthread.h>

#include "base/random.h"
#include "runtime/child.h"

#define BUDGET  (4 * MB)
#define RANGES  256u
#define RANGE   (64 * UINT64_C(1024))
#define THREADS 8u
#define CYCLES  60u /* of each thread */

struct pool {
    struct ff_context *context;
    unsigned char *ranges[RANGES];
    unsigned char *large; /* coming, it sends many ranges away in one job */
    bool stop;            /* atomic */
};

struct user {
    struct pool *pool;
    unsigned number;
    pthread_t thread;
};

static void give_hint(const struct pool *pool, unsigned char *range, enum ff_hint hint) {
    CHECK(ff_mem_hint(pool->context, range, RANGE, hint, 0) == 0);
}

static void write_marks(unsigned char *range, uint32_t mark) {
    for (size_t at = 0; at < RANGE; at += PAGE)
        *(volatile uint32_t *)(void *)(range + at) = mark + (uint32_t)at;
}

static unsigned wrong_marks(const unsigned char *range, uint32_t mark) {
    unsigned wrong = 0;
    for (size_t at = 0; at < RANGE; at += PAGE)
        wrong += *(const volatile uint32_t *)(const void *)(range + at) != mark + (uint32_t)at;
    return wrong;
}

/* The pauses are when others send the range away: inactive, and then in use. */
static void *reuse_ranges(void *argument) {
    const struct user *user = argument;
    struct ff__random random = ff__random_seeded(user->number + 1);
    for (unsigned i = 0; i < CYCLES; i++) {
        unsigned own = user->number + THREADS * ff__random_below(&random, RANGES / THREADS);
        unsigned char *range = user->pool->ranges[own];
        uint32_t mark = ff__random_below(&random, UINT32_MAX) | 1;
        give_hint(user->pool, range, FF_HINT_INACTIVE);
        usleep(ff__random_below(&random, 3000));
        give_hint(user->pool, range, FF_HINT_ACTIVE);
        write_marks(range, mark);
        usleep(ff__random_below(&random, 20000));
        CHECK(wrong_marks(range, mark) == 0);
    }
    return NULL;
}

static void *press(void *argument) {
    struct pool *pool = argument;
    for (size_t at = 0; !__atomic_load_n(&pool->stop, __ATOMIC_RELAXED); at += PAGE) {
        pool->large[at % BUDGET]++;
        usleep(2000);
    }
    return NULL;
}

static void reuse_while_pressed(const struct ff_config *config, const void *argument) {
    struct pool pool = {.context = child_open(config)};
    struct user users[THREADS];
    pthread_t presser;
    (void)argument;
    pool.large = child_alloc(pool.context, BUDGET);
    for (unsigned i = 0; i < RANGES; i++)
        pool.ranges[i] = child_alloc(pool.context, RANGE);
    CHECK(pthread_create(&presser, NULL, press, &pool) == 0);
    for (unsigned i = 0; i < THREADS; i++) {
        users[i] = (struct user){.pool = &pool, .number = i};
        CHECK(pthread_create(&users[i].thread, NULL, reuse_ranges, &users[i]) == 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        CHECK(pthread_join(users[i].thread, NULL) == 0);
    __atomic_store_n(&pool.stop, true, __ATOMIC_RELAXED);
    CHECK(pthread_join(presser, NULL) == 0);
    CHECK(rss_is_within_budget(pool.context));
    child_close(pool.context);
}

static void check_paced(const char *system, double bytes_per_second) {
    struct ff_config config = child_config(BUDGET);
    config.address_space = 1024 * MB;
    config.check = false;
    config.system = system;
    config.link = (struct ff_link){bytes_per_second, 1000};
    expect_ok(reuse_while_pressed, &config, NULL);
    config.mechanism = FF_MECHANISM_COPY;
    expect_ok(reuse_while_pressed, &config, NULL);
}

static void test_slow_link(void **state) {
    (void)state;
    check_paced("deepum-plus", 100e6);
    check_paced("deepum-far", 200e6);
    check_paced("nvidia:discard=inactive", 100e6);
    check_paced("nvidia-1:discard=inactive", 100e6);
}

static void test_every_variant(void **state) {
    (void)state;
    FOR_EACH_VARIANT(config, BUDGET) {
        config.address_space = 1024 * MB;
        config.check = false;
        expect_ok(reuse_while_pressed, &config, NULL);
    }
}

int main(void) {
    struct ff_config config = child_config(BUDGET);
    ff_close(open_or_skip(&config));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slow_link),
        cmocka_unit_test(test_every_variant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
