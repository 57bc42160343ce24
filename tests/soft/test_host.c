/* The host tier takes hardly more memory than the data it holds, whatever the sizes, and says how
 * much. */
#include "runtime/fixture.h"

#include "backend/soft/host.h"

#include <sys/mman.h>
#include <unistd.h>

#define MB     (UINT64_C(1) << 20)
#define BLOCKS 8u

static struct ff__host open_host(const char *path) {
    struct ff__host host;
    struct ff_error error;
    assert_int_equal(ff__host_init(&host, BLOCKS * FF_BLOCK_SIZE, path, &error), 0);
    return host;
}

/* Pages of the window that are in memory, as the kernel says. */
static uint32_t count_in_memory(char *area, uint32_t block) {
    unsigned char there[FF_BLOCK_PAGES];
    uint32_t count = 0;
    assert_int_equal(mincore(area + (size_t)block * FF_BLOCK_SIZE, FF_BLOCK_SIZE, there), 0);
    for (uint32_t i = 0; i < FF_BLOCK_PAGES; i++)
        count += there[i] & 1;
    return count;
}

static uint32_t in_memory(const struct ff__host *host, uint32_t block) {
    return count_in_memory(host->small, block) + count_in_memory(host->huge, block);
}

static void write_pages(struct ff__host *host, uint32_t block, const struct ff_mask *pages) {
    char *to = ff__host_to_write(host, block, pages);
    FF_MASK_FOR_EACH_PAGE(pages, page) {
        memset(to + (size_t)page * FF_PAGE_SIZE, 1 + (int)(page % 100), FF_PAGE_SIZE);
    }
}

static void check_pages(const struct ff__host *host, uint32_t block, const struct ff_mask *pages) {
    FF_MASK_FOR_EACH_PAGE(pages, page) {
        const char *at = ff__host_at(host, block) + (size_t)page * FF_PAGE_SIZE;
        assert_int_equal(at[0], 1 + page % 100);
        assert_memory_equal(at, at + 1, FF_PAGE_SIZE - 1);
    }
}

/* However many pages of a block come first, and wherever they lie. */
static void test_any_part_of_a_block(void **state) {
    (void)state;
    static const uint32_t counts[] = {1, 2, 16, 255, 464, 465, 466, 467, 511, 512};
    struct ff__host host = open_host(NULL);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        uint32_t block = (uint32_t)i % BLOCKS, first = FF_BLOCK_PAGES - counts[i];
        struct ff_mask pages = ff_mask_of_run(first, FF_BLOCK_PAGES);
        write_pages(&host, block, &pages);
        check_pages(&host, block, &pages);
        uint64_t data = counts[i] * (uint64_t)FF_PAGE_SIZE, there = in_memory(&host, block);
        assert_in_range(there * FF_PAGE_SIZE, data, data * 11 / 10);
        assert_in_range(host.held, there * FF_PAGE_SIZE, data * 11 / 10);
        ff__host_release(&host, block, 1);
        assert_int_equal(in_memory(&host, block), 0);
        assert_int_equal(host.held, 0);
    }
    ff__host_fini(&host);
}

static void test_large_data_has_huge_pages(void **state) {
    (void)state;
    struct ff__host host = open_host(NULL);
    struct ff_mask all = ff_mask_of_run(0, FF_BLOCK_PAGES), one = ff_mask_of_run(7, 8);
    write_pages(&host, 3, &all);
    assert_ptr_equal(ff__host_at(&host, 3), host.huge + 3 * FF_BLOCK_SIZE);
    write_pages(&host, 4, &one);
    write_pages(&host, 4, &all); /* a block stays where it is */
    assert_ptr_equal(ff__host_at(&host, 4), host.small + 4 * FF_BLOCK_SIZE);
    check_pages(&host, 4, &all);
    assert_int_equal(host.held, 2 * FF_BLOCK_SIZE);
    ff__host_fini(&host);
}

static void test_discard_gives_memory_back(void **state) {
    (void)state;
    struct ff__host host = open_host(NULL);
    struct ff_mask all = ff_mask_of_run(0, FF_BLOCK_PAGES), low = ff_mask_of_run(0, 100),
                   rest = ff_mask_of_run(100, FF_BLOCK_PAGES), half = ff_mask_of_run(50, 150);
    write_pages(&host, 0, &low);
    ff__host_discard(&host, 0, &half);
    assert_int_equal(in_memory(&host, 0), 50);
    assert_int_equal(host.held, 50 * FF_PAGE_SIZE);
    struct ff_mask kept = ff_mask_of_run(0, 50);
    check_pages(&host, 0, &kept);
    write_pages(&host, 1, &all);
    ff__host_discard(&host, 1, &low);
    check_pages(&host, 1, &rest);
    ff__host_discard(&host, 1, &rest);
    assert_int_equal(in_memory(&host, 1), 0);
    assert_int_equal(host.held, 50 * FF_PAGE_SIZE);
    ff__host_fini(&host);
}

static void test_zero(void **state) {
    (void)state;
    struct ff__host host = open_host(NULL);
    struct ff_mask all = ff_mask_of_run(0, FF_BLOCK_PAGES), some = ff_mask_of_run(3, 9);
    write_pages(&host, 0, &all);
    write_pages(&host, 1, &some);
    for (uint32_t block = 0; block < 2; block++) {
        ff__host_zero(&host, block, &some);
        for (size_t i = 3 * FF_PAGE_SIZE; i < 9 * FF_PAGE_SIZE; i++)
            assert_int_equal(ff__host_at(&host, block)[i], 0);
    }
    ff__host_fini(&host);
}

static void test_file(void **state) {
    (void)state;
    char path[64];
    snprintf(path, sizeof path, "/tmp/farfault-host-%d", (int)getpid());
    struct ff__host host = open_host(path);
    struct ff_mask all = ff_mask_of_run(0, FF_BLOCK_PAGES), some = ff_mask_of_run(3, 9);
    assert_int_equal(ff__host_reserve(&host, 0, 2 * FF_BLOCK_SIZE), 0);
    write_pages(&host, 0, &all);
    write_pages(&host, 1, &some);
    check_pages(&host, 0, &all);
    check_pages(&host, 1, &some);
    assert_int_equal(host.held, (FF_BLOCK_PAGES + 6) * FF_PAGE_SIZE);
    ff__host_release(&host, 0, 2);
    assert_int_equal(host.held, 0);
    assert_int_equal(ff__host_at(&host, 1)[3 * FF_PAGE_SIZE], 0);
    ff__host_fini(&host);
}

/* ---- live ---- */

/* Allocations of `size` bytes, all written, and evicted: they fit into the host tier, and no more.
 */
static void check_live(const struct ff_config *config, uint32_t count, size_t size) {
    struct ff_context *context = open_or_skip(config);
    char **data = calloc(count, sizeof *data);
    assert_non_null(data);
    for (uint32_t i = 0; i < count; i++) {
        data[i] = alloc(context, size);
        memset(data[i], 1 + (int)(i % 100), size);
    }
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(ff_mem_hint(context, data[i], size, FF_HINT_EVICT, 0), 0);
    struct ff_stats stats;
    ff_stats_read(context, &stats);
    uint64_t pages = (size + FF_PAGE_SIZE - 1) / FF_PAGE_SIZE * FF_PAGE_SIZE * count;
    assert_in_range(stats.host_held, pages, pages * 11 / 10);
    assert_true(stats.host_held > 0);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(data[i][0], 1 + i % 100);
        assert_memory_equal(data[i], data[i] + 1, size - 1);
        ff_mem_free(context, data[i]);
    }
    ff_stats_read(context, &stats);
    assert_int_equal(stats.host_held, 0);
    ff_close(context);
    free(data);
}

static void test_live(void **state) {
    (void)state;
    static const struct {
        uint32_t count;
        size_t size;
    } rows[] = {{100, 4096}, {50, 65536}, {4, 3 * MB + 5000}, {2, 8 * MB}};
    FOR_EACH_CONFIG(config, 8 * MB) {
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
            check_live(&config, rows[i].count, rows[i].size);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_part_of_a_block),
        cmocka_unit_test(test_large_data_has_huge_pages),
        cmocka_unit_test(test_discard_gives_memory_back),
        cmocka_unit_test(test_zero),
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_live),
    };
    return run_or_skip(tests);
}
