/* Use from the host: pages that are used where they are hold the program's data, take no device
 * memory, and count each time that they are mapped. */
#include <sys/mman.h>

#include "runtime/child.h"

#define BUDGET   (4 * MB)
#define SIZE     (8 * MB)
#define PAGES    (SIZE / PAGE)
#define MAPPINGS 8u /* of pages of a block, before `counters` lets them migrate */

static struct ff_stats stats_of(struct ff_context *context) {
    struct ff_stats stats;
    ff_stats_read(context, &stats);
    return stats;
}

static unsigned char mark_of(size_t page, unsigned round) {
    return (unsigned char)(page * 7 + page / 512 + round);
}

static void write_all(unsigned char *data, unsigned round) {
    for (size_t page = 0; page < PAGES; page++)
        data[page * PAGE + page % PAGE] = mark_of(page, round);
}

static void check_all(const unsigned char *data, unsigned round) {
    for (size_t page = 0; page < PAGES; page++)
        CHECK(data[page * PAGE + page % PAGE] == mark_of(page, round));
}

/* Until no page is mapped any more. */
static void let_end(struct ff_context *context) {
    for (unsigned i = 0; managed_rss(context) > 0; i++) {
        CHECK(i < 10000);
        usleep(1000);
    }
}

static struct ff_config remote_config(const char *system, enum ff_handler handler) {
    struct ff_config config = child_config(BUDGET);
    config.system = system;
    config.handler = handler;
    return config;
}

#define FOR_EACH_HANDLER(name, system)                                                             \
    for (unsigned handler = FF_HANDLER_ADAPTIVE; handler <= FF_HANDLER_SIGBUS; handler++)          \
        for (struct ff_config name = remote_config(system, (enum ff_handler)handler),              \
                              *once = &name;                                                       \
             once; once = NULL)

/* ---- nothing migrates ---- */

static void use_all(const struct ff_config *config, const void *argument) {
    (void)argument;
    struct ff_context *context = child_open(config);
    unsigned char *data = child_alloc(context, SIZE);
    for (unsigned round = 1; round <= 3; round++) {
        write_all(data, round);
        check_all(data, round);
        let_end(context);
    }
    struct ff_stats stats = stats_of(context);
    CHECK(stats.pages_mapped >= 3 * PAGES && stats.pages_in == 0 && stats.pages_out == 0);
    CHECK(stats.faults == 0 && stats.populated == 0 && stats.resident_peak == 0);
    CHECK(stats.host_held >= SIZE);
    CHECK(ff_mem_free(context, data) == 0);
    child_close(context);
}

static void test_use(void **state) {
    (void)state;
    FOR_EACH_HANDLER(config, "zerocopy") {
        expect_ok(use_all, &config, NULL);
    }
}

/* What the program drops, writes past the device, or frees while it is mapped. */
static void change_mapped(const struct ff_config *config, const void *argument) {
    (void)argument;
    static unsigned char source[4 * PAGE];
    struct ff_context *context = child_open(config);
    for (unsigned round = 0; round < 200; round++) {
        unsigned char *data = child_alloc(context, 16 * PAGE);
        memset(data, 1, 16 * PAGE);
        memset(source, (int)round | 1, sizeof source);
        CHECK(madvise(data, 4 * PAGE, MADV_DONTNEED) == 0);
        CHECK(ff_mem_write(context, data + 6 * PAGE, source, sizeof source) == 0);
        if (round % 3 == 0)
            let_end(context);
        CHECK(data[0] == 0 && data[4 * PAGE - 1] == 0 && data[4 * PAGE] == 1);
        CHECK(data[6 * PAGE] == source[0] && data[10 * PAGE - 1] == source[0]);
        CHECK(data[10 * PAGE] == 1);
        CHECK(ff_mem_free(context, data) == 0);
        data = child_alloc(context, 16 * PAGE); /* at the same place */
        for (size_t at = 0; at < 16 * PAGE; at += PAGE)
            CHECK(data[at] == 0);
        CHECK(ff_mem_free(context, data) == 0);
    }
    child_close(context);
}

static void test_changes(void **state) {
    (void)state;
    FOR_EACH_HANDLER(config, "zerocopy") {
        expect_ok(change_mapped, &config, NULL);
    }
}

/* ---- migration of what is mapped ---- */

/* An eviction may fail for a moment. */
static void evict_all(struct ff_context *context, unsigned char *data) {
    for (unsigned i = 0; managed_rss(context) > 0; i++) {
        CHECK(i < 1000);
        child_evict(context, data, 2 * MB);
    }
}

/* A block of which pages come and are used from the host in turn. */
static void migrate_by_count(const struct ff_config *config, const void *argument) {
    (void)argument;
    struct ff_context *context = child_open(config);
    unsigned char *data = child_alloc(context, 2 * MB);
    memset(data, 9, 2 * MB);
    evict_all(context, data);
    uint64_t before = stats_of(context).pages_in;
    data[0]++;
    for (unsigned i = 0; stats_of(context).pages_mapped == 0; i++) { /* it is counted afterwards */
        CHECK(i < 10000);
        usleep(1000);
    }
    CHECK(stats_of(context).pages_in == before);
    for (unsigned i = 1; i < MAPPINGS; i++)
        data[i * PAGE]++; /* the last one makes its leaf come, with what is mapped of it */
    for (unsigned i = 0; stats_of(context).pages_in < before + 16; i++) {
        CHECK(i < 10000);
        usleep(1000);
    }
    for (size_t i = 0; i < 512; i++)
        CHECK(data[i * PAGE] == (i < MAPPINGS ? 10 : 9));
    child_evict(context, data, 2 * MB);
    for (size_t i = 0; i < 512; i++)
        CHECK(data[i * PAGE] == (i < MAPPINGS ? 10 : 9));
    CHECK(ff_mem_free(context, data) == 0);
    child_close(context);
}

static void test_migration(void **state) {
    (void)state;
    FOR_EACH_HANDLER(config, "counters") {
        expect_ok(migrate_by_count, &config, NULL);
    }
}

/* ---- threads, with all that moves pages at once ---- */

struct worker {
    struct ff_context *context;
    unsigned char *data;
    unsigned number;
    pthread_t thread;
};

#define WORKERS 4u
#define TURNS   10u

/* Each has a byte of every page. */
static void *work(void *argument) {
    const struct worker *worker = argument;
    for (unsigned turn = 1; turn <= TURNS; turn++)
        for (size_t i = 0; i < PAGES; i++) {
            size_t page = i * (2 * worker->number + 1) * 37 % PAGES;
            unsigned char *byte = &worker->data[page * PAGE + 64 * worker->number];
            CHECK(*byte == (unsigned char)(turn - 1));
            *byte = (unsigned char)turn;
        }
    return NULL;
}

static void disturb(struct ff_context *context, unsigned char *data) {
    for (unsigned i = 0; i < 60; i++) {
        size_t at = i * 37 % 4 * 2 * MB;
        CHECK(ff_mem_hint(context, data + at, 2 * MB, FF_HINT_EVICT, 0) == 0);
        CHECK(ff_mem_prefetch(context, data + (at + 2 * MB) % SIZE, MB, 0) == 0);
        usleep(500);
    }
}

static void use_by_threads(const struct ff_config *config, const void *argument) {
    (void)argument;
    struct ff_context *context = child_open(config);
    struct worker workers[WORKERS];
    unsigned char *data = child_alloc(context, SIZE);
    for (unsigned i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){.context = context, .data = data, .number = i};
        CHECK(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0);
    }
    disturb(context, data);
    for (unsigned i = 0; i < WORKERS; i++)
        CHECK(pthread_join(workers[i].thread, NULL) == 0);
    CHECK(stats_of(context).pages_mapped > 0 && ff_check(context, NULL) == 0);
    CHECK(ff_mem_free(context, data) == 0);
    child_close(context);
}

static void test_threads(void **state) {
    static const char *const systems[] = {"zerocopy", "counters", "uvmsmart", "ariadne"};
    (void)state;
    for (size_t i = 0; i < sizeof systems / sizeof systems[0]; i++)
        FOR_EACH_HANDLER(config, systems[i]) {
            if (config.handler != FF_HANDLER_SLEEP)
                expect_ok(use_by_threads, &config, NULL);
        }
}

/* ---- what there is not ---- */

static void refuse_or_migrate(const struct ff_config *config, const void *argument) {
    struct ff_config other = *config;
    struct ff_context *context;
    struct ff_error error;
    (void)argument;
    other.system = "counters";
    CHECK(ff_open(&other, &context, &error) == -ENOTSUP &&
          strstr(error.message, "remote accesses"));
    context = child_open(config);
    unsigned char *data = child_alloc(context, SIZE);
    write_all(data, 1);
    check_all(data, 1);
    CHECK(stats_of(context).pages_mapped == 0 && stats_of(context).evictions > 0);
    child_close(context);
}

/* Without MOVE, or with the host's part in a file, pages migrate. */
static void test_without(void **state) {
    struct ff_config config = remote_config("zerocopy", FF_HANDLER_ADAPTIVE);
    (void)state;
    config.mechanism = FF_MECHANISM_COPY;
    expect_ok(refuse_or_migrate, &config, NULL);
    config = remote_config("zerocopy", FF_HANDLER_ADAPTIVE);
    config.host_file = "./farfault-remote-host";
    expect_ok(refuse_or_migrate, &config, NULL);
}

int main(void) {
    struct ff_config config = child_config(BUDGET);
    ff_close(open_or_skip(&config));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_use),       cmocka_unit_test(test_changes),
        cmocka_unit_test(test_migration), cmocka_unit_test(test_threads),
        cmocka_unit_test(test_without),
    };
    return cmocka_run_group_tests_name("soft.remote", tests, NULL, NULL);
}
