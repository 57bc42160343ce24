#include "ptx_side.h"

#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MEMORY (UINT64_C(1) << 30)

void side_require(int code, const char *what) {
    if (code == 0)
        return;
    fprintf(stderr, "%s: %s\n", what, strerror(abs(code)));
    exit(1);
}

static char *read_text(const char *topic, size_t *size) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.ptx", KERNELS_PTX, topic);
    FILE *file = fopen(path, "rb");
    char *text = malloc(1 << 20);
    if (!file || !text) {
        perror(path);
        exit(1);
    }
    *size = fread(text, 1, 1 << 20, file);
    fclose(file);
    return text;
}

struct side side_open(const char *topic, const char *recording) {
    struct side side = {0};
    struct ff_config config;
    struct ff_error error = {.message = ""};
    size_t size;
    char *text = read_text(topic, &size);
    ff_config_init(&config);
    config.memory = MEMORY;
    config.address_space = 4 * MEMORY;
    config.workers = 1;
    config.record = recording;
    config.accesses = recording != NULL;
    side_require(ff_open(&config, &side.context, &error), error.message);
    side_require(ff_stream_create(side.context, 0, &side.stream), "stream");
    const struct ff__ptx_options options = {.record = recording != NULL};
    side_require(ff__ptx_load(text, size, &options, &side.program, &error), error.message);
    free(text);
    return side;
}

void side_close(struct side *side) {
    ff__ptx_unload(side->program);
    ff_stream_destroy(side->stream);
    ff_close(side->context);
}

const struct kernel_case *side_case(const char *topic, const char *kernel) {
    for (int t = 0; t < kernel_topic_count; t++)
        for (int i = 0; i < kernel_topics[t]->count; i++)
            if (strcmp(kernel_topics[t]->name, topic) == 0 &&
                strcmp(kernel_topics[t]->cases[i].name, kernel) == 0)
                return &kernel_topics[t]->cases[i];
    side_require(-ENOENT, kernel);
    return NULL;
}

void side_fill(struct side *side, const struct kernel_plan *plan) {
    for (int i = 0; i < plan->buffer_count; i++) {
        if (side->buffers[i] == NULL)
            side_require(ff_mem_alloc(side->context, plan->buffers[i].size, &side->buffers[i]),
                         "memory");
        memcpy(side->buffers[i], plan->buffers[i].data, plan->buffers[i].size);
    }
}

static double cpu_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

struct side_time side_launch(struct side *side, const char *name, const struct kernel_plan *plan) {
    struct ff__ptx_kernel *kernel;
    struct ff_error error = {.message = ""};
    struct kernel_parameters parameters;
    struct ff__ptx_launch launch = {.shared = plan->shared, .parameters = &parameters};
    launch.parameter_size = kernel_plan_parameters(plan, side->buffers, &parameters);
    memcpy(launch.grid, plan->grid, sizeof launch.grid);
    memcpy(launch.block, plan->block, sizeof launch.block);
    side_require(ff__ptx_kernel(side->program, name, &kernel, &error), error.message);
    struct side_time time = {.wall = (double)ff__clock_ns() * 1e-6, .cpu = cpu_ms()};
    side_require(ff__ptx_launch(side->context, side->stream, kernel, &launch, &error),
                 error.message);
    ff_stream_synchronize(side->stream);
    time.wall = (double)ff__clock_ns() * 1e-6 - time.wall;
    time.cpu = cpu_ms() - time.cpu;
    side_require(ff__ptx_failure(side->program, &error), error.message);
    return time;
}
