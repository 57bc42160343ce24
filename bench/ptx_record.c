/* ptx_record FOLDER [KERNEL...]: what it costs to record every access of a kernel. Each is launched
 * in turns without and with a recording, by one worker, on the data of tests/ptx/kernels. The
 * recordings are written to FOLDER. Columns: kernel, ms without, ms with, how many times as long
 * (the median of the turns), how much more processor time of all threads, which other programs
 * disturb less, events of a launch in millions. */
#include "measure.h"
#include "ptx_side.h"

#include <farfault/trace.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#define TURNS 5

static uint64_t count_events(const char *path) {
    struct ff_trace_reader *reader;
    struct ff_trace_event event;
    uint64_t count = 0;
    side_require(ff_trace_open(path, &reader, NULL, NULL), path);
    while (ff_trace_read(reader, &event, NULL) == 1)
        count += event.kind == FF_TRACE_ACCESS || event.kind == FF_TRACE_WORK;
    ff_trace_close(reader);
    return count;
}

/* Each turn begins with the same data, which a launch may change, where all of it is resident. */
static double measure(const char *folder, const char *topic, const struct kernel_case *kernel) {
    char path[4096];
    struct kernel_plan plan;
    struct series times = {.count = 0}, cpu = {.count = 0};
    snprintf(path, sizeof path, "%s/%s.trace", folder, kernel->name);
    struct side plain = side_open(topic, NULL), recorded = side_open(topic, path);
    kernel_plan_make(&plan, kernel, kernel->large);
    for (int turn = 0; turn <= TURNS; turn++) {
        side_fill(&plain, &plan);
        side_fill(&recorded, &plan);
        struct side_time without = side_launch(&plain, kernel->name, &plan),
                         with = side_launch(&recorded, kernel->name, &plan);
        if (turn == 0) /* which compiles and brings all memory */
            continue;
        series_add(&times, with.wall, without.wall);
        series_add(&cpu, with.cpu, without.cpu);
    }
    kernel_plan_free(&plan);
    side_close(&plain);
    side_close(&recorded);
    double ratio = series_ratio(&times);
    printf("%-16s %8.2f %9.2f %7.2f %7.2f %8.3f\n", kernel->name, median(times.bound, TURNS),
           median(times.value, TURNS), ratio, series_ratio(&cpu),
           (double)count_events(path) / (TURNS + 1) * 1e-6);
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
