/* What tests of whole modules share: a context with a software device, a module from a file, and
 * launches of its kernels, most of which take a buffer of words and a number. */
#ifndef FF_TESTS_PTX_BENCH_H
#define FF_TESTS_PTX_BENCH_H

#include "runtime/fixture.h"

#include "ptx/exec.h"

struct bench {
    struct ff_context *context;
    struct ff_stream *stream;
    struct ff__ptx_program *program;
    uint32_t *out; /* managed */
    size_t words;
};

static char *read_text(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *text = NULL;
    *size = 0;
    for (size_t got = 1; got != 0; *size += got) {
        text = realloc(text, *size + 65536);
        assert_non_null(text);
        got = fread(text + *size, 1, 65536, file);
    }
    fclose(file);
    return text;
}

static struct bench open_bench_as(const char *path, size_t words, const struct ff_config *config,
                                  const struct ff__ptx_options *options) {
    struct bench bench = {.context = open_or_skip(config), .words = words};
    struct ff_error error = {0};
    assert_int_equal(ff_stream_create(bench.context, 0, &bench.stream), 0);
    assert_int_equal(ff_mem_alloc(bench.context, words * 4, (void **)&bench.out), 0);
    size_t size;
    char *text = read_text(path, &size);
    int code = ff__ptx_load(text, size, options, &bench.program, &error);
    free(text);
    if (code != 0)
        fail_msg("%s", error.message);
    return bench;
}

static inline struct bench open_bench(const char *path, size_t words) {
    struct ff_config config = standard_config(16 << 20);
    config.workers = 2;
    return open_bench_as(path, words, &config, &(struct ff__ptx_options){0});
}

static void close_bench(struct bench *bench) {
    ff__ptx_unload(bench->program);
    ff_stream_destroy(bench->stream);
    ff_close(bench->context);
}

struct shape {
    uint32_t grid[3], block[3];
    bool cooperative;
    enum ff__ptx_schedule schedule;
};

/* Runs a kernel to its end; returns what the launch or the program says of it. */
static int run_launch(struct bench *bench, const char *name, const struct ff__ptx_launch *launch,
                      struct ff_error *error) {
    struct ff__ptx_kernel *kernel;
    int code = ff__ptx_kernel(bench->program, name, &kernel, error);
    if (code != 0)
        return code;
    code = ff__ptx_launch(bench->context, bench->stream, kernel, launch, error);
    ff_stream_synchronize(bench->stream);
    int failure = ff__ptx_failure(bench->program, error);
    return code != 0 ? code : failure;
}

/* The same with NAME(out, n). */
static inline int run_kernel(struct bench *bench, const char *name, const struct shape *shape,
                             uint32_t n, struct ff_error *error) {
    struct {
        uint32_t *out;
        uint32_t n;
    } parameters = {bench->out, n};
    struct ff__ptx_launch launch = {.parameters = &parameters,
                                    .parameter_size = sizeof parameters,
                                    .cooperative = shape->cooperative,
                                    .schedule = shape->schedule};
    memcpy(launch.grid, shape->grid, sizeof launch.grid);
    memcpy(launch.block, shape->block, sizeof launch.block);
    return run_launch(bench, name, &launch, error);
}

#endif
