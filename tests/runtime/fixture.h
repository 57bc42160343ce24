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

#include <cmocka.h>

#define EXIT_SKIP 77

static inline struct ff_config standard_config(uint64_t memory) {
    struct ff_config config;
    ff_config_init(&config);
    config.memory = memory;
    config.address_space = UINT64_C(4) << 30;
    config.check = true;
    return config;
}

/* Steps through systems, mechanisms and handlers. False when all have been seen. */
static inline bool next_config(struct ff_config *config, unsigned *step) {
    static const char *const systems[] = {"demand", "nvidia", "nvidia-1"};
    if (*step >= 3 * 2 * 3)
        return false;
    config->system = systems[*step % 3];
    config->mechanism = *step / 3 % 2 ? FF_MECHANISM_COPY : FF_MECHANISM_AUTO;
    config->handler = (enum ff_handler)(*step / 6);
    (*step)++;
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
