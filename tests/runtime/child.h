/* Scenarios that may hang or end the process: each runs in a child of its own, against a deadline.
 *
 * A child uses CHECK: cmocka's assertions would jump into the parent's tests. */
#ifndef FF_TESTS_RUNTIME_CHILD_H
#define FF_TESTS_RUNTIME_CHILD_H

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cases.h"
#include "base/clock.h"
#include "runtime/context.h"
#include "runtime/fixture.h"

#define MB   (UINT64_C(1) << 20)
#define PAGE UINT64_C(4096)

static int extra_seconds; /* for scenarios that are to run long */
static char *child_note;  /* NULL, or memory shared with the child: where it is */

typedef void scenario_fn(const struct ff_config *config, const void *argument);

/* Long runs have low priority, and may wait long for a processor. */
static inline int deadline_seconds(void) {
    return (SANITIZED ? 90 : 30) * (long_run_repeats() ? 20 : 1) + extra_seconds;
}

static inline int close_seconds(void) {
    return (SANITIZED ? 10 : 1) * (long_run_repeats() ? 20 : 1);
}

/* ---- in the child ---- */

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

static inline struct ff_context *child_open(const struct ff_config *config) {
    struct ff_context *context = NULL;
    struct ff_error error;
    if (ff_open(config, &context, &error)) {
        fprintf(stderr, "ff_open: %s\n", error.message);
        _exit(1);
    }
    return context;
}

static inline unsigned char *child_alloc(struct ff_context *context, size_t size) {
    void *pointer = NULL;
    CHECK(ff_mem_alloc(context, size, &pointer) == 0);
    return pointer;
}

static inline unsigned char *child_alloc_for_kernels(struct ff_context *context, size_t size) {
    void *pointer = NULL;
    CHECK(ff_mem_alloc_for_kernels(context, size, &pointer) == 0);
    return pointer;
}

static inline void child_evict(struct ff_context *context, const void *pointer, size_t size) {
    CHECK(ff_mem_hint(context, pointer, size, FF_HINT_EVICT, 0) == 0);
}

static inline void child_close(struct ff_context *context) {
    uint64_t start = ff__clock_ns();
    ff_close(context);
    double seconds = (double)(ff__clock_ns() - start) * 1e-9;
    if (seconds > close_seconds())
        fprintf(stderr, "ff_close took %.1f s\n", seconds);
    CHECK(seconds <= close_seconds());
}

/* ---- in the parent ---- */

static inline const char *config_text(const struct ff_config *config) {
    static const char *const mechanisms[] = {"auto", "move", "copy"};
    static const char *const handlers[] = {"adaptive", "sleep", "sigbus", "kernels"};
    static char text[128];
    snprintf(text, sizeof text, "%s, %s, %s, %u device%s of %s", config->system,
             mechanisms[config->mechanism], handlers[config->handler], config->devices,
             config->devices == 1 ? "" : "s",
             config->granule == FF_PAGE_SIZE   ? "4K"
             : config->granule == FF_LEAF_SIZE ? "64K"
                                               : "2M");
    return text;
}

/* How the child ended, or -1 if it was killed at the deadline. */
static inline int wait_for_child(pid_t child) {
    int status = 0, fd = (int)syscall(SYS_pidfd_open, child, 0);
    assert_true(fd >= 0);
    struct pollfd ended = {.fd = fd, .events = POLLIN};
    bool in_time = poll(&ended, 1, deadline_seconds() * 1000) == 1;
    if (!in_time)
        kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    close(fd);
    return in_time ? status : -1;
}

/* cmocka catches these, and would go on with the parent's tests. */
static inline void end_on_signals(void) {
    static const int caught[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS, SIGABRT};
    const struct rlimit no_core = {0, 0};
    for (size_t i = 0; i < sizeof caught / sizeof caught[0]; i++)
        signal(caught[i], SIG_DFL);
    setrlimit(RLIMIT_CORE, &no_core);
}

static inline int run_in_child(scenario_fn *run, const struct ff_config *config,
                               const void *argument) {
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child > 0)
        return wait_for_child(child);
    end_on_signals();
    run(config, argument);
    _exit(0);
}

/* `wanted`: the signal that is to end the child; 0: it is to end by itself, with all CHECKs passed.
 */
static inline void expect_end(const char *name, scenario_fn *run, const struct ff_config *config,
                              const void *argument, int wanted) {
    int status = run_in_child(run, config, argument);
    if (child_note && status != 0)
        print_error("%s\n", child_note);
    if (status < 0)
        fail_msg("%s: %s: not done within %d s", name, config_text(config), deadline_seconds());
    int signal_number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (signal_number != wanted)
        fail_msg("%s: %s: ended by signal %d, not %d", name, config_text(config), signal_number,
                 wanted);
    if (!wanted && WEXITSTATUS(status) != 0)
        fail_msg("%s: %s: failed", name, config_text(config));
}

#define expect_ok(run, config, argument)             expect_end(#run, run, config, argument, 0)
#define expect_signal(run, config, argument, number) expect_end(#run, run, config, argument, number)

/* ---- configurations ---- */

#define VARIANTS (SYSTEMS * 2u * 3u)

/* Steps through all systems for live use, mechanisms and handlers, granules of memory in turn; in
 * long runs all of them on one, two and three devices, again and again. False when all have been
 * seen. */
static inline bool next_variant(struct ff_config *config, unsigned *step) {
    unsigned repeats = long_run_repeats(), every = 3 * VARIANTS;
    unsigned steps = repeats ? (repeats + every - 1) / every * every : VARIANTS;
    do {
        if (*step == steps)
            return false;
        set_config(config, *step, SYSTEMS);
        static const uint64_t granules[] = {FF_BLOCK_SIZE, FF_LEAF_SIZE, FF_PAGE_SIZE};
        config->granule = granules[(*step + *step / VARIANTS) % 3];
        if (repeats)
            config->devices = *step / VARIANTS % 3 + 1;
        (*step)++;
    } while (!repeats && !is_everyday(config));
    return true;
}

static inline struct ff_config child_config(uint64_t memory) {
    struct ff_config config = standard_config(memory);
    config.address_space = 256 * MB;
    return config;
}

#define FOR_EACH_VARIANT(name, memory)                                                             \
    for (struct ff_config name = child_config(memory), *once = &name; once; once = NULL)           \
        for (unsigned step = 0; next_variant(&name, &step);)

static inline bool moves(const struct ff_config *config) {
    return config->mechanism != FF_MECHANISM_COPY && !is_without("move");
}

/* Where a system call may meet any page, and what the kernel has pinned is not lost. */
static inline bool keeps_pinned_pages(const struct ff_config *config) {
    return moves(config) && config->handler != FF_HANDLER_SIGBUS;
}

/* ---- what is resident ---- */

/* Bytes of the context's managed addresses that have memory, as the kernel counts
 * (/proc/self/pagemap). */
static inline uint64_t managed_rss(const struct ff_context *context) {
    const struct ff__description *device = &context->description;
    const uint64_t present = UINT64_C(1) << 63;
    uint64_t entries[512], pages = 0;
    FILE *file = fopen("/proc/self/pagemap", "r");
    CHECK(file && fseek(file, (long)(device->base / PAGE * sizeof *entries), 0) == 0);
    for (uint64_t at = 0; at < device->address_space; at += FF_BLOCK_SIZE) {
        CHECK(fread(entries, sizeof *entries, 512, file) == 512);
        for (unsigned i = 0; i < 512; i++)
            pages += (entries[i] & present) != 0;
    }
    fclose(file);
    return pages * PAGE;
}

/* What the kernel counts does not stay above the budget. A sum taken while blocks move can count
 * one twice, so a sum that is too large is taken again. */
static inline bool rss_is_within_budget(struct ff_context *context) {
    for (int tries = 0; tries < 50; tries++) {
        struct ff_stats stats;
        ff_stats_read(context, &stats);
        if (managed_rss(context) <= stats.capacity + stats.overshoot)
            return true;
    }
    return false;
}

#endif
