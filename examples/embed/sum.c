/* sum: a partial sum for each worker, a prefetch, and a device that gets smaller while it works.
 *
 * The sum of a vector that is twice as large as the device's memory. */
#include <farfault/farfault.h>

#include <stdio.h>

#define MB          (UINT64_C(1) << 20)
#define WORKERS     4
#define CACHE_LINES 8 /* a partial sum has a line of the processor's cache for itself */

static double partial[WORKERS][CACHE_LINES];

/* No two threads have the same worker's number at a time. */
static void sum_kernel(const struct ff_work *work, void *arguments) {
    const double *x = *(double **)arguments;
    double sum = 0;
    for (size_t i = work->first; i < work->end; i++)
        sum += x[i];
    partial[work->worker][0] += sum;
}

static bool run(struct ff_context *context, double *x, size_t n) {
    struct ff_stream *stream;
    const void *operands[] = {x};
    struct ff_launch launch = {
        .name = "sum",
        .kernel = sum_kernel,
        .grid = n,
        .arguments = &x,
        .argument_size = sizeof x,
        .operands = operands,
        .operand_count = 1,
    };
    if (ff_stream_create(context, 0, &stream))
        return false;
    /* The beginning comes in the background, as far as there is room. */
    bool good = !ff_mem_prefetch(context, x, 8 * MB, 0) && !ff_kernel_launch(stream, &launch);
    /* Something else needs half of the memory from now on. */
    good = good && !ff_memory_limit(context, 0, 8 * MB);
    ff_stream_destroy(stream); /* waits for the kernel */
    return good;
}

int main(void) {
    struct ff_config config;
    struct ff_context *context;
    struct ff_error error;
    void *memory;
    size_t n = 32 * MB / sizeof(double);
    ff_config_init(&config);
    config.memory = 16 * MB;
    config.workers = WORKERS;
    if (ff_config_from_environment(&config, &error) || ff_open(&config, &context, &error)) {
        fprintf(stderr, "sum: %s\n", error.message);
        return 1;
    }
    if (ff_mem_alloc(context, n * sizeof(double), &memory))
        return 1;
    double *x = memory, sum = 0;
    for (size_t i = 0; i < n; i++)
        x[i] = (double)(i % 10);
    bool good = run(context, x, n);
    for (int i = 0; i < WORKERS; i++)
        sum += partial[i][0];
    double expected = (double)(n / 10 * 45 + n % 10 * (n % 10 - 1) / 2);
    printf("sum: %.0f, expected: %.0f\n", sum, expected);
    ff_close(context);
    return !good || sum != expected;
}
