/* Many threads read and write at random over four times the budget, with checksums, while other
 * ranges are allocated and freed: nothing is lost, and the budget holds at every instant.
 *
 * FARFAULT_STRESS_SECONDS sets how long each mechanism runs (standard: 3; `make stress` runs
 * 60). */
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/random.h"
#include "soft/fixture.h"

#define MB      (UINT64_C(1) << 20)
#define THREADS 8u
#define BUDGET  (16 * MB)
#define SHARED  (4 * BUDGET)
#define SLOT    64u /* bytes: one record of a thread */

/* A record proves itself: any torn, lost or misplaced write shows. Slots of a page belong to
 * different threads, so that every page has several writers. */
struct record {
    uint64_t version, index, owner, sum;
    uint64_t filler[4];
};

struct shared {
    struct ff_context *context;
    struct record *records;
    size_t count;
    uint64_t *versions; /* [record]: what its owner wrote last; in ordinary memory */
    bool stop;          /* atomic */
    unsigned failures;
};

struct worker {
    struct shared *shared;
    unsigned number;
    pthread_t thread;
    uint64_t operations;
};

static uint64_t sum_of(const struct record *r) {
    return (r->version * 0x9E3779B97F4A7C15u) ^ (r->index << 20) ^ r->owner ^ 0x5bd1e995;
}

static bool record_holds(const struct record *r, size_t index, unsigned owner, uint64_t version) {
    if (version == 0)
        return r->version == 0 && r->sum == 0;
    return r->version == version && r->index == index && r->owner == owner && r->sum == sum_of(r);
}

static void use_records(struct worker *worker, struct ff__random *random) {
    struct shared *shared = worker->shared;
    size_t per_thread = shared->count / THREADS;
    size_t index = ff__random_below(random, (uint32_t)per_thread) * THREADS + worker->number;
    size_t run = 1 + ff__random_below(random, 64);
    for (size_t i = 0; i < run && index < shared->count; i++, index += THREADS) {
        struct record *record = &shared->records[index];
        if (!record_holds(record, index, worker->number, shared->versions[index]))
            __atomic_fetch_add(&shared->failures, 1, __ATOMIC_RELAXED);
        if (ff__random_below(random, 3) == 0)
            continue;
        struct record next = {++shared->versions[index], index, worker->number, 0, {0}};
        next.sum = sum_of(&next);
        *record = next;
        worker->operations++;
    }
}

/* A range that lives shortly, must start with zeros, and keeps what is written. */
static void use_short_range(struct worker *worker, struct ff__random *random) {
    struct shared *shared = worker->shared;
    size_t size = 4096 + ff__random_below(random, (uint32_t)(6 * MB));
    void *pointer = NULL;
    if (ff_mem_alloc(shared->context, size, &pointer))
        return;
    unsigned char *data = pointer, mark = (unsigned char)(1 + worker->number);
    unsigned bad = 0;
    for (size_t i = 0; i < size; i += 4096)
        bad += data[i] != 0;
    for (size_t i = 0; i < size; i += 2048)
        data[i] = mark;
    for (size_t i = 0; i < size; i += 2048)
        bad += data[i] != mark;
    bad += ff_mem_free(shared->context, pointer) != 0;
    __atomic_fetch_add(&shared->failures, bad, __ATOMIC_RELAXED);
}

static void *work(void *argument) {
    struct worker *worker = argument;
    struct ff__random random = ff__random_seeded(worker->number + 1);
    while (!__atomic_load_n(&worker->shared->stop, __ATOMIC_RELAXED)) {
        uint32_t choice = ff__random_below(&random, 1000);
        if (choice < 5)
            use_short_range(worker, &random);
        else
            use_records(worker, &random);
        if (choice == 999)
            ff_mem_prefetch(worker->shared->context, worker->shared->records, SHARED / 4, 0);
    }
    return NULL;
}

static double stress_seconds(void) {
    const char *text = getenv("FARFAULT_STRESS_SECONDS");
    double seconds = text ? atof(text) : 0;
    return seconds > 0 ? seconds : 3;
}

static void watch_budget(struct ff_context *context, double seconds) {
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        usleep(2000);
        assert_within_budget(context);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((double)(now.tv_sec - start.tv_sec) + 1e-9 * (double)(now.tv_nsec - start.tv_nsec) <
             seconds);
}

static void stress(struct ff_config config) {
    struct ff_context *context = open_or_skip(&config);
    struct shared shared = {.context = context, .count = SHARED / SLOT};
    _Static_assert(sizeof(struct record) == SLOT, "a record fills its slot");
    shared.records = alloc(context, SHARED);
    shared.versions = calloc(shared.count, sizeof *shared.versions);
    struct worker workers[THREADS];
    memset(workers, 0, sizeof workers);
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i].shared = &shared;
        workers[i].number = i;
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    watch_budget(context, stress_seconds());
    __atomic_store_n(&shared.stop, true, __ATOMIC_RELAXED);
    uint64_t operations = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        operations += workers[i].operations;
    }
    for (size_t i = 0; i < shared.count; i++)
        shared.failures +=
            !record_holds(&shared.records[i], i, (unsigned)(i % THREADS), shared.versions[i]);
    struct ff_stats stats;
    ff_stats_read(context, &stats);
    print_message("%s, %s: %llu writes, %llu faults, %llu evictions\n", config.system,
                  ff_context_describe(context), (unsigned long long)operations,
                  (unsigned long long)stats.faults, (unsigned long long)stats.evictions);
    assert_int_equal(shared.failures, 0);
    assert_within_budget(context);
    free(shared.versions);
    ff_close(context);
}

static void stress_with(enum ff_mechanism mechanism, enum ff_handler handler, const char *system) {
    struct ff_config config = standard_config(BUDGET);
    config.mechanism = mechanism;
    config.handler = handler;
    config.system = system;
    config.check = false;
    stress(config);
}

static void test_move(void **state) {
    (void)state;
    stress_with(FF_MECHANISM_AUTO, FF_HANDLER_ADAPTIVE, "nvidia-1");
    stress_with(FF_MECHANISM_AUTO, FF_HANDLER_ADAPTIVE, "nvidia");
}

static void test_copy(void **state) {
    (void)state;
    stress_with(FF_MECHANISM_COPY, FF_HANDLER_ADAPTIVE, "nvidia");
}

static void test_sigbus(void **state) {
    (void)state;
    stress_with(FF_MECHANISM_AUTO, FF_HANDLER_SIGBUS, "nvidia");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_move),
        cmocka_unit_test(test_copy),
        cmocka_unit_test(test_sigbus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
