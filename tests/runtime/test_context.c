/* What a program meets through farfault.h alone, on the software device: both mechanisms, every
 * handler. */
#include <farfault/farfault.h>
#include <math.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/fixture.h"

#define MB (UINT64_C(1) << 20)

static void reads_zeros_and_keeps_data(struct ff_context *context) {
    size_t words = 32 * MB / sizeof(uint64_t), wrong = 0;
    uint64_t *data = alloc(context, 32 * MB);
    for (size_t i = 0; i < words; i += 512)
        wrong += data[i] != 0;
    for (size_t i = 0; i < words; i++)
        data[i] = i * 3;
    for (size_t i = 0; i < words; i++)
        wrong += data[i] != i * 3;
    assert_int_equal(wrong, 0);
    assert_int_equal(ff_mem_free(context, data), 0);
    assert_within_budget(context);
}

static void test_keeps_data(void **state) {
    (void)state;
    FOR_EACH_CONFIG(config, 8 * MB) {
        struct ff_context *context = open_or_skip(&config);
        reads_zeros_and_keeps_data(context);
        ff_close(context);
    }
}

/* No frame carries another range's data. */
static void test_fresh_memory_is_zero(void **state) {
    (void)state;
    FOR_EACH_CONFIG(config, 8 * MB) {
        struct ff_context *context = open_or_skip(&config);
        for (int round = 0; round < 6; round++) {
            size_t size = (size_t)(3 + round * 2) * MB + 12288;
            unsigned char *data = alloc(context, size);
            for (size_t i = 0; i < size; i += 64)
                assert_int_equal(data[i], 0);
            memset(data, 0xA5, size);
            assert_int_equal(ff_mem_free(context, data), 0);
        }
        ff_close(context);
    }
}

static void test_clean_pages_are_not_copied_back(void **state) {
    (void)state;
    FOR_EACH_CONFIG(config, 16 * MB) {
        struct ff_context *context = open_or_skip(&config);
        size_t size = 32 * MB;
        unsigned char *data = alloc(context, size);
        memset(data, 7, size);
        assert_int_equal(ff_mem_hint(context, data, size, FF_HINT_EVICT, 0), 0);
        struct ff_stats before, after;
        ff_stats_read(context, &before);
        unsigned sum = 0;
        for (int pass = 0; pass < 3; pass++)
            for (size_t i = 0; i < size; i += 4096)
                sum += data[i];
        assert_int_equal(sum, 3 * 7 * (size / 4096));
        assert_int_equal(ff_mem_hint(context, data, size, FF_HINT_EVICT, 0), 0);
        ff_stats_read(context, &after);
        assert_int_equal(after.pages_out, before.pages_out);
        assert_true(after.pages_in - before.pages_in >= size / 4096);
        ff_close(context);
    }
}

/* Small ranges share 2 MiB chunks: many fit where whole chunks for each would not. */
static void test_small_ranges_share_memory(void **state) {
    (void)state;
    FOR_EACH_CONFIG(config, 4 * MB) {
        struct ff_context *context = open_or_skip(&config);
        unsigned char *data[32];
        for (int i = 0; i < 32; i++) {
            data[i] = alloc(context, 70000);
            memset(data[i], i + 1, 70000);
        }
        struct ff_stats stats;
        ff_stats_read(context, &stats);
        assert_int_equal(stats.evictions, 0);
        for (int i = 0; i < 32; i++)
            for (int j = 0; j < 70000; j += 100)
                assert_int_equal(data[i][j], i + 1);
        for (int i = 0; i < 32; i++)
            assert_int_equal(ff_mem_free(context, data[i]), 0);
        ff_close(context);
    }
}

static void test_write_past_the_device(void **state) {
    (void)state;
    FOR_EACH_CONFIG(config, 4 * MB) {
        struct ff_context *context = open_or_skip(&config);
        size_t size = 9 * MB + 500;
        unsigned char *data = alloc(context, size), *source = malloc(size);
        for (size_t i = 0; i < size; i++)
            source[i] = (unsigned char)(i * 31 >> 3);
        data[5 * MB + 77] = 1; /* one page is on the device */
        assert_int_equal(ff_mem_write(context, data + 3, source, size - 3), 0);
        assert_memory_equal(data + 3, source, size - 3);
        assert_int_equal(data[0], 0);
        assert_int_equal(ff_mem_write(context, data + 4096, source, size), -EINVAL);
        free(source);
        ff_close(context);
    }
}

static void test_discard_drops_content(void **state) {
    (void)state;
    FOR_EACH_CONFIG(config, 8 * MB) {
        struct ff_context *context = open_or_skip(&config);
        unsigned char *data = alloc(context, 4 * MB);
        memset(data, 9, 4 * MB);
        struct ff_stats before, after;
        ff_stats_read(context, &before);
        assert_int_equal(ff_mem_hint(context, data, 2 * MB, FF_HINT_DISCARD, 0), 0);
        ff_stats_read(context, &after);
        assert_int_equal(after.pages_out, before.pages_out);
        assert_int_equal(data[4096], 0);
        assert_int_equal(data[3 * MB], 9);
        ff_close(context);
    }
}

/* Inactive memory stays while there is room, and is not copied when it leaves; active memory is. */
static void test_inactive_is_not_copied(void **state) {
    (void)state;
    for (int again = 0; again < 2; again++) {
        struct ff_config config = standard_config(16 * MB);
        config.system = "deepum";
        struct ff_context *context = open_or_skip(&config);
        unsigned char *data = alloc(context, 8 * MB);
        memset(data, 9, 8 * MB);
        assert_int_equal(ff_mem_hint(context, data, 8 * MB, FF_HINT_INACTIVE, 0), 0);
        assert_int_equal(data[5 * MB], 9);
        if (again)
            assert_int_equal(ff_mem_hint(context, data, 8 * MB, FF_HINT_ACTIVE, 0), 0);
        assert_int_equal(ff_mem_hint(context, data, 8 * MB, FF_HINT_EVICT, 0), 0);
        struct ff_stats stats;
        ff_stats_read(context, &stats);
        assert_int_equal(stats.pages_out, again ? 8 * MB / 4096 : 0);
        assert_int_equal(data[MB], again ? 9 : 0);
        data[2 * MB] = 7; /* who touches it has it in use, whatever was said */
        assert_int_equal(ff_mem_hint(context, data, 8 * MB, FF_HINT_EVICT, 0), 0);
        assert_int_equal(data[2 * MB], 7);
        ff_close(context);
    }
}

/* A device that has less memory from some time on gives it back while the program works, and may
 * have it again. */
static void test_memory_shrinks_and_grows(void **state) {
    (void)state;
    FOR_EACH_CONFIG(config, 16 * MB) {
        struct ff_context *context = open_or_skip(&config);
        struct ff_stats stats;
        unsigned char *data = alloc(context, 24 * MB);
        for (size_t i = 0; i < 24 * MB; i += 4096)
            data[i] = (unsigned char)(i / 4096 % 251);
        assert_int_equal(ff_memory_limit(context, 0, 6 * MB), 0);
        for (int i = 0; i < 5000; i++) {
            ff_stats_read(context, &stats);
            if (stats.resident <= 6 * MB)
                break;
            data[(size_t)i % 24 * MB]++;
            data[(size_t)i % 24 * MB]--;
            usleep(1000);
        }
        assert_true(stats.resident <= 6 * MB);
        assert_int_equal(stats.capacity, 6 * MB);
        assert_int_equal(ff_memory_limit(context, 0, 16 * MB), 0);
        for (size_t i = 0; i < 24 * MB; i += 4096)
            assert_int_equal(data[i], (unsigned char)(i / 4096 % 251));
        ff_stats_read(context, &stats);
        assert_true(stats.resident > 6 * MB && stats.overshoot == 0);
        assert_int_equal(ff_memory_limit(context, 1, 8 * MB), -EINVAL);
        assert_int_equal(ff_memory_limit(context, 0, MB), -EINVAL);
        assert_int_equal(ff_memory_limit(context, 0, 18 * MB), -EINVAL);
        ff_close(context);
    }
}

static void test_prefetch_brings_pages(void **state) {
    (void)state;
    struct ff_config config = standard_config(16 * MB);
    struct ff_context *context = open_or_skip(&config);
    unsigned char *data = alloc(context, 8 * MB);
    memset(data, 3, 8 * MB);
    assert_int_equal(ff_mem_hint(context, data, 8 * MB, FF_HINT_EVICT, 0), 0);
    struct ff_stats before, after;
    ff_stats_read(context, &before);
    assert_int_equal(ff_mem_prefetch(context, data, 8 * MB, 0), 0);
    for (int i = 0; i < 1000; i++) {
        ff_stats_read(context, &after);
        if (after.pages_in - before.pages_in == 2048)
            break;
        usleep(1000);
    }
    assert_int_equal(after.pages_in - before.pages_in, 2048);
    assert_int_equal(data[5 * MB], 3);
    ff_stats_read(context, &after);
    assert_int_equal(after.faults, before.faults);
    assert_int_equal(ff_mem_prefetch(context, data, 8 * MB, 1), -EINVAL);
    ff_close(context);
}

static void test_system_calls_reach_managed_memory(void **state) {
    (void)state;
    struct ff_config config = standard_config(4 * MB);
    struct ff_context *context = open_or_skip(&config);
    if (strstr(ff_context_describe(context), "user-mode"))
        skip();
    unsigned char *data = alloc(context, 8 * MB);
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    for (size_t at = 0; at < 8 * MB; at += 65536) {
        memset(data + at, (int)(at >> 16), 4096);
        assert_int_equal(ff_mem_hint(context, data + at, 4096, FF_HINT_EVICT, 0), 0);
        assert_int_equal(write(fds[1], data + at, 4096), 4096);
        assert_int_equal(read(fds[0], data + at + 8192, 4096), 4096);
        assert_memory_equal(data + at, data + at + 8192, 4096);
    }
    close(fds[0]);
    close(fds[1]);
    ff_close(context);
}

/* ---- kernels ---- */

struct scale {
    const double *from;
    double *to;
    double factor;
};

static void scale_kernel(const struct ff_work *work, void *arguments) {
    const struct scale *a = arguments;
    for (size_t i = work->first; i < work->end; i++)
        a->to[i] = a->from[i] * a->factor;
}

static void test_kernels_run_in_order(void **state) {
    (void)state;
    FOR_EACH_CONFIG(config, 8 * MB) {
        struct ff_context *context = open_or_skip(&config);
        size_t n = 2 * MB / sizeof(double) * 4;
        double *a = alloc(context, n * sizeof *a), *b = alloc(context, n * sizeof *b);
        for (size_t i = 0; i < n; i++)
            a[i] = (double)i;
        struct ff_stream *stream;
        assert_int_equal(ff_stream_create(context, 0, &stream), 0);
        for (int round = 0; round < 6; round++) {
            struct scale arguments = {round % 2 ? b : a, round % 2 ? a : b, 2.0};
            const void *operands[] = {a, b};
            struct ff_launch launch = {.name = "scale",
                                       .kernel = scale_kernel,
                                       .grid = n,
                                       .arguments = &arguments,
                                       .argument_size = sizeof arguments,
                                       .operands = operands,
                                       .operand_count = 2};
            assert_int_equal(ff_kernel_launch(stream, &launch), 0);
        }
        ff_stream_synchronize(stream);
        for (size_t i = 0; i < n; i++)
            assert_true(a[i] == (double)i * 64);
        struct ff_stats stats;
        ff_stats_read(context, &stats);
        assert_int_equal(stats.launches, 6);
        double hit_rate = ff_stats_hit_rate(&stats);
        assert_true(runs(&config, "demand") ? hit_rate >= 0 : hit_rate > 0.5);
        ff_stream_destroy(stream);
        ff_close(context);
    }
}

static void test_several_devices(void **state) {
    (void)state;
    FOR_EACH_CONFIG(config, 6 * MB) {
        config.devices = 2;
        struct ff_context *context = open_or_skip(&config);
        size_t n = 8 * MB / sizeof(double);
        double *a = alloc(context, n * sizeof *a), *b = alloc(context, n * sizeof *b);
        for (size_t i = 0; i < n; i++)
            a[i] = (double)i;
        struct ff_stream *stream[2];
        for (uint32_t d = 0; d < 2; d++)
            assert_int_equal(ff_stream_create(context, d, &stream[d]), 0);
        const void *operands[] = {a, b};
        for (int round = 0; round < 4; round++) {
            struct scale arguments = {round % 2 ? b : a, round % 2 ? a : b, 2.0};
            struct ff_launch launch = {.kernel = scale_kernel,
                                       .grid = n,
                                       .arguments = &arguments,
                                       .argument_size = sizeof arguments,
                                       .operands = operands,
                                       .operand_count = 2};
            assert_int_equal(ff_kernel_launch(stream[round % 2], &launch), 0);
            ff_stream_synchronize(stream[round % 2]);
        }
        for (size_t i = 0; i < n; i++)
            assert_true(a[i] == (double)i * 16);
        assert_within_budget(context);
        for (uint32_t d = 0; d < 2; d++)
            ff_stream_destroy(stream[d]);
        assert_int_equal(ff_stream_create(context, 2, &stream[0]), -EINVAL);
        ff_close(context);
    }
}

/* ---- bad input ---- */

static void fails_with(struct ff_config config, int status, const char *part) {
    struct ff_context *context = NULL;
    struct ff_error error;
    assert_int_equal(ff_open(&config, &context, &error), status);
    if (!strstr(error.message, part))
        fail_msg("'%s' does not mention '%s'", error.message, part);
    assert_int_equal(ff_open(&config, &context, NULL), status);
}

static void test_bad_configuration(void **state) {
    (void)state;
    struct ff_config config = standard_config(8 * MB), bad;
    ff_close(open_or_skip(&config));
    bad = config, bad.memory = 0;
    fails_with(bad, -EINVAL, "at least 4M");
    bad = config, bad.memory = 1 * MB;
    fails_with(bad, -EINVAL, "at least 4M");
    bad = config, bad.memory = UINT64_C(1) << 60;
    fails_with(bad, -ENOMEM, "this machine has");
    bad = config, bad.fault_workers = 9;
    fails_with(bad, -EINVAL, "at most 8");
    bad = config, bad.link.bytes_per_second = (double)NAN;
    fails_with(bad, -EINVAL, "link: must be 1 MB/s to 1000 TB/s");
    bad = config, bad.link.bytes_per_second = 1;
    fails_with(bad, -EINVAL, "link: must be");
    bad = config, bad.peer_link = (struct ff_link){1e300, 0};
    fails_with(bad, -EINVAL, "peer_link: must be");
    bad = config, bad.peer_link = (struct ff_link){1e9, 2000000000};
    fails_with(bad, -EINVAL, "peer_link: must be");
    bad = config, bad.devices = 0;
    fails_with(bad, -EINVAL, "1 to 8");
    bad = config, bad.system = "nvidai";
    fails_with(bad, -ENOENT, "nearest is nvidia");
    bad = config, bad.system = "nvidia:treshold=3";
    fails_with(bad, -EINVAL, "threshold");
    bad = config, bad.system = "nvidia:threshold=300";
    fails_with(bad, -EINVAL, "0 to 100");
    bad = config, bad.policy_file = "/nonexistent.so";
    fails_with(bad, -ENOENT, "nonexistent.so");
    bad = config, bad.host_file = "/nonexistent/file";
    fails_with(bad, -ENOENT, "host file");
    bad = config, bad.host_file = "/dev/null";
    fails_with(bad, -EEXIST, "does not exist");
}

static void test_bad_memory_calls(void **state) {
    (void)state;
    struct ff_config config = standard_config(8 * MB);
    struct ff_context *context = open_or_skip(&config);
    void *p;
    assert_int_equal(ff_mem_alloc(context, 0, &p), -EINVAL);
    assert_int_equal(ff_mem_alloc(context, SIZE_MAX, &p), -ENOMEM);
    char *data = alloc(context, 4 * MB);
    assert_int_equal(ff_mem_free(context, data + 4096), -EINVAL);
    assert_int_equal(ff_mem_free(context, &p), -EINVAL);
    assert_int_equal(ff_mem_free(context, NULL), 0);
    assert_true(ff_mem_lookup(context, data + 5, &p, NULL));
    assert_ptr_equal(p, data);
    assert_false(ff_mem_lookup(context, &p, NULL, NULL));
    assert_int_equal(ff_mem_free(context, data), 0);
    assert_false(ff_mem_lookup(context, data, NULL, NULL));
    ff_close(context);
}

static void test_host_file(void **state) {
    (void)state;
    char path[] = "/tmp/farfault-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    unlink(path);
    struct ff_config config = standard_config(8 * MB);
    config.host_file = path;
    struct ff_context *context = open_or_skip(&config);
    reads_zeros_and_keeps_data(context);
    reads_zeros_and_keeps_data(context);
    ff_close(context);
    assert_int_equal(access(path, F_OK), -1); /* it is gone with the context */
}

/* A limit of files' sizes (ulimit -f) is an error, and no signal is left behind. */
static void test_host_file_limit(void **state) {
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const struct rlimit limit = {1 << 20, 1 << 20};
        struct ff_config config = standard_config(8 * MB);
        struct ff_context *context;
        struct ff_error error;
        sigset_t pending;
        config.host_file = "/tmp/farfault-test-limit";
        int status = setrlimit(RLIMIT_FSIZE, &limit) ? 1 : ff_open(&config, &context, &error);
        sigpending(&pending);
        _exit(status != -EFBIG || sigismember(&pending, SIGXFSZ) ||
              !strstr(error.message, "ulimit -f"));
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keeps_data),
        cmocka_unit_test(test_fresh_memory_is_zero),
        cmocka_unit_test(test_clean_pages_are_not_copied_back),
        cmocka_unit_test(test_small_ranges_share_memory),
        cmocka_unit_test(test_write_past_the_device),
        cmocka_unit_test(test_discard_drops_content),
        cmocka_unit_test(test_inactive_is_not_copied),
        cmocka_unit_test(test_memory_shrinks_and_grows),
        cmocka_unit_test(test_prefetch_brings_pages),
        cmocka_unit_test(test_system_calls_reach_managed_memory),
        cmocka_unit_test(test_kernels_run_in_order),
        cmocka_unit_test(test_several_devices),
        cmocka_unit_test(test_bad_configuration),
        cmocka_unit_test(test_bad_memory_calls),
        cmocka_unit_test(test_host_file),
        cmocka_unit_test(test_host_file_limit),
    };
    return run_or_skip(tests);
}
