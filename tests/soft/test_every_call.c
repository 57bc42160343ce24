/* Short programs, run again and again: each time another of the library's calls that move, protect
 * or drop pages fails, in each of the ways of shim.h. Whichever it is, data stays right, nobody
 * waits for ever, and a function that fails says so.
 *
 * In every system, with every handler, if TEST_REPEATS is set (`make stress`). */
#include <sys/mman.h>

#include "runtime/child.h"
#include "soft/shim.h"

#define BUDGET    (4 * MB)
#define CALLS_MAX 300 /* of a program */

struct program {
    const char *name;
    void (*run)(struct ff_context *context, uint32_t devices);
};

static unsigned char mark_of(size_t at, unsigned round) {
    return (unsigned char)(at / PAGE * 3 + at % PAGE + round);
}

/* A few pages of each block: its ends, a run, and some between. */
static const unsigned touched[] = {0, 1, 2, 3, 77, 200, 201, 300, 511};
#define TOUCHED (sizeof touched / sizeof touched[0])

static void write_some(unsigned char *data, size_t size, unsigned round) {
    for (size_t block = 0; block < size; block += 2 * MB)
        for (size_t i = 0; i < TOUCHED; i++) {
            size_t at = block + touched[i] * PAGE + 5;
            data[at] = mark_of(at, round);
        }
}

static void check_some(const unsigned char *data, size_t size, unsigned round) {
    for (size_t block = 0; block < size; block += 2 * MB)
        for (size_t i = 0; i < TOUCHED; i++) {
            size_t at = block + touched[i] * PAGE + 5;
            CHECK(data[at] == mark_of(at, round));
            CHECK(data[at + 1] == 0);
        }
}

/* 0, or an error that a program can act upon. */
static void check_status(int status) {
    CHECK(status <= 0 && status > -4096);
}

/* ---- the programs ---- */

static void use_and_evict(struct ff_context *context, uint32_t devices) {
    unsigned char *data = child_alloc(context, BUDGET);
    (void)devices;
    for (unsigned round = 1; round <= 2; round++) {
        write_some(data, BUDGET, round);
        check_status(ff_mem_hint(context, data, BUDGET, FF_HINT_EVICT, 0));
        check_some(data, BUDGET, round);
    }
    check_status(ff_mem_free(context, data));
}

static void use_more_than_budget(struct ff_context *context, uint32_t devices) {
    unsigned char *data = child_alloc(context, 2 * BUDGET);
    (void)devices;
    write_some(data, 2 * BUDGET, 1);
    check_some(data, 2 * BUDGET, 1);
    check_status(ff_mem_free(context, data));
}

static void give_hints(struct ff_context *context, uint32_t devices) {
    unsigned char *data = child_alloc(context, 2 * MB);
    write_some(data, 2 * MB, 1);
    check_status(ff_mem_hint(context, data, 2 * MB, FF_HINT_EVICT, 0));
    check_status(ff_mem_prefetch(context, data, 2 * MB, devices - 1));
    check_some(data, 2 * MB, 1);
    check_status(ff_mem_hint(context, data, 2 * MB, FF_HINT_HOME, devices - 1));
    check_some(data, 2 * MB, 1);
    check_status(ff_mem_hint(context, data, MB, FF_HINT_DISCARD, 0));
    for (size_t i = 0; i < TOUCHED && touched[i] < MB / PAGE; i++)
        memset(data + touched[i] * PAGE, 0, 16);
    write_some(data, 2 * MB, 2);
    check_some(data, 2 * MB, 2);
    check_status(ff_mem_free(context, data));
}

static void share_roots(struct ff_context *context, uint32_t devices) {
    unsigned char *small[6];
    (void)devices;
    for (unsigned i = 0; i < 6; i++) {
        small[i] = child_alloc(context, 17 * PAGE);
        memset(small[i], (int)i + 1, 3 * PAGE);
    }
    unsigned char *large = child_alloc(context, BUDGET);
    write_some(large, BUDGET, 1);
    for (unsigned i = 0; i < 6; i++) {
        for (size_t at = 0; at < 3 * PAGE; at += PAGE)
            CHECK(small[i][at] == i + 1);
        check_status(ff_mem_free(context, small[i]));
    }
    check_some(large, BUDGET, 1);
}

static void write_past_the_device(struct ff_context *context, uint32_t devices) {
    static unsigned char source[MB];
    unsigned char *data = child_alloc(context, 2 * MB);
    (void)devices;
    memset(source, 9, MB);
    write_some(data, 2 * MB, 1);
    int status = ff_mem_write(context, data + MB / 2, source, MB);
    check_status(status);
    for (size_t at = MB / 2; status == 0 && at < MB + MB / 2; at += PAGE)
        CHECK(data[at] == 9);
    CHECK(data[5] == mark_of(5, 1) && data[511 * PAGE + 5] == mark_of(511 * PAGE + 5, 1));
}

/* ---- every call, in every way ---- */

static void run_once(const struct ff_config *config, const struct program *program) {
    struct ff_context *context = child_open(config);
    program->run(context, config->devices);
    shim_off();
    ff_close(context);
}

/* In `make test` four configurations each try every eleventh call, others than each other. */
#define EVERYDAY_STEP 11

static long first_call(const struct ff_config *config) {
    return (config->mechanism == FF_MECHANISM_COPY ? 3 : 0) + (runs(config, "nvidia-1") ? 6 : 0);
}

static void fail_every_call(const struct ff_config *config, const void *argument) {
    const struct program *program = argument;
    const long step = long_run_repeats() ? 1 : EVERYDAY_STEP;
    bool hit = true;
    for (long at = first_call(config) % step; hit; at += step) {
        hit = false;
        CHECK(at < CALLS_MAX);
        for (unsigned way = 0; way < SHIM_WAYS; way++) {
            snprintf(child_note, PAGE, "%s: call %ld: %s", program->name, at, shim_ways[way].name);
            shim_one(at, way);
            run_once(config, program);
            hit = hit || shim_hits() > 0;
        }
    }
}

/* The others move as those do. */
static bool is_for_long_runs(const struct ff_config *config) {
    bool by_page = runs(config, "demand"), by_block = runs(config, "nvidia-1");
    return !(by_page || by_block) || config->handler == FF_HANDLER_SLEEP;
}

static void check_program(const struct program *program) {
    bool is_long_run = long_run_repeats() > 0;
    FOR_EACH_VARIANT(config, BUDGET) {
        config.address_space = 32 * MB;
        if (!is_long_run)
            config.devices = 2;
        if (is_long_run || !is_for_long_runs(&config))
            expect_ok(fail_every_call, &config, program);
    }
}

/* Pages are mapped from the host, and no longer once their time is over. */
static void use_remotely(struct ff_context *context, uint32_t devices) {
    unsigned char *data = child_alloc(context, BUDGET);
    (void)devices;
    for (unsigned round = 1; round <= 3; round++) {
        write_some(data, BUDGET, round);
        usleep(3000);
        check_some(data, BUDGET, round);
    }
    check_status(ff_mem_free(context, data));
}

static void test_use_remotely(void **state) {
    static const struct program program = {"use_remotely", use_remotely};
    struct ff_config config = child_config(BUDGET);
    (void)state;
    config.address_space = 32 * MB;
    config.system = "zerocopy";
    expect_ok(fail_every_call, &config, &program);
}

#define PROGRAM_TEST(function)                                                                     \
    static void test_##function(void **state) {                                                    \
        static const struct program program = {#function, function};                               \
        (void)state;                                                                               \
        check_program(&program);                                                                   \
    }

PROGRAM_TEST(use_and_evict)
PROGRAM_TEST(use_more_than_budget)
PROGRAM_TEST(give_hints)
PROGRAM_TEST(share_roots)
PROGRAM_TEST(write_past_the_device)

int main(void) {
    struct ff_config config = child_config(BUDGET);
    ff_close(open_or_skip(&config));
    child_note = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (child_note == MAP_FAILED)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_use_and_evict),
        cmocka_unit_test(test_use_more_than_budget),
        cmocka_unit_test(test_give_hints),
        cmocka_unit_test(test_share_roots),
        cmocka_unit_test(test_write_past_the_device),
        cmocka_unit_test(test_use_remotely),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
