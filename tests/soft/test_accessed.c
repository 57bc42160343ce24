/* Uses of pages that stay, where the kernel tells of them: what is seen, what an evictor by use
 * makes of it, and that a kernel that refuses or says what is not so costs samples alone. */
#include <dirent.h>
#include <pthread.h>
#include <sys/mman.h>

#include "backend/soft/accessed.h"
#include "base/random.h"
#include "engine/internal.h"
#include "runtime/child.h"
#include "soft/rwp.h"

#define BUDGET     (8 * MB)
#define LOOK_US    ((useconds_t)(FF__LOOK_NS / 1000 + 1000))
#define SYSTEM     "demand:evict=forest"
#define SYSTEM_BIG "demand:prefetch=whole,evict=forest"

static unsigned lines; /* that say that the kernel tells no more; atomic */

static void count_lines(void *user, enum ff_log_level level, const char *message) {
    (void)user, (void)level;
    if (strstr(message, "come from faults alone"))
        __atomic_fetch_add(&lines, 1, __ATOMIC_RELAXED);
}

static struct ff_config config_of(const char *system) {
    struct ff_config config = child_config(BUDGET);
    config.address_space = 64 * MB;
    config.system = system;
    config.log = count_lines;
    return config;
}

static bool sees_uses(const struct ff_context *context) {
    return __atomic_load_n(&((const struct ff__soft *)context->self)->sees_uses, __ATOMIC_RELAXED);
}

/* ---- the trial ---- */

static unsigned count_descriptors(void) {
    unsigned count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

static void test_probe(void **state) {
    (void)state;
    rwp_fail(-1, 0);
    rwp_off();
    assert_int_equal(ff__accessed_probe(), -ENOSYS);
    rwp_on(RWP_TRUE);
    assert_int_equal(ff__accessed_probe(), 0);
    for (enum rwp_lie lie = RWP_TRUE + 1; lie < RWP_LIES; lie++) {
        rwp_on(lie);
        assert_int_equal(ff__accessed_probe(), -EPROTO);
    }
    rwp_off();
}

/* Whichever call is refused, and nothing is left behind. */
static void test_probe_is_refused(void **state) {
    (void)state;
    rwp_on(RWP_TRUE);
    rwp_fail(-1, 0);
    ff__accessed_probe();
    long calls = rwp_calls();
    assert_true(calls >= 5);
    unsigned descriptors = count_descriptors();
    for (long at = 0; at < calls; at++) {
        rwp_fail(at, EINVAL);
        assert_true(ff__accessed_probe() < 0);
        assert_int_equal(count_descriptors(), descriptors);
    }
    rwp_fail(-1, 0);
    assert_int_equal(ff__accessed_probe(), 0);
    rwp_off();
}

/* ---- what is seen ---- */

static bool is_resident(struct ff_context *context, const unsigned char *at) {
    uint32_t page, block = ff__space_find(context->space, (uintptr_t)at, &page);
    ff__pipeline_lock(&context->pipeline);
    bool is = ff_mask_test(ff_view_resident(&context->engine->view, 1, block), page);
    ff__pipeline_unlock(&context->pipeline);
    return is;
}

/* A thread goes on before the engine has noted that its page has come. */
static void touch(struct ff_context *context, volatile unsigned char *at) {
    at[0]++;
    while (!is_resident(context, (const unsigned char *)(uintptr_t)at))
        usleep(100);
}

/* A fault after a time in which uses are not looked for: then they are. */
static void touch_late(struct ff_context *context, volatile unsigned char *at) {
    usleep(LOOK_US);
    touch(context, at);
}

static uint32_t use_of(struct ff_context *context, const unsigned char *at) {
    uint32_t page, block = ff__space_find(context->space, (uintptr_t)at, &page);
    ff__pipeline_lock(&context->pipeline);
    uint32_t use =
        context->pipeline.samples.tables[1].page_used[(size_t)block * FF_BLOCK_PAGES + page];
    ff__pipeline_unlock(&context->pipeline);
    return use & ~FF_PAGE_UNUSED;
}

/* Pages 0 to 9 come; then page 3 is used. Other blocks have the faults. */
static void use_one(struct ff_context *context, unsigned char *data) {
    for (unsigned i = 0; i < 10; i++)
        touch(context, data + i * PAGE);
    touch_late(context, data + 2 * MB);
    touch_late(context, data + 4 * MB);
    uint32_t came = use_of(context, data + 3 * PAGE);
    CHECK(came > 0 && came <= use_of(context, data + 4 * PAGE));
    data[3 * PAGE]++;
    touch_late(context, data + 6 * MB);
}

static void check_seen(struct ff_context *context, const unsigned char *data) {
    CHECK(sees_uses(context));
    CHECK(use_of(context, data + 3 * PAGE) > use_of(context, data + 4 * MB));
    CHECK(use_of(context, data + 2 * PAGE) < use_of(context, data + 2 * MB));
}

static void see(const struct ff_config *config, const void *argument) {
    (void)argument;
    struct ff_context *context = child_open(config);
    unsigned char *data = child_alloc(context, BUDGET);
    use_one(context, data);
    check_seen(context, data);
    child_close(context);
}

/* Memory that kernels alone use, that anybody does, and kernels alone again. */
static void see_of_kernels(const struct ff_config *config, const void *argument) {
    (void)argument;
    void *data = NULL;
    struct ff_context *context = child_open(config);
    CHECK(ff_mem_alloc_for_kernels(context, BUDGET, &data) == 0);
    use_one(context, data);
    check_seen(context, data);
    static const enum ff_hint hints[] = {FF_HINT_SYSTEM_CALLS, FF_HINT_KERNELS};
    for (unsigned i = 0; i < sizeof hints / sizeof hints[0]; i++) {
        CHECK(ff_mem_hint(context, data, 1, hints[i], 0) == 0);
        use_one(context, data);
        check_seen(context, data);
    }
    CHECK(ff_mem_free(context, data) == 0);
    data = child_alloc(context, BUDGET);
    use_one(context, data);
    check_seen(context, data);
    child_close(context);
}

/* A kernel that has no such protection, or one that fails its trial, changes nothing. */
static void see_nothing(const struct ff_config *config, const void *argument) {
    (void)argument;
    struct ff_context *context = child_open(config);
    unsigned char *data = child_alloc(context, BUDGET);
    use_one(context, data);
    CHECK(!sees_uses(context));
    CHECK(use_of(context, data + 3 * PAGE) <= use_of(context, data + 9 * PAGE));
    child_close(context);
}

static void test_seen(void **state) {
    struct ff_config config = config_of(SYSTEM);
    (void)state;
    rwp_on(RWP_TRUE);
    expect_ok(see, &config, NULL);
    config.granule = PAGE;
    expect_ok(see, &config, NULL);
    config.handler = FF_HANDLER_SIGBUS;
    expect_ok(see, &config, NULL);
    config = config_of(SYSTEM_BIG);
    expect_ok(see, &config, NULL);
    config.handler = FF_HANDLER_KERNELS;
    expect_ok(see_of_kernels, &config, NULL);
    rwp_off();
}

static void test_not_seen(void **state) {
    struct ff_config config = config_of(SYSTEM);
    (void)state;
    expect_ok(see_nothing, &config, NULL);
    for (enum rwp_lie lie = RWP_TRUE + 1; lie < RWP_LIES; lie++) {
        rwp_on(lie);
        expect_ok(see_nothing, &config, NULL);
    }
    rwp_on(RWP_TRUE);
    config.mechanism = FF_MECHANISM_COPY;
    expect_ok(see_nothing, &config, NULL);
    rwp_off();
}

/* ---- who leaves ---- */

/* Four blocks fill the memory; the first one is used again, and then there is a fifth. */
static void keep_used(const struct ff_config *config, const void *argument) {
    const bool *is_seen = argument;
    struct ff_context *context = child_open(config);
    unsigned char *data = child_alloc(context, 5 * 2 * MB);
    for (unsigned i = 0; i < 3; i++)
        touch(context, data + i * 2 * MB);
    touch_late(context, data + 6 * MB);
    for (size_t at = 0; at < 2 * MB; at += PAGE)
        data[at]++;
    touch_late(context, data + 8 * MB);
    CHECK(is_resident(context, data) == *is_seen);
    CHECK(is_resident(context, data + 2 * MB) == !*is_seen);
    child_close(context);
}

static void test_used_stays(void **state) {
    static const bool yes = true, no = false;
    struct ff_config config = config_of(SYSTEM_BIG);
    (void)state;
    expect_ok(keep_used, &config, &no);
    rwp_on(RWP_TRUE);
    expect_ok(keep_used, &config, &yes);
    rwp_off();
}

/* ---- arrivals, evictions and drops in between ---- */

#define USERS  3u
#define ROUNDS 6000u

struct user {
    struct ff_context *context;
    unsigned char *data;
    size_t pages;
    unsigned number;
};

/* Its pages are every USERS-th one. */
static void *use_at_random(void *argument) {
    const struct user *user = argument;
    struct ff__random random = ff__random_seeded(user->number);
    unsigned char *held = calloc(user->pages, 1);
    CHECK(held);
    for (unsigned i = 0; i < ROUNDS / (SANITIZED ? 4 : 1); i++) {
        size_t page = ff__random_below(&random, (uint32_t)(user->pages / USERS)) * USERS;
        page += user->number;
        volatile unsigned char *at = user->data + page * PAGE + 9;
        CHECK(*at == held[page]);
        if (i % 16 == 3) {
            CHECK(madvise((void *)(uintptr_t)(at - 9), PAGE, MADV_DONTNEED) == 0);
            held[page] = 0;
        } else {
            *at = ++held[page];
        }
    }
    free(held);
    return NULL;
}

static void use_by_many(const struct ff_config *config, const void *argument) {
    (void)argument;
    pthread_t threads[USERS];
    struct user users[USERS];
    struct ff_context *context = child_open(config);
    unsigned char *data = child_alloc(context, 3 * BUDGET);
    for (unsigned i = 0; i < USERS; i++) {
        users[i] = (struct user){context, data, 3 * BUDGET / PAGE, i};
        CHECK(pthread_create(&threads[i], NULL, use_at_random, &users[i]) == 0);
    }
    for (unsigned i = 0; i < USERS; i++)
        pthread_join(threads[i], NULL);
    CHECK(sees_uses(context) && __atomic_load_n(&lines, __ATOMIC_RELAXED) == 0);
    CHECK(ff_check(context, NULL) == 0);
    child_close(context);
}

static void test_many(void **state) {
    static const char *const systems[] = {SYSTEM, SYSTEM_BIG, "forest"};
    (void)state;
    rwp_on(RWP_TRUE);
    for (unsigned i = 0; i < sizeof systems / sizeof systems[0]; i++) {
        struct ff_config config = config_of(systems[i]);
        config.granule = i == 2 ? PAGE : config.granule;
        expect_ok(use_by_many, &config, NULL);
    }
    rwp_off();
}

/* ---- refusals ---- */

struct refusal {
    long at;
    int error;
    bool passes; /* such an error may be for now */
};

static void use_refused(const struct ff_config *config, const void *argument) {
    const struct refusal *refusal = argument;
    rwp_fail(refusal->at, refusal->error);
    struct ff_context *context = child_open(config);
    bool was_seen = sees_uses(context);
    unsigned char *data = child_alloc(context, 2 * BUDGET);
    use_one(context, data);
    for (size_t at = 0; at < 2 * BUDGET; at += MB)
        data[at] = (unsigned char)(at / MB);
    for (size_t at = 0; at < 2 * BUDGET; at += MB)
        CHECK(data[at] == (unsigned char)(at / MB));
    bool is_hit = rwp_calls() > refusal->at;
    CHECK(__atomic_load_n(&lines, __ATOMIC_RELAXED) == (was_seen && !sees_uses(context)));
    CHECK(!is_hit || refusal->passes || !sees_uses(context));
    CHECK(ff_check(context, NULL) == 0);
    child_close(context);
    _exit(is_hit ? 0 : 3);
}

static void test_refused(void **state) {
    static const struct refusal refusals[] = {{0, EINVAL, false}, {0, EAGAIN, true}};
    struct ff_config config = config_of(SYSTEM_BIG);
    (void)state;
    rwp_on(RWP_TRUE);
    for (unsigned i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        struct refusal refusal = refusals[i];
        int status = 0;
        for (; status == 0; refusal.at++)
            status = run_in_child(use_refused, &config, &refusal);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 3)
            fail_msg("%s of call %ld", strerror(refusal.error), refusal.at - 1);
        assert_in_range(refusal.at, 15, 200);
    }
    rwp_off();
}

int main(void) {
    struct ff_config config = config_of(SYSTEM);
    ff_close(open_or_skip(&config));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_probe),      cmocka_unit_test(test_probe_is_refused),
        cmocka_unit_test(test_seen),       cmocka_unit_test(test_not_seen),
        cmocka_unit_test(test_used_stays), cmocka_unit_test(test_many),
        cmocka_unit_test(test_refused),
    };
    return run_or_skip(tests);
}
