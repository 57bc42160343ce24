/* ff_mem_write whose source is managed memory too: it may lie in the block that is written, on the
 * host, and in the block that another thread writes from this one. */
#include <pthread.h>

#include "runtime/child.h"

#define BLOCK (2 * MB)

static unsigned char mark_of(unsigned char seed, size_t at) {
    return (unsigned char)(seed + at / PAGE * 7 + at % PAGE);
}

static void fill(unsigned char *memory, size_t size, unsigned char seed) {
    for (size_t at = 0; at < size; at++)
        memory[at] = mark_of(seed, at);
}

static bool holds(const unsigned char *memory, size_t from, size_t size, unsigned char seed) {
    size_t wrong = 0;
    for (size_t at = 0; at < size; at++)
        wrong += memory[at] != mark_of(seed, from + at);
    return wrong == 0;
}

/* ---- within one block ---- */

static void write_within(const struct ff_config *config, const void *argument) {
    (void)argument;
    struct ff_context *context = child_open(config);
    unsigned char *data = child_alloc(context, BLOCK);
    fill(data, BLOCK, 1);
    child_evict(context, data, BLOCK);
    CHECK(ff_mem_write(context, data + MB, data, MB) == 0);
    CHECK(holds(data, 0, MB, 1) && holds(data + MB, 0, MB, 1));
    /* with parts of pages, and a part of the target on the device */
    child_evict(context, data, BLOCK);
    data[MB + 5 * PAGE] = 0;
    CHECK(ff_mem_write(context, data + MB + 100, data + 300, MB - 5000) == 0);
    CHECK(holds(data, 0, MB, 1) && holds(data + MB, 0, 100, 1));
    CHECK(holds(data + MB + 100, 300, MB - 5000, 1));
    CHECK(holds(data + BLOCK - 4900, MB - 4900, 4900, 1));
    child_close(context);
}

/* ---- crosswise ---- */

struct writer {
    struct ff_context *context;
    unsigned char *to, *from; /* blocks */
    pthread_t thread;
};

#define ROUNDS (long_run_repeats() ? 40 : 15)

static void *write_and_evict(void *argument) {
    const struct writer *writer = argument;
    for (int round = 0; round < ROUNDS; round++) {
        child_evict(writer->context, writer->to, BLOCK);
        child_evict(writer->context, writer->from, BLOCK);
        CHECK(ff_mem_write(writer->context, writer->to, writer->from + MB, MB) == 0);
    }
    return NULL;
}

/* Each writes the first half of its block, from the second half of the other's. */
static void write_crosswise(const struct ff_config *config, const void *argument) {
    (void)argument;
    struct ff_context *context = child_open(config);
    unsigned char *a = child_alloc(context, BLOCK), *b = child_alloc(context, BLOCK);
    struct writer writers[2] = {{context, a, b, 0}, {context, b, a, 0}};
    fill(a, BLOCK, 1);
    fill(b, BLOCK, 2);
    for (int i = 0; i < 2; i++) {
        CHECK(pthread_create(&writers[i].thread, NULL, write_and_evict, &writers[i]) == 0);
    }
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(writers[i].thread, NULL) == 0);
    CHECK(holds(a, MB, MB, 2) && holds(a + MB, MB, MB, 1));
    CHECK(holds(b, MB, MB, 1) && holds(b + MB, MB, MB, 2));
    child_close(context);
}

/* ---- where the device has no room for both ---- */

static void write_larger_than_device(const struct ff_config *config, const void *argument) {
    const size_t size = 4 * BLOCK;
    (void)argument;
    struct ff_context *context = child_open(config);
    unsigned char *from = child_alloc(context, size), *to = child_alloc(context, size);
    fill(from, size, 3);
    for (size_t at = 0; at < size; at += 3 * PAGE)
        to[at] = 0; /* in pieces on the device, which they fill */
    CHECK(ff_mem_write(context, to, from, size) == 0);
    CHECK(holds(to, 0, size, 3) && holds(from, 0, size, 3));
    child_close(context);
}

static void test_within(void **state) {
    (void)state;
    FOR_EACH_VARIANT(config, 8 * MB) {
        expect_ok(write_within, &config, NULL);
    }
}

static void test_crosswise(void **state) {
    (void)state;
    FOR_EACH_VARIANT(config, 64 * MB) {
        config.check = false;
        expect_ok(write_crosswise, &config, NULL);
    }
}

static void test_larger_than_device(void **state) {
    (void)state;
    FOR_EACH_VARIANT(config, 4 * MB) {
        config.check = false;
        for (config.devices = 1; config.devices <= 2; config.devices++)
            expect_ok(write_larger_than_device, &config, NULL);
    }
}

int main(void) {
    struct ff_config config = child_config(8 * MB);
    ff_close(open_or_skip(&config));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_within),
        cmocka_unit_test(test_crosswise),
        cmocka_unit_test(test_larger_than_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
