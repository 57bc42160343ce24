/* What tests of live backends share: contexts in every configuration, and a skip where the
 * kernel says no. */
#ifndef FF_TESTS_RUNTIME_FIXTURE_H
#define FF_TESTS_RUNTIME_FIXTURE_H

#include <farfault/farfault.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cases.h"

#define EXIT_SKIP 77

static inline struct ff_config standard_config(uint64_t memory) {
    struct ff_config config;
    ff_config_init(&config);
    config.memory = memory;
    config.address_space = UINT64_C(4) << 30;
    config.check = true;
    config.spin_ns = 5000; /* a tenth of the default: other tests need the processors */
    return config;
}

/* ---- configurations: systems, mechanisms and handlers ---- */

static const char *const live_systems[] = {"demand", "nvidia", "nvidia-1",
                                           "keep",   "deepum", "auto"};

#define SYSTEMS (sizeof live_systems / sizeof live_systems[0])

/* How often long runs repeat a scenario at least, over all configurations; 0: this is none. */
static inline unsigned long_run_repeats(void) {
    const char *text = getenv("TEST_REPEATS");
    return text ? (unsigned)strtoul(text, NULL, 10) : 0;
}

/* The configuration with this number. */
static inline void set_config(struct ff_config *config, unsigned number, unsigned systems) {
    config->system = live_systems[number % systems];
    config->mechanism = number / systems % 2 ? FF_MECHANISM_COPY : FF_MECHANISM_AUTO;
    config->handler = (enum ff_handler)(number / (2 * systems) % 4);
}

static inline bool runs(const struct ff_config *config, const char *system) {
    return strcmp(config->system, system) == 0;
}

/* Whether a configuration runs in `make test`: the system that moves single pages with either
 * mechanism, others with one each, and one of them with the other handlers; under sanitizers,
 * where all is slow, fewer. Long runs have all. */
static inline bool is_everyday(const struct ff_config *config) {
    bool copies = config->mechanism == FF_MECHANISM_COPY;
    if (config->handler != FF_HANDLER_ADAPTIVE)
        return runs(config, "nvidia-1") && !copies &&
               (!SANITIZED || config->handler != FF_HANDLER_SLEEP);
    if (SANITIZED)
        return runs(config, "nvidia");
    return runs(config, "demand") || copies == (runs(config, "nvidia-1") || runs(config, "deepum"));
}

/* Steps through three systems, every mechanism and handler. False when all have been seen. */
static inline bool next_config(struct ff_config *config, unsigned *step) {
    do {
        if (*step == 3 * 2 * 4)
            return false;
        set_config(config, (*step)++, 3);
    } while (!long_run_repeats() && !is_everyday(config));
    return true;
}

#define FOR_EACH_CONFIG(name, memory)                                                              \
    for (struct ff_config name = standard_config(memory), *once = &name; once; once = NULL)        \
        for (unsigned step = 0; next_config(&name, &step);)

static inline struct ff_context *open_or_skip(const struct ff_config *config) {
    struct ff_context *context = NULL;
    struct ff_error error;
    int status = ff_open(config, &context, &error);
    if (status == -EPERM || status == -ENOSYS) {
        fprintf(stderr, "skipped: %s\n", error.message);
        exit(EXIT_SKIP);
    }
    if (status)
        fail_msg("ff_open: %s", error.message);
    return context;
}

static inline void *alloc(struct ff_context *context, size_t size) {
    void *pointer = NULL;
    assert_int_equal(ff_mem_alloc(context, size, &pointer), 0);
    return pointer;
}

static inline void assert_within_budget(struct ff_context *context) {
    struct ff_stats stats;
    ff_stats_read(context, &stats);
    assert_true(stats.resident <= stats.capacity);
    assert_true(stats.resident_peak <= stats.capacity);
}

#define run_or_skip(tests) cmocka_run_group_tests(tests, NULL, NULL)

#endif
