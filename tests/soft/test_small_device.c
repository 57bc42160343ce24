/* The smallest device: an access across the end of a block needs two blocks at once, so that is how
 * many a device must hold. With as many, any number of threads gets on. */
#include <pthread.h>

#include "runtime/child.h"

/* ---- one block is refused ---- */

static void test_one_block(void **state) {
    (void)state;
    FOR_EACH_VARIANT(config, 2 * MB) {
        struct ff_context *context = NULL;
        struct ff_error error;
        assert_int_equal(ff_open(&config, &context, &error), -EINVAL);
        if (!strstr(error.message, "memory=") || !strstr(error.message, "4M") ||
            strchr(error.message, '\n'))
            fail_msg("'%s' does not say what is wrong and what would be right", error.message);
        config.memory = 4 * MB - 1; /* is rounded down */
        assert_int_equal(ff_open(&config, &context, &error), -EINVAL);
        config.memory = 2 * MB;
    }
}

/* ---- an access across the end of a block ---- */

static void access_across_blocks(const struct ff_config *config, const void *argument) {
    (void)argument;
    struct ff_context *context = child_open(config);
    unsigned char *data = child_alloc(context, 4 * MB), *beside = child_alloc(context, 4 * MB);
    for (unsigned round = 0; round < 20; round++) {
        memset(beside, (int)round, 4 * MB);
        uint64_t value = 0x0123456789abcdef * (round + 1), read;
        memcpy(data + 2 * MB - 3, &value, sizeof value);
        memset(beside, (int)round, 4 * MB);
        memcpy(&read, data + 2 * MB - 3, sizeof read);
        CHECK(read == value);
    }
    child_close(context);
}

static void test_across_blocks(void **state) {
    (void)state;
    FOR_EACH_VARIANT(config, 4 * MB) {
        expect_ok(access_across_blocks, &config, NULL);
    }
}

/* ---- eight threads, two arrays ---- */

#define THREADS 8u
#define COUNT   (8 * MB / sizeof(uint32_t))

struct arrays {
    const uint32_t *from;
    uint32_t *to;
};

static void twice_and_one(const struct ff_work *work, void *arguments) {
    const struct arrays *arrays = arguments;
    for (size_t i = work->first; i < work->end; i++)
        arrays->to[i] = arrays->from[i] * 2 + 1;
}

static void run_eight_threads(const struct ff_config *config, const void *argument) {
    (void)argument;
    struct ff_context *context = child_open(config);
    uint32_t *from = (void *)child_alloc(context, COUNT * sizeof *from),
             *to = (void *)child_alloc(context, COUNT * sizeof *to);
    struct ff_stream *stream;
    for (uint32_t i = 0; i < COUNT; i++)
        from[i] = i * 2654435761u;
    CHECK(ff_stream_create(context, 0, &stream) == 0);
    struct arrays arrays = {from, to};
    const void *operands[] = {from, to};
    struct ff_launch launch = {.name = "twice and one",
                               .kernel = twice_and_one,
                               .grid = COUNT,
                               .arguments = &arrays,
                               .argument_size = sizeof arrays,
                               .operands = operands,
                               .operand_count = 2};
    CHECK(ff_kernel_launch(stream, &launch) == 0);
    ff_stream_destroy(stream);
    for (uint32_t i = 0; i < COUNT; i++)
        CHECK(to[i] == i * 2654435761u * 2 + 1);
    CHECK(rss_is_within_budget(context));
    child_close(context);
}

static void test_eight_threads(void **state) {
    (void)state;
    FOR_EACH_VARIANT(config, 4 * MB) {
        config.workers = THREADS;
        config.check = false;
        expect_ok(run_eight_threads, &config, NULL);
    }
}

int main(void) {
    struct ff_config config = child_config(4 * MB);
    ff_close(open_or_skip(&config));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_block),
        cmocka_unit_test(test_across_blocks),
        cmocka_unit_test(test_eight_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
