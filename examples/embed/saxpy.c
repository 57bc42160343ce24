/* saxpy: managed memory, a stream and a C kernel with farfault.h.
 *
 * y = a x + y over two vectors that together are twice as large as the device's memory. */
#include <farfault/farfault.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MB (UINT64_C(1) << 20)

struct saxpy {
    float a;
    const float *x;
    float *y;
};

/* Does the items [first, end); the device's workers call it for different parts of the grid at
 * once. */
static void saxpy_kernel(const struct ff_work *work, void *arguments) {
    const struct saxpy *s = arguments;
    for (size_t i = work->first; i < work->end; i++)
        s->y[i] += s->a * s->x[i];
}

static void fail(const char *what, int status) {
    fprintf(stderr, "saxpy: %s: %s\n", what, strerror(-status));
    exit(1);
}

static float *vector(struct ff_context *context, size_t n) {
    void *pointer;
    int status = ff_mem_alloc(context, n * sizeof(float), &pointer);
    if (status)
        fail("ff_mem_alloc", status);
    return pointer;
}

int main(void) {
    struct ff_config config;
    struct ff_context *context;
    struct ff_stream *stream;
    struct ff_error error;
    ff_config_init(&config);
    config.memory = 64 * MB;
    config.system = "nvidia";
    if (ff_config_from_environment(&config, &error) || ff_open(&config, &context, &error)) {
        fprintf(stderr, "saxpy: %s\n", error.message);
        return 1;
    }
    size_t n = config.memory / sizeof(float);
    float *x = vector(context, n), *y = vector(context, n);
    for (size_t i = 0; i < n; i++) {
        x[i] = (float)(i % 1000);
        y[i] = 1.0f;
    }

    int status = ff_stream_create(context, 0, &stream);
    if (status)
        fail("ff_stream_create", status);
    struct saxpy arguments = {2.0f, x, y};
    const void *operands[] = {x, y};
    struct ff_launch launch = {
        .name = "saxpy",
        .kernel = saxpy_kernel,
        .grid = n,
        .arguments = &arguments,
        .argument_size = sizeof arguments,
        .operands = operands,
        .operand_count = 2,
    };
    for (int i = 0; i < 4 && !status; i++)
        status = ff_kernel_launch(stream, &launch);
    if (status)
        fail("ff_kernel_launch", status);
    ff_stream_synchronize(stream);

    size_t wrong = 0;
    for (size_t i = 0; i < n; i++)
        wrong += y[i] != 1.0f + 4 * 2.0f * (float)(i % 1000);
    struct ff_stats stats;
    ff_stats_read(context, &stats);
    printf("device: %s\n", ff_context_describe(context));
    printf("%llu MB of vectors on a device of %llu MB: %llu faults, %llu MB in, %llu MB out\n",
           (unsigned long long)(stats.allocated / MB), (unsigned long long)(stats.capacity / MB),
           (unsigned long long)stats.faults, (unsigned long long)(stats.pages_in / 256),
           (unsigned long long)(stats.pages_out / 256));
    printf("verified: %s\n", wrong ? "no" : "yes");
    ff_stream_destroy(stream);
    ff_mem_free(context, x);
    ff_mem_free(context, y);
    ff_close(context);
    return wrong != 0;
}
