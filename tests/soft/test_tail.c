/* Ranges whose last block is a little shorter than 2 MiB, so that it takes a whole chunk: with MOVE
 * the chunk comes and goes in one piece, with a tail behind the block's last page. The tail is
 * never more than what the device has, and leaves with the block. */
#include <fcntl.h>
#include <sys/mman.h>

#include "runtime/child.h"

#define PAGES  440u /* of the short block: 28 leaves */
#define BUDGET (4 * MB)
#define ROUNDS 30u

/* Which of the pages behind the range's end are mapped. */
static uint32_t count_tail(const unsigned char *data) {
    uint64_t entries[FF_BLOCK_PAGES - PAGES];
    int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    off_t at = (off_t)(((uintptr_t)data / PAGE + PAGES) * sizeof entries[0]);
    CHECK(fd >= 0 && pread(fd, entries, sizeof entries, at) == sizeof entries);
    close(fd);
    uint32_t count = 0;
    for (uint32_t i = 0; i < FF_BLOCK_PAGES - PAGES; i++)
        count += (uint32_t)(entries[i] >> 63);
    return count;
}

static void check_content(const unsigned char *data, const unsigned char *expected) {
    for (uint32_t page = 0; page < PAGES; page++)
        CHECK(data[page * PAGE] == expected[page] &&
              data[page * PAGE + PAGE - 1] == expected[page]);
}

static void fill(unsigned char *data, unsigned char *expected, unsigned round) {
    for (uint32_t page = round % 3; page < PAGES; page += 3) {
        expected[page] = (unsigned char)(round + page + 1);
        memset(data + page * PAGE, expected[page], PAGE);
    }
}

/* Whether a chunk moves as a whole. */
static bool has_tail(const struct ff_config *config) {
    return moves(config) && config->granule == FF_BLOCK_SIZE;
}

static void come_and_go(const struct ff_config *config, const void *argument) {
    (void)argument;
    struct ff_context *context = child_open(config);
    unsigned char *data = child_alloc(context, PAGES * PAGE), expected[PAGES] = {0};
    unsigned char *others = child_alloc(context, 2 * BUDGET);
    for (unsigned round = 0; round < ROUNDS; round++) {
        check_content(data, expected);
        CHECK(count_tail(data) == (has_tail(config) ? FF_BLOCK_PAGES - PAGES : 0));
        fill(data, expected, round);
        if (round % 2)
            child_evict(context, data, PAGES * PAGE);
        else
            memset(others, (int)round, 2 * BUDGET);
        CHECK(count_tail(data) == 0);
    }
    struct ff_error error = {""};
    CHECK(ff_check(context, &error) == 0);
    CHECK(ff_mem_free(context, data) == 0);
    child_close(context);
}

static void test_whole_blocks(void **state) {
    (void)state;
    FOR_EACH_VARIANT(config, BUDGET) {
        config.system = "nvidia-1";
        expect_ok(come_and_go, &config, NULL);
    }
}

/* A part of the block leaves first, then the program drops another. */
static void leave_in_parts(const struct ff_config *config, const void *argument) {
    (void)argument;
    struct ff_context *context = child_open(config);
    unsigned char *data = child_alloc(context, PAGES * PAGE), expected[PAGES] = {0};
    for (unsigned round = 0; round < ROUNDS; round++) {
        fill(data, expected, round);
        child_evict(context, data + round * PAGE, 16 * PAGE);
        CHECK(count_tail(data) == 0);
        check_content(data, expected);
        child_evict(context, data, PAGES * PAGE);
        check_content(data, expected);
    }
    CHECK(ff_mem_free(context, data) == 0); /* while the block has its tail */
    data = child_alloc(context, PAGES * PAGE);
    memset(expected, 0, sizeof expected);
    check_content(data, expected);
    child_close(context);
}

static void test_parts(void **state) {
    (void)state;
    FOR_EACH_VARIANT(config, BUDGET) {
        config.system = "nvidia-1";
        expect_ok(leave_in_parts, &config, NULL);
    }
}

int main(void) {
    struct ff_config config = child_config(BUDGET);
    ff_close(open_or_skip(&config));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_blocks),
        cmocka_unit_test(test_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
