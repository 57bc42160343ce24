/* Programs that were compiled against an older or a newer farfault.h: their structs are shorter, or
 * longer. Each is a copy of ours up to some member, or with one more, between bytes that must stay
 * as they are. */
#include "runtime/fixture.h"

#include <errno.h>
#include <farfault/mask.h>
#include <farfault/trace.h>
#include <stddef.h>
#include <unistd.h>

#define OLD_SIZE(type, member) offsetof(struct type, member)
#define GUARD                  0xa5
#define MB                     (UINT64_C(1) << 20)

/* As much room as the caller has for a struct of `size` bytes, and none beyond. */
struct room {
    _Alignas(16) unsigned char bytes[8192];
};

static void guard(struct room *room) {
    memset(room->bytes, GUARD, sizeof room->bytes);
}

static void check_guard(const struct room *room, size_t size) {
    for (size_t i = size; i < sizeof room->bytes; i++)
        assert_int_equal(room->bytes[i], GUARD);
}

/* ---- configurations ---- */

/* ThreadSanitizer leaves a program room for the default's areas in most layouts, not in all. */
#define ADDRESSES (UINT64_C(4) << 30)

static void old_config_opens_with_defaults(void **state) {
    (void)state;
    struct room room;
    struct ff_config *config = (void *)room.bytes;
    struct ff_context *context;
    struct ff_error error;
    size_t size = OLD_SIZE(ff_config, link);
    guard(&room);
    ff_config_init_sized(config, size);
    assert_int_equal(config->size, size);
    config->memory = 8 * MB;
    config->address_space = ADDRESSES;
    assert_int_equal(ff_config_set(config, "granule", "64K", &error), 0);
    assert_int_equal(ff_config_set(config, "seed", "7", &error), -EINVAL);
    assert_non_null(strstr(error.message, "seed=7"));
    check_guard(&room, size);
    context = open_or_skip(config);
    void *memory;
    assert_int_equal(ff_mem_alloc(context, 16 * MB, &memory), 0);
    memset(memory, 1, 16 * MB);
    ff_close(context);
    check_guard(&room, size);
}

static void new_config_is_zero_beyond(void **state) {
    (void)state;
    struct room room;
    struct ff_config *config = (void *)room.bytes;
    struct ff_context *context;
    struct ff_error error;
    size_t size = sizeof *config + 8;
    guard(&room);
    ff_config_init_sized(config, size);
    check_guard(&room, size);
    config->memory = 8 * MB;
    config->address_space = ADDRESSES;
    ff_close(open_or_skip(config));
    room.bytes[size - 1] = 1;
    assert_int_equal(ff_open(config, &context, &error), -E2BIG);
}

static void empty_config_is_refused(void **state) {
    (void)state;
    struct ff_config config = {.memory = 8 * MB};
    struct ff_context *context;
    struct ff_error error;
    assert_int_equal(ff_open(&config, &context, &error), -EINVAL);
    assert_non_null(strstr(error.message, "ff_config_init"));
}

/* ---- launches and what is read ---- */

static void write_one(const struct ff_work *work, void *arguments) {
    for (size_t i = work->first; i < work->end; i++)
        (*(char **)arguments)[i * FF_PAGE_SIZE] = 1;
}

static void check_stats(struct ff_context *context) {
    struct room room;
    struct ff_stats *stats = (void *)room.bytes;
    size_t sizes[] = {OLD_SIZE(ff_stats, batches), sizeof *stats, sizeof *stats + 8};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        guard(&room);
        ff_stats_read_sized(context, stats, sizes[i]);
        check_guard(&room, sizes[i]);
        assert_true(stats->faults > 0);
    }
    assert_int_equal(room.bytes[sizeof *stats], 0);
}

/* Items of another size than ours lie behind each other all the same. */
static void check_moved(struct ff_context *context, size_t size) {
    struct room room;
    struct ff_moved_list *list = (void *)room.bytes;
    size_t head = OLD_SIZE(ff_moved_list, rest);
    guard(&room);
    ff_moved_read_sized(context, FF_MOVED_BY_KERNEL, list, size);
    check_guard(&room, head + (1 + FF_MOVED_MAX) * size);
    assert_int_equal(list->count, 1);
    const struct ff_moved *worst = (void *)(room.bytes + head + size);
    assert_string_equal(worst->kernel, "write");
    assert_int_equal(worst->launches, 1);
}

static void launch_old(struct ff_stream *stream, char **memory) {
    struct room room;
    const struct ff_launch launch = {.name = "write",
                                     .kernel = write_one,
                                     .grid = 4096,
                                     .arguments = memory,
                                     .argument_size = sizeof *memory};
    size_t size = OLD_SIZE(ff_launch, operands);
    guard(&room); /* what is beyond is no operand */
    memcpy(room.bytes, &launch, size);
    assert_int_equal(ff_kernel_launch_sized(stream, (void *)room.bytes, size), 0);
    memset(room.bytes + size, 0, sizeof room.bytes - size);
    room.bytes[sizeof launch] = 1;
    assert_int_equal(ff_kernel_launch_sized(stream, (void *)room.bytes, sizeof launch + 8), -E2BIG);
    ff_stream_synchronize(stream);
}

static void old_structs_are_filled(void **state) {
    (void)state;
    struct ff_config config = standard_config(8 * MB);
    struct ff_context *context = open_or_skip(&config);
    struct ff_stream *stream;
    void *memory;
    assert_int_equal(ff_mem_alloc(context, 16 * MB, &memory), 0);
    assert_int_equal(ff_stream_create(context, 0, &stream), 0);
    launch_old(stream, (char **)&memory);
    check_stats(context);
    check_moved(context, OLD_SIZE(ff_moved, bytes_in));
    check_moved(context, sizeof(struct ff_moved));
    check_moved(context, sizeof(struct ff_moved) + 16);
    struct room room;
    guard(&room);
    ff_finding_read_sized(context, 0, (void *)room.bytes, OLD_SIZE(ff_found, text));
    check_guard(&room, OLD_SIZE(ff_found, text));
    ff_stream_destroy(stream);
    ff_close(context);
}

static void sums_of_old_items(void **state) {
    (void)state;
    struct room room;
    struct ff_moved *sum = (void *)room.bytes;
    size_t size = OLD_SIZE(ff_moved, faults);
    guard(&room);
    memset(sum, 0, size);
    const struct ff_moved more = {.size = 3, .launches = 2, .faults = 9};
    ff_moved_add_sized(sum, &more, size);
    ff_moved_add_sized(sum, &more, size);
    assert_int_equal(sum->size, 6);
    assert_int_equal(sum->launches, 4);
    check_guard(&room, size);
}

/* ---- traces ---- */

static void write_old_trace(const char *path) {
    struct ff_trace_writer *writer;
    struct room room;
    const struct ff_trace_info info = {.source = "test", .accesses = true};
    const struct ff_trace_event event = {.kind = FF_TRACE_RANGE, .range = 5, .bytes = 4096};
    size_t size = OLD_SIZE(ff_trace_event, identity);
    assert_int_equal(ff_trace_create_sized(path, &info, OLD_SIZE(ff_trace_info, touches), &writer),
                     0);
    guard(&room);
    memcpy(room.bytes, &event, size);
    assert_int_equal(ff_trace_write_sized(writer, (void *)room.bytes, size), 0);
    assert_int_equal(ff_trace_finish(writer), 0);
}

static void old_events(void **state) {
    (void)state;
    char path[] = "/tmp/farfault-sized-XXXXXX";
    struct ff_trace_reader *reader;
    struct room room;
    struct ff_trace_event *event = (void *)room.bytes;
    size_t info_size = OLD_SIZE(ff_trace_info, memory);
    size_t size = OLD_SIZE(ff_trace_event, identity);
    int fd = mkstemp(path);
    close(fd);
    write_old_trace(path);
    guard(&room);
    assert_int_equal(ff_trace_open_sized(path, &reader, (void *)room.bytes, info_size, NULL), 0);
    check_guard(&room, info_size);
    guard(&room);
    assert_int_equal(ff_trace_read_sized(reader, event, size, NULL), 1);
    check_guard(&room, size);
    assert_int_equal(event->range, 5);
    assert_int_equal(event->bytes, 4096);
    assert_int_equal(ff_trace_read_sized(reader, event, size, NULL), 0);
    ff_trace_close(reader);
    unlink(path);
}

/* A member that is added goes to a place that no older struct has: there is no padding at the end
 * for it. */
static void structs_end_with_a_member(void **state) {
    (void)state;
    assert_int_equal(sizeof(struct ff_config),
                     OLD_SIZE(ff_config, share_priority) + sizeof(uint64_t));
    assert_int_equal(sizeof(struct ff_launch), OLD_SIZE(ff_launch, warps) + sizeof(uint32_t));
    assert_int_equal(sizeof(struct ff_stats), OLD_SIZE(ff_stats, pages_mapped) + sizeof(uint64_t));
    assert_int_equal(sizeof(struct ff_moved), OLD_SIZE(ff_moved, stall_ns) + sizeof(uint64_t));
    assert_int_equal(sizeof(struct ff_trace_info), OLD_SIZE(ff_trace_info, memory) + 8);
    assert_int_equal(sizeof(struct ff_found), OLD_SIZE(ff_found, text) + 160);
    assert_int_equal(sizeof(struct ff_trace_event), OLD_SIZE(ff_trace_event, gpc) + 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(old_config_opens_with_defaults),
        cmocka_unit_test(new_config_is_zero_beyond),
        cmocka_unit_test(empty_config_is_refused),
        cmocka_unit_test(old_structs_are_filled),
        cmocka_unit_test(sums_of_old_items),
        cmocka_unit_test(old_events),
        cmocka_unit_test(structs_end_with_a_member),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
