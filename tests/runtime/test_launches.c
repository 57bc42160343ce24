/* Launches and look-ups take locks, and with them system calls, only where they must; what they
 * say is true at once; and nothing is allocated where a lock is held: malloc() may be the
 * program's, and wait for a fault. */
#include <pthread.h>
#include <stdio.h>

#include "base/lock.h"
#include "runtime/child.h"

#define FEW 16u /* operands that are told without an allocation */

/* ---- between the library, its locks and malloc() (--wrap) ---- */

void __real_ff__lock_acquire(struct ff__lock *lock);
void __real_ff__lock_release(struct ff__lock *lock);
void __wrap_ff__lock_acquire(struct ff__lock *lock);
void __wrap_ff__lock_release(struct ff__lock *lock);
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

static _Thread_local unsigned held, acquired;
static unsigned allocated_locked; /* atomic */

void __wrap_ff__lock_acquire(struct ff__lock *lock) {
    __real_ff__lock_acquire(lock);
    held++;
    acquired++;
}

void __wrap_ff__lock_release(struct ff__lock *lock) {
    held--;
    __real_ff__lock_release(lock);
}

static void note_allocation(void) {
    if (held > 0)
        __atomic_fetch_add(&allocated_locked, 1, __ATOMIC_RELAXED);
}

void *__wrap_malloc(size_t size) {
    note_allocation();
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    note_allocation();
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size) {
    note_allocation();
    return __real_realloc(memory, size);
}

/* ---- what they say ---- */

static uint64_t launches_of(struct ff_context *context) {
    struct ff_stats stats;
    ff_stats_read(context, &stats);
    return stats.launches;
}

static void run_launch(struct ff_context *context, uint64_t identity, const char *name,
                       const void *operand) {
    ff_launch_begin(context, 0, identity, name, &operand, NULL, 1);
    ff_launch_end(context, 0, identity);
}

/* The list's row of an allocation of so many bytes. */
static const struct ff_moved *row_of(const struct ff_moved_list *list, size_t size) {
    for (uint32_t i = 0; i < list->count; i++)
        if (list->worst[i].size == size)
            return &list->worst[i];
    fail_msg("no allocation of %zu bytes", size);
    return NULL;
}

/* Of an operand that is freed after the launch, too, and whose place another one gets. */
static void test_are_told_at_once(void **state) {
    (void)state;
    FOR_EACH_CONFIG(config, 8 * MB) {
        struct ff_context *context = open_or_skip(&config);
        struct ff_moved_list list;
        char name[32];
        for (unsigned i = 1; i <= FF_MOVED_MAX / 2; i++) {
            void *small = alloc(context, i % 8 * PAGE + PAGE), *large = alloc(context, i * MB);
            snprintf(name, sizeof name, "kernel %u", i % 7);
            run_launch(context, i, name, small);
            for (unsigned more = 0; more < i; more++)
                run_launch(context, i, name, large);
            assert_int_equal(launches_of(context), i * (i + 3) / 2 + i - 1);
            ff_moved_read(context, FF_MOVED_BY_ALLOCATION, &list);
            assert_int_equal(row_of(&list, i * MB)->launches, i);
            assert_string_equal(row_of(&list, i * MB)->kernel, name);
            run_launch(context, i, name, large);
            assert_int_equal(ff_mem_free(context, small), 0);
            assert_int_equal(ff_mem_free(context, large), 0);
        }
        ff_moved_read(context, FF_MOVED_BY_KERNEL, &list);
        assert_int_equal(list.count, 7);
        ff_close(context);
    }
}

/* ---- what they cost ---- */

/* While nothing has been evicted: later each launch is told at once, so that what it needs comes
 * in time. */
static void test_need_no_lock(void **state) {
    (void)state;
    static const char *const systems[] = {"demand", "nvidia-1", "keep", "forest"};
    for (unsigned s = 0; s < sizeof systems / sizeof systems[0]; s++) {
        struct ff_config config = standard_config(8 * MB);
        config.system = systems[s];
        struct ff_context *context = open_or_skip(&config);
        char *small = alloc(context, 100), *large = alloc(context, 2 * MB);
        memset(small, 1, 100);
        memset(large, 1, 2 * MB);
        run_launch(context, 0, "first", large);
        unsigned before = acquired;
        for (unsigned i = 0; i < 1000; i++) {
            void *base;
            size_t size;
            assert_true(ff_mem_lookup(context, large + 1 * MB, &base, &size));
            assert_true(base == large && size == 2 * MB);
            assert_true(ff_mem_lookup(context, small, &base, &size));
            assert_true(base == small && size == PAGE);
            assert_false(ff_mem_lookup(context, &config, NULL, NULL));
        }
        assert_int_equal(acquired, before);
        for (unsigned i = 0; i < 1000; i++)
            run_launch(context, i % 8, "kernel", large);
        assert_in_range(acquired - before, 0, 2 * (2000 / FF__INBOX_ITEMS + 1));
        assert_int_equal(launches_of(context), 1001);

        void *twice = alloc(context, 16 * MB);
        memset(twice, 1, 16 * MB);
        before = acquired;
        for (unsigned i = 0; i < 10; i++)
            run_launch(context, i % 8, "kernel", large);
        assert_true(acquired - before >= 20);
        ff_close(context);
    }
}

/* More identities, names and small allocations than tables begin with. */
static void test_allocate_nothing_locked(void **state) {
    (void)state;
    FOR_EACH_CONFIG(config, 8 * MB) {
        struct ff_context *context = open_or_skip(&config);
        static void *data[600];
        char name[32];
        allocated_locked = 0;
        for (unsigned i = 0; i < 600; i++)
            *(char *)(data[i] = alloc(context, 2 * PAGE)) = 1;
        memset(alloc(context, 16 * MB), 1, 16 * MB);
        for (unsigned i = 0; i < 1500; i++) {
            snprintf(name, sizeof name, "kernel %u", i);
            run_launch(context, i, name, data[i % 600]);
        }
        for (unsigned i = 0; i < 600; i++)
            assert_int_equal(ff_mem_free(context, data[i]), 0);
        assert_int_equal(launches_of(context), 1500);
        ff_close(context);
        assert_int_equal(allocated_locked, 0);
    }
}

/* ---- what is named lies in managed memory ---- */

struct named {
    char name[64];
    const void *operands[FEW + 4];
    uint8_t strides[FEW + 4];
};

/* It is read with no lock held: it comes by faults, from the host, where it was written or has
 * been evicted to. */
static void name_from_managed_memory(const struct ff_config *config, const void *argument) {
    struct ff_context *context = child_open(config);
    static const size_t counts[] = {1, FEW, 3, FEW + 4};
    struct named source = {.name = "far away"};
    struct ff_moved_list list;
    (void)argument;
    for (unsigned i = 0; i < FEW + 4; i++)
        source.operands[i] = child_alloc(context, PAGE);
    for (unsigned i = 0; i < 12; i++) {
        struct named *named = (void *)child_alloc(context, MB);
        CHECK(ff_mem_write(context, named, &source, sizeof source) == 0);
        if (i >= 8)
            child_evict(context, named, sizeof *named);
        ff_launch_begin(context, 0, i, named->name, named->operands, named->strides, counts[i % 4]);
        ff_launch_end(context, 0, i);
    }
    ff_moved_read(context, FF_MOVED_BY_KERNEL, &list);
    CHECK(list.count == 1 && list.worst[0].launches == 12);
    CHECK(strcmp(list.worst[0].kernel, "far away") == 0);
    CHECK(list.worst[0].size == (FEW + 4) * PAGE);
    child_close(context);
}

static void test_names_in_managed_memory(void **state) {
    (void)state;
    FOR_EACH_VARIANT(config, 8 * MB) {
        expect_ok(name_from_managed_memory, &config, NULL);
    }
}

/* ---- beside other threads ---- */

struct change {
    struct ff_context *context;
    bool stop; /* atomic */
};

static void *change(void *argument) {
    struct change *it = argument;
    void *data[40] = {NULL};
    for (unsigned i = 0; !__atomic_load_n(&it->stop, __ATOMIC_RELAXED); i++) {
        void **place = &data[i * 7 % 40];
        ff_mem_free(it->context, *place);
        if (ff_mem_alloc(it->context, i % 5 ? i % 17 * PAGE + 1 : i % 3 * MB + MB, place))
            *place = NULL;
    }
    for (unsigned i = 0; i < 40; i++)
        ff_mem_free(it->context, data[i]);
    return NULL;
}

/* What nobody frees is found meanwhile, whatever else comes and goes. */
static void test_look_up_beside_changes(void **state) {
    (void)state;
    struct ff_config config = standard_config(8 * MB);
    struct ff_context *context = open_or_skip(&config);
    struct change it = {context, false};
    pthread_t thread;
    char *kept[40];
    size_t sizes[40];
    assert_int_equal(pthread_create(&thread, NULL, change, &it), 0);
    for (unsigned i = 0; i < 40; i++) {
        sizes[i] = i % 4 ? i % 17 * PAGE + PAGE : i % 3 * MB + MB;
        kept[i] = alloc(context, sizes[i]);
    }
    for (unsigned long i = 0, count = scaled_cases(300000, 10000); i < count; i++) {
        void *base;
        size_t size;
        assert_true(ff_mem_lookup(context, kept[i % 40] + i * 4099 % sizes[i % 40], &base, &size));
        assert_true(base == kept[i % 40] && size == sizes[i % 40]);
    }
    __atomic_store_n(&it.stop, true, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    ff_close(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_are_told_at_once),
        cmocka_unit_test(test_need_no_lock),
        cmocka_unit_test(test_allocate_nothing_locked),
        cmocka_unit_test(test_names_in_managed_memory),
        cmocka_unit_test(test_look_up_beside_changes),
    };
    return run_or_skip(tests);
}
