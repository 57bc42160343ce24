/* Pages of what kernels alone use leave all at once (soft/drop.h): nothing is lost, also where the
 * kernel refuses, drops a part, or finds that the program has changed such memory after all. */
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "base/wrap.h"
#include "soft/runners.h"

#define BUDGET (4 * MB)
#define SIZE   (3 * MB)
#define STRIDE (3 * PAGE) /* so that runs are of single pages */

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

/* ---- the kernel ---- */

static long refused = -1;               /* the advice that is refused; -1: none */
static long most_runs = FF_BLOCK_PAGES; /* of one call that drops */
static long dropped;                    /* runs, so far; atomic */

WRAP(long, syscall, long number, long a, long b, long c, long d, long e) {
    if (number != SYS_process_madvise)
        return __real_syscall(number, a, b, c, d, e);
    if (d == refused) {
        errno = EPERM;
        return -1;
    }
    long runs = d == MADV_DONTNEED && c > most_runs ? most_runs : c;
    if (d == MADV_DONTNEED)
        __atomic_fetch_add(&dropped, runs, __ATOMIC_RELAXED);
    return __real_syscall(number, a, b, runs, d, e);
}

/* On a page of the test's, Linux 6.14. */
static bool kernel_can(void) {
    char page[2 * PAGE];
    struct iovec run = {(char *)((uintptr_t)(page + PAGE) & ~(PAGE - 1)), PAGE};
    page[PAGE] = 1;
    return __real_syscall(SYS_process_madvise, -10001L, (long)&run, 1L, (long)MADV_POPULATE_READ,
                          0L) == (long)PAGE;
}

/* ---- the memory ---- */

static void fill(unsigned char *data, unsigned first) {
    for (size_t at = 0; at < SIZE; at += STRIDE)
        data[at] = data[at + PAGE - 1] = (unsigned char)(first + at / PAGE);
}

static bool is_filled(const unsigned char *data, unsigned first) {
    bool same = true;
    for (size_t at = 0; at < SIZE; at += STRIDE)
        same = same && data[at] == (unsigned char)(first + at / PAGE) &&
               data[at + PAGE - 1] == (unsigned char)(first + at / PAGE);
    return same;
}

static bool has_left(unsigned char *data) {
    unsigned char present[SIZE / PAGE], any = 0;
    CHECK(mincore(data, SIZE, present) == 0);
    for (size_t i = 0; i < sizeof present; i++)
        any |= present[i];
    return !(any & 1);
}

/* Comes and leaves in single pages, written and not written; the runs that were dropped. */
static long come_and_go(struct ff_context *context, unsigned char *data, unsigned first) {
    __atomic_store_n(&dropped, 0, __ATOMIC_RELAXED);
    fill(data, first);
    for (unsigned i = 0; i < 3; i++) {
        child_evict(context, data, SIZE);
        CHECK(has_left(data) && is_filled(data, first));
    }
    CHECK(ff_check(context, NULL) == 0);
    return __atomic_load_n(&dropped, __ATOMIC_RELAXED);
}

/* ---- scenarios ---- */

static void leave(const struct ff_config *config, const void *argument) {
    (void)argument;
    struct ff_context *context = child_open(config);
    unsigned char *data = child_alloc_for_kernels(context, SIZE);
    CHECK((come_and_go(context, data, 1) > 0) == (moves(config) && kernel_can()));
    CHECK(ff_mem_free(context, data) == 0);
    CHECK(come_and_go(context, child_alloc(context, SIZE), 2) == 0);
    child_close(context);
}

static void refuse(const struct ff_config *config, const void *argument) {
    (void)argument;
    struct ff_context *context = child_open(config);
    unsigned char *data = child_alloc_for_kernels(context, SIZE);
    refused = MADV_POPULATE_READ;
    CHECK(come_and_go(context, data, 1) == 0);
    refused = MADV_DONTNEED;
    CHECK(come_and_go(context, data, 2) == 0);
    refused = -1;
    for (most_runs = 1; most_runs < 100; most_runs += 33)
        come_and_go(context, data, 3 + (unsigned)most_runs);
    child_close(context);
}

/* What the program drops or protects is not read where it is. */
static void change(const struct ff_config *config, const void *argument) {
    (void)argument;
    struct ff_context *context = child_open(config);
    unsigned char *data = child_alloc_for_kernels(context, SIZE);
    fill(data, 1);
    CHECK(madvise(data + 3 * STRIDE, PAGE, MADV_DONTNEED) == 0);
    child_evict(context, data, SIZE);
    CHECK(data[3 * STRIDE] == 0 && data[4 * STRIDE] == (unsigned char)(1 + 4 * STRIDE / PAGE));
    fill(data, 2);
    CHECK(mprotect(data + 5 * STRIDE, PAGE, PROT_NONE) == 0);
    child_evict(context, data, SIZE);
    CHECK(mprotect(data + 5 * STRIDE, PAGE, PROT_READ | PROT_WRITE) == 0);
    CHECK(is_filled(data, 2));
    child_close(context);
}

/* ---- while kernels write ---- */

static void write_meanwhile(const struct ff_config *config, const void *argument) {
    (void)argument;
    struct ff_context *context = child_open(config);
    struct runners runners;
    unsigned char *data = child_alloc_for_kernels(context, SIZE);
    runners_start(&runners, data, SIZE, STRIDE);
    for (unsigned i = 0; i < 100; i++) {
        usleep(1000);
        ff_mem_hint(context, data + i % 3 * MB, MB, FF_HINT_EVICT, 0);
    }
    runners_stop(&runners);
    CHECK((__atomic_load_n(&dropped, __ATOMIC_RELAXED) > 0) == (moves(config) && kernel_can()));
    child_close(context);
}

static void run_all(scenario_fn *scenario, const char *name) {
    static const enum ff_mechanism mechanisms[] = {FF_MECHANISM_AUTO, FF_MECHANISM_COPY};
    for (unsigned i = 0; i < 2; i++) {
        struct ff_config config = child_config(BUDGET);
        config.handler = FF_HANDLER_KERNELS;
        config.system = "demand";
        config.mechanism = mechanisms[i];
        expect_end(name, scenario, &config, NULL, 0);
    }
}

#define SCENARIO(name)                                                                             \
    static void test_##name(void **state) {                                                        \
        (void)state;                                                                               \
        run_all(name, #name);                                                                      \
    }
SCENARIO(leave)
SCENARIO(refuse)
SCENARIO(change)
SCENARIO(write_meanwhile)

int main(void) {
    struct ff_config config = child_config(BUDGET);
    ff_close(open_or_skip(&config));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_leave),
        cmocka_unit_test(test_refuse),
        cmocka_unit_test(test_change),
        cmocka_unit_test(test_write_meanwhile),
    };
    return run_or_skip(tests);
}
