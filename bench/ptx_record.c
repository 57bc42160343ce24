/* ptx_record FOLDER [KERNEL...]: what it costs to record every access of a kernel. Each is launched
 * in turns without and with a recording, by one worker, on the data of tests/ptx/kernels. The
 * recordings are written to FOLDER. Columns: kernel, ms without, ms with, how many times as long
 * (the median of the turns), events of a launch in millions, ns an event. */
#include "kernels.h"
#include "measure.h"

#include "base/clock.h"
#include "ptx/exec.h"
#include <farfault/trace.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TURNS  5
#define MEMORY (UINT64_C(1) << 30)

static void require(int code, const char *what) {
    if (code == 0)
        return;
    fprintf(stderr, "%s: %s\n", what, strerror(abs(code)));
    exit(1);
}

/* ---- one way to run a kernel ---- */

struct side {
    struct ff_context *context;
    struct ff_stream *stream;
    struct ff__ptx_program *program;
    struct ff__ptx_kernel *kernel;
    void *buffers[KERNEL_BUFFERS];
};

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

static struct side open_side(const char *topic, const char *name, const char *recording) {
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
    require(ff_open(&config, &side.context, &error), error.message);
    require(ff_stream_create(side.context, 0, &side.stream), "stream");
    const struct ff__ptx_options options = {.record = recording != NULL};
    require(ff__ptx_load(text, size, &options, &side.program, &error), error.message);
    require(ff__ptx_kernel(side.program, name, &side.kernel, &error), error.message);
    free(text);
    return side;
}

static void close_side(struct side *side) {
    ff__ptx_unload(side->program);
    ff_stream_destroy(side->stream);
    ff_close(side->context);
}

static void fill(struct side *side, const struct kernel_plan *plan) {
    for (int i = 0; i < plan->buffer_count; i++) {
        if (side->buffers[i] == NULL)
            require(ff_mem_alloc(side->context, plan->buffers[i].size, &side->buffers[i]),
                    "memory");
        memcpy(side->buffers[i], plan->buffers[i].data, plan->buffers[i].size);
    }
}

static double launch(struct side *side, const struct kernel_plan *plan) {
    struct ff_error error = {.message = ""};
    struct kernel_parameters parameters;
    struct ff__ptx_launch launch = {.shared = plan->shared, .parameters = &parameters};
    launch.parameter_size = kernel_plan_parameters(plan, side->buffers, &parameters);
    memcpy(launch.grid, plan->grid, sizeof launch.grid);
    memcpy(launch.block, plan->block, sizeof launch.block);
    uint64_t start = ff__clock_ns();
    require(ff__ptx_launch(side->context, side->stream, side->kernel, &launch, &error),
            error.message);
    ff_stream_synchronize(side->stream);
    uint64_t ns = ff__clock_ns() - start;
    require(ff__ptx_failure(side->program, &error), error.message);
    return (double)ns * 1e-6;
}

/* ---- kernels ---- */

static uint64_t count_events(const char *path) {
    struct ff_trace_reader *reader;
    struct ff_trace_event event;
    uint64_t count = 0;
    require(ff_trace_open(path, &reader, NULL, NULL), path);
    while (ff_trace_read(reader, &event, NULL) == 1)
        count += event.kind == FF_TRACE_ACCESS || event.kind == FF_TRACE_WORK;
    ff_trace_close(reader);
    return count;
}

/* Each turn begins with the same data, which a launch may change, where all of it is resident. */
static double measure(const char *folder, const char *topic, const struct kernel_case *kernel) {
    char path[4096];
    struct kernel_plan plan;
    struct series times = {.count = 0};
    snprintf(path, sizeof path, "%s/%s.trace", folder, kernel->name);
    struct side plain = open_side(topic, kernel->name, NULL),
                recorded = open_side(topic, kernel->name, path);
    kernel_plan_make(&plan, kernel, kernel->large);
    for (int turn = 0; turn <= TURNS; turn++) {
        fill(&plain, &plan);
        fill(&recorded, &plan);
        double without = launch(&plain, &plan), with = launch(&recorded, &plan);
        if (turn > 0) /* after one that compiles and brings all memory */
            series_add(&times, with, without);
    }
    kernel_plan_free(&plan);
    close_side(&plain);
    close_side(&recorded);
    double events = (double)count_events(path) / (TURNS + 1), ratio = series_ratio(&times);
    double with = median(times.value, TURNS), without = median(times.bound, TURNS);
    printf("%-16s %8.2f %9.2f %6.2f %7.3f %6.1f\n", kernel->name, without, with, ratio,
           events * 1e-6, (with - without) * 1e6 / events);
    fflush(stdout);
    remove(path);
    return ratio;
}

static bool is_wanted(const char *name, char *const *names, int count) {
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return count == 0;
}

int main(int argc, char **argv) {
    double logs = 0, most = 0;
    int count = 0;
    if (argc < 2) {
        fprintf(stderr, "usage: ptx_record FOLDER [KERNEL...]\n");
        return 2;
    }
    for (int t = 0; t < kernel_topic_count; t++)
        for (int i = 0; i < kernel_topics[t]->count; i++) {
            const struct kernel_case *kernel = &kernel_topics[t]->cases[i];
            if (kernel->large == 0 || !is_wanted(kernel->name, argv + 2, argc - 2))
                continue;
            double ratio = measure(argv[1], kernel_topics[t]->name, kernel);
            logs += log(ratio);
            most = ratio > most ? ratio : most;
            count++;
        }
    if (count > 0)
        printf("%d kernels, geometric mean %.2f, most %.2f\n", count, exp(logs / count), most);
    return count > 0 ? 0 : 1;
}
