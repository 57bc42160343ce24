/* ptx [--runs N] [--output FILE]: kernels in CUDA C++ (tests/ptx/kernels/NAME.cu), translated and
 * run by one worker, beside the same kernels in OpenCL C (NAME.cl) on PoCL with one worker.
 *
 * Of each kernel that has data for benchmarks: ms of a launch on both sides, in turns, with all
 * data resident and the same before each launch; their ratio; ms to translate and compile it alone;
 * ms to start with what is cached. Launches count the process's processor time, which others on the
 * machine disturb least; the rest is time that passes. The results of both sides are compared with
 * the plain C twin. */
#include "measure.h"
#include "opencl.h"

#include "base/clock.h"
#include "kernels.h"
#include "ptx/exec.h"

#include <argp.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define MEMORY      (UINT64_C(1) << 30)
#define KERNELS_MAX 128
#define COMPILES    3 /* of each kernel */

static struct {
    const char *output, *only;
    int runs;
} options = {.runs = 9};

static struct {
    struct ff_context *context;
    struct ff_stream *stream;
    struct opencl opencl;
    char cache[32]; /* folder, of this process alone */
} bench = {.cache = "/tmp/farfault-bench-XXXXXX"};

/* What each kernel gave, for the summary. */
static struct {
    double ratio[KERNELS_MAX], compile[KERNELS_MAX], start[KERNELS_MAX];
    int ratios, kernels;
    json_t *rows;
} results;

static void fail(const char *name, const char *message) {
    fprintf(stderr, "ptx: %s: %s\n", name, message);
    exit(1);
}

static double ms_since(uint64_t start) {
    return (double)(ff__clock_ns() - start) * 1e-6;
}

static double processor_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/* Of the compilers that have ended, too. */
static double compile_ms(void) {
    struct rusage used;
    getrusage(RUSAGE_CHILDREN, &used);
    return processor_ms() + (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e3 +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-3;
}

static char *read_text(const char *folder, const char *name, const char *suffix) {
    char path[4096], *text = calloc(1, 1 << 20);
    snprintf(path, sizeof path, "%s/%s.%s", folder, name, suffix);
    FILE *file = fopen(path, "rb");
    if (file == NULL || text == NULL || fread(text, 1, (1 << 20) - 1, file) == 0)
        fail(path, "cannot read it");
    fclose(file);
    return text;
}

/* The module with one kernel alone: cuts the others out, which begin in a line ".visible .entry"
 * and end with a line "}". */
static void keep_kernel(char *text, const char *name) {
    static const char entry[] = "\n.visible .entry ", end[] = "\n}\n";
    size_t length = strlen(name);
    for (char *at = text; (at = strstr(at, entry)) != NULL;) {
        const char *found = at + sizeof entry - 1;
        char *after = strstr(at, end);
        if (after == NULL)
            fail(name, "a kernel without an end");
        if (strncmp(found, name, length) == 0 && found[length] == '(')
            at = after;
        else
            memmove(at, after + 2, strlen(after + 2) + 1);
    }
}

/* ---- the translated side ---- */

struct translated {
    struct ff__ptx_program *program;
    struct ff__ptx_kernel *kernel;
    double compile[COMPILES], start[RUNS_MAX]; /* ms */
    void *buffers[KERNEL_BUFFERS];             /* managed */
};

/* Until the kernel can be launched; `cache`: number of a folder. */
static void load(struct translated *translated, const char *text, const char *name, int cache) {
    struct ff_error error = {0};
    char folder[64];
    struct ff__ptx_options options_of_load = {.cache = folder};
    snprintf(folder, sizeof folder, "%s/%d", bench.cache, cache);
    ff__ptx_unload(translated->program);
    if (ff__ptx_load(text, strlen(text), &options_of_load, &translated->program, &error) ||
        ff__ptx_kernel(translated->program, name, &translated->kernel, &error))
        fail(name, error.message);
}

static void translate(struct translated *translated, const char *topic, const char *name) {
    char *text = read_text(KERNELS_PTX, topic, "ptx");
    keep_kernel(text, name);
    for (int run = 0; run < COMPILES; run++) {
        double start = compile_ms();
        load(translated, text, name, run);
        translated->compile[run] = compile_ms() - start;
    }
    for (int run = 0; run < options.runs; run++) {
        uint64_t start = ff__clock_ns();
        load(translated, text, name, 0);
        translated->start[run] = ms_since(start);
    }
    free(text);
}

struct restoring {
    const struct kernel_plan *plan;
    void *const *buffers;
};

/* Writes to managed memory as kernels do: it stays on the device. */
static void restore_kernel(const struct ff_work *work, void *arguments) {
    struct restoring *restoring = arguments;
    for (uint64_t i = work->first; i < work->end; i++) {
        const struct kernel_buffer *buffer = &restoring->plan->buffers[i];
        memcpy(restoring->buffers[i], buffer->data, buffer->size);
    }
}

static double run_translated(const struct translated *translated, const struct kernel_plan *plan,
                             const char *name) {
    struct ff_error error = {0};
    struct restoring restoring = {plan, translated->buffers};
    struct ff_launch restore = {.name = "restore",
                                .kernel = restore_kernel,
                                .grid = (uint64_t)plan->buffer_count,
                                .arguments = &restoring,
                                .argument_size = sizeof restoring};
    struct kernel_parameters parameters;
    struct ff__ptx_launch launch = {.shared = plan->shared, .parameters = &parameters};
    launch.parameter_size = kernel_plan_parameters(plan, translated->buffers, &parameters);
    memcpy(launch.grid, plan->grid, sizeof launch.grid);
    memcpy(launch.block, plan->block, sizeof launch.block);
    ff_kernel_launch(bench.stream, &restore);
    ff_stream_synchronize(bench.stream);
    double start = processor_ms();
    int code = ff__ptx_launch(bench.context, bench.stream, translated->kernel, &launch, &error);
    ff_stream_synchronize(bench.stream);
    double ms = processor_ms() - start;
    if (code != 0 || ff__ptx_failure(translated->program, &error) != 0)
        fail(name, error.message);
    return ms;
}

/* ---- PoCL ---- */

struct plain {
    cl_kernel kernel; /* NULL: it has no twin in OpenCL C */
    cl_mem buffers[KERNEL_BUFFERS];
};

static void set_argument(const struct plain *plain, cl_uint *at, size_t size, const void *value) {
    require(clSetKernelArg(plain->kernel, (*at)++, size, value), "clSetKernelArg");
}

static void prepare_plain(struct plain *plain, const struct kernel_plan *plan) {
    cl_uint at = 0;
    for (int i = 0; i < plan->buffer_count; i++) {
        cl_int status = CL_SUCCESS;
        plain->buffers[i] = clCreateBuffer(bench.opencl.context, CL_MEM_READ_WRITE,
                                           plan->buffers[i].size, NULL, &status);
        require(status, "clCreateBuffer");
        set_argument(plain, &at, sizeof(cl_mem), &plain->buffers[i]);
    }
    for (int i = 0; i < plan->int_count; i++)
        set_argument(plain, &at, sizeof *plan->ints, &plan->ints[i]);
    for (int i = 0; i < plan->float_count; i++)
        set_argument(plain, &at, sizeof *plan->floats, &plan->floats[i]);
}

static double run_plain(const struct plain *plain, const struct kernel_plan *plan) {
    size_t global[3], local[3];
    for (int i = 0; i < 3; i++) {
        local[i] = plan->block[i];
        global[i] = local[i] * plan->grid[i];
    }
    for (int i = 0; i < plan->buffer_count; i++)
        require(clEnqueueWriteBuffer(bench.opencl.queue, plain->buffers[i], CL_TRUE, 0,
                                     plan->buffers[i].size, plan->buffers[i].data, 0, NULL, NULL),
                "clEnqueueWriteBuffer");
    double start = processor_ms();
    require(clEnqueueNDRangeKernel(bench.opencl.queue, plain->kernel, 3, NULL, global, local, 0,
                                   NULL, NULL),
            "clEnqueueNDRangeKernel");
    require(clFinish(bench.opencl.queue), "clFinish");
    return processor_ms() - start;
}

/* ---- a kernel ---- */

static void check(const struct kernel_case *kernel, const struct kernel_buffer *expected,
                  const void *found, const char *side) {
    long at = kernel_difference(expected, found, kernel->tolerance);
    char message[128];
    if (at < 0)
        return;
    snprintf(message, sizeof message, "%s: element %ld is %.9g instead of %.9g", side, at,
             kernel_element(expected->type, found, (size_t)at),
             kernel_element(expected->type, expected->data, (size_t)at));
    fail(kernel->name, message);
}

static void check_sides(const struct kernel_case *kernel, const struct translated *translated,
                        const struct plain *plain) {
    struct kernel_plan expected;
    kernel_plan_make(&expected, kernel, kernel->large);
    kernel->twin(&expected);
    for (int i = 0; i < expected.buffer_count; i++) {
        const struct kernel_buffer *buffer = &expected.buffers[i];
        check(kernel, buffer, translated->buffers[i], "translated");
        void *found = plain->kernel ? malloc(buffer->size) : NULL;
        if (found == NULL)
            continue;
        require(clEnqueueReadBuffer(bench.opencl.queue, plain->buffers[i], CL_TRUE, 0, buffer->size,
                                    found, 0, NULL, NULL),
                "clEnqueueReadBuffer");
        check(kernel, buffer, found, "PoCL");
        free(found);
    }
    kernel_plan_free(&expected);
}

/* `ms`: beside it those of PoCL, or zeros. */
static void report(const char *name, const struct translated *translated, const struct series *ms,
                   bool compared) {
    double compile = median(translated->compile, COMPILES);
    double start = median(translated->start, options.runs), value = median(ms->value, ms->count);
    double least = smallest(ms->value, ms->count), most = largest(ms->value, ms->count);
    json_t *row = json_pack("{s:s, s:f, s:f, s:f, s:f, s:f}", "kernel", name, "compile", compile,
                            "start", start, "ms", value, "least", least, "most", most);
    printf("%-17s %8.1f %6.2f %9.3f %9.3f %9.3f", name, compile, start, value, least, most);
    if (compared) {
        double bound = median(ms->bound, ms->count), ratio = series_ratio(ms);
        printf(" %9.3f %6.2f", bound, ratio);
        json_object_update_new(row, json_pack("{s:f, s:f}", "pocl", bound, "ratio", ratio));
        results.ratio[results.ratios++] = ratio;
    }
    printf("\n");
    fflush(stdout);
    json_array_append_new(results.rows, row);
    results.compile[results.kernels] = compile;
    results.start[results.kernels++] = start;
}

static void measure(const struct kernel_case *kernel, const char *topic, cl_program program) {
    struct kernel_plan plan;
    struct translated translated = {0};
    struct plain plain = {.kernel = clCreateKernel(program, kernel->name, NULL)};
    struct series series = {.count = 0};
    kernel_plan_make(&plan, kernel, kernel->large);
    translate(&translated, topic, kernel->name);
    for (int i = 0; i < plan.buffer_count; i++)
        if (ff_mem_alloc(bench.context, plan.buffers[i].size, &translated.buffers[i]))
            fail(kernel->name, "not enough managed memory");
    if (plain.kernel)
        prepare_plain(&plain, &plan);
    for (int run = -1; run < options.runs; run++) {
        double bound = plain.kernel ? run_plain(&plain, &plan) : 0;
        double value = run_translated(&translated, &plan, kernel->name);
        if (run >= 0)
            series_add(&series, value, bound);
    }
    check_sides(kernel, &translated, &plain);
    report(kernel->name, &translated, &series, plain.kernel != NULL);
    for (int i = 0; i < plan.buffer_count; i++) {
        ff_mem_free(bench.context, translated.buffers[i]);
        if (plain.kernel)
            clReleaseMemObject(plain.buffers[i]);
    }
    if (plain.kernel)
        clReleaseKernel(plain.kernel);
    ff__ptx_unload(translated.program);
    kernel_plan_free(&plan);
}

static void measure_topic(const struct kernel_topic *topic) {
    char *source = read_text(KERNELS_SOURCE, topic->name, "cl");
    cl_program program = opencl_program(&bench.opencl, source);
    for (int i = 0; i < topic->count; i++) {
        const struct kernel_case *kernel = &topic->cases[i];
        if (kernel->large != 0 && (!options.only || strcmp(options.only, kernel->name) == 0))
            measure(kernel, topic->name, program);
    }
    clReleaseProgram(program);
    free(source);
}

static void summarize(void) {
    double logs = 0;
    for (int i = 0; i < results.ratios; i++)
        logs += log(results.ratio[i]);
    if (results.ratios > 0)
        printf("%d ratios: geometric mean %.3f, median %.2f, worst %.2f\n", results.ratios,
               exp(logs / results.ratios), median(results.ratio, results.ratios),
               largest(results.ratio, results.ratios));
    if (results.kernels > 0)
        printf("compile: median %.0f ms, worst %.0f; start: median %.2f ms, worst %.2f\n",
               median(results.compile, results.kernels), largest(results.compile, results.kernels),
               median(results.start, results.kernels), largest(results.start, results.kernels));
}

/* ---- the command line ---- */

static void open_both(void) {
    struct ff_config config;
    struct ff_error error = {0};
    ff_config_init(&config);
    config.memory = MEMORY;
    config.workers = 1;
    if (ff_open(&config, &bench.context, &error))
        fail("farfault", error.message);
    if (ff_stream_create(bench.context, 0, &bench.stream) || mkdtemp(bench.cache) == NULL)
        fail("farfault", "no stream, or no folder");
    setenv("POCL_MAX_PTHREAD_COUNT", "1", 1);
    opencl_start(&bench.opencl);
}

static void close_both(void) {
    char command[64];
    snprintf(command, sizeof command, "rm -rf '%s'", bench.cache);
    if (system(command) != 0)
        fail(bench.cache, "cannot remove it");
    clReleaseCommandQueue(bench.opencl.queue);
    clReleaseContext(bench.opencl.context);
    ff_stream_destroy(bench.stream);
    ff_close(bench.context);
}

static error_t parse_option(int key, char *argument, struct argp_state *state) {
    switch (key) {
    case 'o':
        options.output = argument;
        return 0;
    case 'r':
        options.runs = atoi(argument);
        if (options.runs < 1 || options.runs > RUNS_MAX)
            argp_error(state, "--runs must be 1 to %d", RUNS_MAX);
        return 0;
    case 'k':
        options.only = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int main(int argc, char **argv) {
    static const struct argp_option known[] = {
        {"output", 'o', "FILE", 0, "write the results as JSON", 0},
        {"runs", 'r', "N", 0, "runs of each (default: 9)", 0},
        {"kernel", 'k', "NAME", 0, "only this one", 0},
        {0},
    };
    static const struct argp argp = {
        known, parse_option, NULL, "CUDA kernels on the processor, beside PoCL.", NULL, NULL, NULL};
    argp_parse(&argp, argc, argv, 0, NULL, NULL);
    results.rows = json_array();
    open_both();
    printf("%-17s %8s %6s %9s %9s %9s %9s %6s\n", "kernel", "compile", "start", "ms", "least",
           "most", "pocl", "ratio");
    for (int i = 0; i < kernel_topic_count; i++)
        measure_topic(kernel_topics[i]);
    summarize();
    if (options.output &&
        json_dump_file(results.rows, options.output, JSON_INDENT(1) | JSON_REAL_PRECISION(6)))
        fail(options.output, "cannot write it");
    json_decref(results.rows);
    close_both();
    return 0;
}
