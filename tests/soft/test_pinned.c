/* Pages that the kernel holds for long: buffers registered with io_uring. Their blocks are evicted,
 * as far as they can be, without a hang, and what arrives in the buffers later arrives in the
 * program. */
#include <sys/prctl.h>

#include "soft/ring.h"

#define BUDGET (8 * MB)

static int file_of(unsigned char byte, size_t size) {
    char path[] = "./farfault-pinned-XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0 && unlink(path) == 0 && ftruncate(fd, (off_t)size) == 0);
    unsigned char content[PAGE];
    memset(content, byte, PAGE);
    for (size_t at = 0; at < size; at += PAGE)
        CHECK(pwrite(fd, content, PAGE, (off_t)at) == (ssize_t)PAGE);
    return fd;
}

/* ---- one pinned page ---- */

struct pinned {
    unsigned page;
    bool huge_pages;
};

static unsigned char mark_of(size_t page) {
    return (unsigned char)(page % 100 + 1);
}

static void evict_around_pinned(const struct ff_config *config, const void *argument) {
    const struct pinned *pinned = argument;
    if (!pinned->huge_pages)
        CHECK(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0);
    struct ff_context *context = child_open(config);
    unsigned char *data = child_alloc(context, 2 * MB), *page = data + pinned->page * PAGE;
    unsigned char *other = child_alloc(context, 2 * MB);
    for (size_t i = 0; i < 512; i++)
        data[i * PAGE] = mark_of(i);
    struct ring ring;
    ring_open(&ring);
    ring_register(&ring, page, PAGE);
    child_evict(context, data, 2 * MB);
    memset(other, 0xEE, 2 * MB); /* in the frames that were left */
    ring_do(&ring, IORING_OP_READ_FIXED, file_of(0xA5, PAGE), page, PAGE);
    for (size_t i = 0; i < 512; i++)
        CHECK(data[i * PAGE] == (i == pinned->page ? 0xA5 : mark_of(i)) ||
              (i == pinned->page && !keeps_pinned_pages(config)));
    ring_unregister(&ring);
    child_evict(context, data, 2 * MB);
    struct ff_stats stats;
    ff_stats_read(context, &stats);
    CHECK(stats.overshoot == 0);
    child_close(context);
}

static void check_pages(bool huge_pages) {
    static const unsigned pages[] = {0, 200, 511};
    for (unsigned i = 0; i < 3; i++) {
        struct pinned pinned = {pages[i], huge_pages};
        FOR_EACH_VARIANT(config, BUDGET) {
            expect_ok(evict_around_pinned, &config, &pinned);
        }
    }
}

static void test_huge_pages(void **state) {
    (void)state;
    check_pages(true);
}

static void test_small_pages(void **state) {
    (void)state;
    check_pages(false);
}

/* ---- more than the device has ---- */

static void pin_more_than_budget(const struct ff_config *config, const void *argument) {
    const size_t size = 2 * BUDGET;
    (void)argument;
    struct ff_context *context = child_open(config);
    unsigned char *data = child_alloc(context, size), *other = child_alloc(context, BUDGET);
    struct ring ring;
    ring_open(&ring);
    memset(data, 1, size);
    ring_register(&ring, data, size);
    memset(other, 2, BUDGET);
    child_evict(context, data, size);
    ring_do(&ring, IORING_OP_READ_FIXED, file_of(0xA5, size), data, size);
    for (size_t at = 0; at < size; at += PAGE)
        CHECK(data[at] == 0xA5 || !keeps_pinned_pages(config));
    for (size_t at = 0; at < BUDGET; at += PAGE)
        CHECK(other[at] == 2);
    struct ff_stats stats;
    ff_stats_read(context, &stats);
    CHECK(!keeps_pinned_pages(config) || stats.overshoot_peak >= size - BUDGET);
    CHECK(stats.overshoot_peak <= 3 * BUDGET);
    ring_unregister(&ring);
    child_evict(context, data, size);
    child_evict(context, other, BUDGET);
    ff_stats_read(context, &stats);
    CHECK(stats.overshoot == 0);
    CHECK(rss_is_within_budget(context));
    child_close(context);
}

static void test_more_than_budget(void **state) {
    (void)state;
    FOR_EACH_VARIANT(config, BUDGET) {
        if (config.handler == FF_HANDLER_SIGBUS)
            continue; /* the kernel cannot pin what is absent, and not all can be there */
        config.check = false;
        expect_ok(pin_more_than_budget, &config, NULL);
    }
}

int main(void) {
    struct ff_config config = child_config(BUDGET);
    ff_close(open_or_skip(&config));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_huge_pages),
        cmocka_unit_test(test_small_pages),
        cmocka_unit_test(test_more_than_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
