/* Memory that kernels alone use (ff_mem_alloc_for_kernels): the threads that meet its faults serve
 * them, system calls fail there while the program has not said that it wants them, and nothing is
 * lost when it does, nor when it takes that back. All other memory is as ever. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/wrap.h"
#include "soft/runners.h"

#define BUDGET (4 * MB)
#define SIZE   (8 * MB)

static void open_it(struct ff_context *context, const void *pointer) {
    CHECK(ff_mem_hint(context, pointer, 1, FF_HINT_SYSTEM_CALLS, 0) == 0);
}

static void close_it(struct ff_context *context, const void *pointer) {
    CHECK(ff_mem_hint(context, pointer, 1, FF_HINT_KERNELS, 0) == 0);
}

static void fill(unsigned char *data, size_t size, unsigned first) {
    for (size_t at = 0; at < size; at += PAGE)
        data[at] = (unsigned char)(first + at / PAGE);
}

static bool is_filled(const unsigned char *data, size_t size, unsigned first) {
    bool same = true;
    for (size_t at = 0; at < size; at += PAGE)
        same = same && data[at] == (unsigned char)(first + at / PAGE);
    return same;
}

/* Of one page, from a file of zeros. */
static ssize_t read_into(unsigned char *page) {
    int fd = open("/dev/zero", O_RDONLY);
    CHECK(fd >= 0);
    ssize_t got = read(fd, page, PAGE);
    int error = errno;
    close(fd);
    errno = error;
    return got;
}

/* ---- faults, and what system calls meet ---- */

static void use(const struct ff_config *config, const void *argument) {
    (void)argument;
    struct ff_context *context = child_open(config);
    unsigned char *kernels = child_alloc_for_kernels(context, SIZE),
                  *any = child_alloc(context, SIZE);
    unsigned char *small = child_alloc_for_kernels(context, PAGE);
    CHECK(read_into(any) == PAGE && read_into(small) == PAGE); /* both are absent */
    CHECK(read_into(kernels) < 0 && errno == EFAULT);
    fill(kernels, SIZE, 1);
    fill(any, SIZE, 2);
    child_evict(context, kernels, SIZE);
    CHECK(is_filled(kernels, SIZE, 1) && is_filled(any, SIZE, 2));
    child_evict(context, kernels, SIZE);
    child_evict(context, any, SIZE);
    CHECK(read_into(any + PAGE) == PAGE && read_into(kernels) < 0);
    open_it(context, kernels + 5 * PAGE);
    open_it(context, kernels);
    open_it(context, any);
    child_evict(context, kernels, SIZE);
    CHECK(read_into(kernels) == PAGE && kernels[0] == 0);
    kernels[0] = 1;
    CHECK(is_filled(kernels, SIZE, 1));
    close_it(context, kernels + 7 * PAGE);
    close_it(context, kernels);
    close_it(context, any);
    close_it(context, small);
    CHECK(read_into(kernels) < 0 && errno == EFAULT && is_filled(kernels, SIZE, 1));
    child_evict(context, any, SIZE);
    CHECK(read_into(any) == PAGE && read_into(small) == PAGE);
    CHECK(ff_mem_hint(context, &config, 1, FF_HINT_SYSTEM_CALLS, 0) == -EINVAL);
    CHECK(ff_mem_hint(context, &config, 1, FF_HINT_KERNELS, 0) == -EINVAL);
    CHECK(ff_check(context, NULL) == 0);
    child_close(context);
}

/* The call that fails next, if any; these stand between the library and them. */
enum call { NONE, MMAP, MPROTECT, MREMAP };
static enum call refused;

/* Smaller ones are of something else: farfault's threads make them at any time. */
static bool refuse(enum call call, size_t size) {
    enum call expected = call;
    if (size < SIZE || !__atomic_compare_exchange_n(&refused, &expected, NONE, false,
                                                    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return false;
    errno = ENOMEM;
    return true;
}

WRAP(void *, mmap, void *at, size_t size, int protection, int flags, int fd, off_t offset) {
    return refuse(MMAP, size) ? MAP_FAILED : __real_mmap(at, size, protection, flags, fd, offset);
}

WRAP(int, mprotect, void *at, size_t size, int protection) {
    return refuse(MPROTECT, size) ? -1 : __real_mprotect(at, size, protection);
}

WRAP(long, syscall, long number, long a, long b, long c, long d, long e) {
    if (number == SYS_mremap && refuse(MREMAP, (size_t)b))
        return -1;
    return __real_syscall(number, a, b, c, d, e);
}

/* Where other memory cannot take its place, the memory stays as it is. */
static void cannot_change(const struct ff_config *config, const void *argument) {
    (void)argument;
    struct ff_context *context = child_open(config);
    unsigned char *data = child_alloc_for_kernels(context, SIZE);
    fill(data, SIZE, 4);
    for (unsigned i = 0; i < 2; i++) {
        enum ff_hint hint = i == 0 ? FF_HINT_SYSTEM_CALLS : FF_HINT_KERNELS;
        for (enum call call = MMAP; call <= MREMAP; call++) {
            __atomic_store_n(&refused, call, __ATOMIC_RELAXED);
            CHECK(ff_mem_hint(context, data, 1, hint, 0) == -ENOMEM);
            CHECK(__atomic_load_n(&refused, __ATOMIC_RELAXED) == NONE && is_filled(data, SIZE, 4));
            child_evict(context, data, SIZE);
            CHECK((read_into(data) == PAGE) == (i == 1));
            data[0] = 4;
            CHECK(is_filled(data, SIZE, 4));
        }
        CHECK(ff_mem_hint(context, data, 1, hint, 0) == 0);
        child_evict(context, data, SIZE);
        CHECK(is_filled(data, SIZE, 4));
        child_evict(context, data, SIZE);
        CHECK((read_into(data) == PAGE) == (i == 0));
        data[0] = 4;
    }
    child_close(context);
}

/* ---- addresses that are used again ---- */

static void reuse(const struct ff_config *config, const void *argument) {
    (void)argument;
    struct ff_context *context = child_open(config);
    for (unsigned i = 0; i < 20; i++) {
        unsigned char *data =
            i % 2 ? child_alloc(context, SIZE) : child_alloc_for_kernels(context, SIZE);
        if (i % 4 == 2 || i % 8 == 4)
            open_it(context, data);
        if (i % 8 == 4)
            close_it(context, data);
        fill(data, SIZE, i);
        CHECK(is_filled(data, SIZE, i));
        child_evict(context, data, SIZE);
        CHECK((read_into(data) == PAGE) == (i % 4 != 0));
        CHECK(ff_mem_free(context, data) == 0);
    }
    child_close(context);
}

#define MANY 12000u

/* More ranges than may be for kernels at a time. */
static void many(const struct ff_config *config, const void *argument) {
    (void)argument;
    static unsigned char *ranges[MANY];
    struct ff_config larger = *config;
    larger.address_space = (MANY + 100) * 2 * MB;
    larger.check = false; /* of so many ranges it would take minutes */
    struct ff_context *context = child_open(&larger);
    for (unsigned i = 0; i < MANY; i++) {
        ranges[i] = (i % 4 ? child_alloc_for_kernels : child_alloc)(context, 16 * PAGE);
        ranges[i][PAGE] = (unsigned char)i;
    }
    for (unsigned i = 0; i < MANY; i++) {
        CHECK(ranges[i][PAGE] == (unsigned char)i);
        CHECK(ff_mem_free(context, ranges[i]) == 0);
    }
    child_close(context);
}

/* ---- while kernels run ---- */

/* Threads that wait for a page while the memory changes find it, and so do those that come then. */
static void change_meanwhile(const struct ff_config *config, const void *argument) {
    (void)argument;
    struct ff_context *context = child_open(config);
    struct runners runners;
    unsigned char *data = child_alloc_for_kernels(context, SIZE);
    runners_start(&runners, data, SIZE, PAGE);
    for (unsigned i = 0; i < 20; i++) {
        usleep(5000);
        open_it(context, data);
        usleep(5000);
        close_it(context, data);
    }
    usleep(5000);
    runners_stop(&runners);
    child_close(context);
}

/* A program that moves such memory all the same, and loses what was not on a device, goes on. */
static void move_away(const struct ff_config *config, const void *argument) {
    (void)argument;
    struct ff_context *context = child_open(config);
    unsigned char *data = child_alloc_for_kernels(context, SIZE),
                  *other = child_alloc_for_kernels(context, SIZE);
    fill(other, SIZE, 6);
    void *to = mmap(NULL, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(to != MAP_FAILED);
    void *moved = mremap(data, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, to);
    CHECK(moved == to && is_filled(other, SIZE, 6));
    munmap(moved, SIZE);
    child_close(context);
}

/* ---- without descriptors ---- */

/* A program that closes all of them has its faults served by farfault's threads. */
static void close_all(const struct ff_config *config, const void *argument) {
    (void)argument;
    struct ff_context *context = child_open(config);
    unsigned char *data = child_alloc_for_kernels(context, SIZE);
    fill(data, SIZE, 3);
    CHECK(close_range(3, ~0U, 0) == 0);
    CHECK(is_filled(data, SIZE, 3));
    child_evict(context, data, SIZE);
    CHECK(is_filled(data, SIZE, 3));
    child_close(context);
}

static void test_many(void **state) {
    struct ff_config config = child_config(BUDGET);
    (void)state;
    config.system = "demand";
    config.handler = FF_HANDLER_KERNELS;
    expect_end("many", many, &config, NULL, 0);
}

static void run_all(scenario_fn *scenario, const char *name) {
    static const enum ff_mechanism mechanisms[] = {FF_MECHANISM_AUTO, FF_MECHANISM_COPY};
    for (unsigned i = 0; i < 4; i++) {
        struct ff_config config = child_config(BUDGET);
        config.handler = FF_HANDLER_KERNELS;
        config.system = i < 2 ? "demand" : "nvidia-1";
        config.mechanism = mechanisms[i % 2];
        expect_end(name, scenario, &config, NULL, 0);
    }
}

#define SCENARIO(name)                                                                             \
    static void test_##name(void **state) {                                                        \
        (void)state;                                                                               \
        run_all(name, #name);                                                                      \
    }
SCENARIO(use)
SCENARIO(cannot_change)
SCENARIO(reuse)
SCENARIO(change_meanwhile)
SCENARIO(move_away)
SCENARIO(close_all)

int main(void) {
    struct ff_config config = child_config(BUDGET);
    ff_close(open_or_skip(&config));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_use),
        cmocka_unit_test(test_cannot_change),
        cmocka_unit_test(test_reuse),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_change_meanwhile),
        cmocka_unit_test(test_move_away),
        cmocka_unit_test(test_close_all),
    };
    return run_or_skip(tests);
}
