/* What a launch is said to touch is what it touches: every access of every kernel of kernels/ lies
 * in the interval predicted for its instruction; of exact ones, each sector is accessed. */
#include "ptx/bench.h"
#include "ptx/extent_record.h"

#include "kernels.h"
#include "ptx/extent.h"
#include "ptx/inline.h"
#include "ptx/read.h"
#include <time.h>
#include <unistd.h>

#define TOPICS_MAX 16

/* ---- kernels as the analysis sees them ---- */

static struct ff__ptx_module *read_module(const char *text, size_t size) {
    struct ff__ptx_module *module;
    struct ff_error error = {0};
    if (ff__ptx_read(text, size, &module, &error) != 0)
        fail_msg("%s", error.message);
    assert_int_equal(ff__ptx_inline(module), 0);
    return module;
}

static const struct ff__ptx_function *function_of(const struct ff__ptx_module *module,
                                                  const char *name) {
    for (uint32_t i = 0; i < module->function_count; i++)
        if (strcmp(module->functions[i].name, name) == 0 && !module->functions[i].is_declaration)
            return &module->functions[i];
    fail_msg("no kernel '%s'", name);
    return NULL;
}

struct predicted {
    struct ff__ptx_extent *accesses;
    uint32_t count;
    bool complete;
    double microseconds;
};

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static struct predicted predict(const struct ff__ptx_function *function,
                                const struct ff__ptx_launch *launch) {
    struct ff__ptx_extents *extents;
    struct predicted out = {0};
    struct ff__ptx_extent_launch of = {.shared = launch->shared,
                                       .parameters = launch->parameters,
                                       .parameter_size = launch->parameter_size};
    memcpy(of.grid, launch->grid, sizeof of.grid);
    memcpy(of.block, launch->block, sizeof of.block);
    assert_int_equal(ff__ptx_extents_make(function, &extents), 0);
    out.count = ff__ptx_extents_count(extents);
    out.complete = ff__ptx_extents_complete(extents);
    out.accesses = calloc(out.count + 1ul, sizeof *out.accesses);
    assert_non_null(out.accesses);
    out.microseconds = 1e9;
    for (int i = 0; i < 20; i++) { /* the least of them: other programs run */
        double start = now();
        ff__ptx_extents_find(extents, &of, out.accesses);
        double took = now() - start;
        out.microseconds = took < out.microseconds ? took : out.microseconds;
    }
    ff__ptx_extents_free(extents);
    return out;
}

static const struct ff__ptx_extent *prediction_of(const struct predicted *predicted, uint32_t pc) {
    for (uint32_t i = 0; i < predicted->count; i++)
        if (predicted->accesses[i].instruction == pc)
            return &predicted->accesses[i];
    return NULL;
}

/* ---- what must hold ---- */

static void check_sector(const char *name, const struct predicted *predicted, uint32_t pc,
                         uint64_t address) {
    const struct ff__ptx_extent *of = prediction_of(predicted, pc);
    if (of == NULL) {
        assert_false(predicted->complete);
        return;
    }
    if (of->never)
        fail_msg("%s: instruction %u accesses %#llx, to which no thread should come", name, pc,
                 (unsigned long long)address);
    if (of->kind != FF__PTX_UNKNOWN && (address + SECTOR <= of->low || address >= of->high))
        fail_msg("%s: instruction %u accesses %#llx, not in [%#llx, %#llx)", name, pc,
                 (unsigned long long)address, (unsigned long long)of->low,
                 (unsigned long long)of->high);
}

static void check_all_inside(const char *name, const struct predicted *predicted) {
    for (size_t i = 0; i < touches.size; i++) {
        const struct touched *touched = &touches.places[i];
        for (uint32_t sector = 0; touched->page != 0 && sector < PAGE / SECTOR; sector++)
            if (touched->sectors[sector / 64] >> (sector % 64) & 1)
                check_sector(name, predicted, touched->pc, touched->page * PAGE + sector * SECTOR);
    }
}

static void check_no_holes(const char *name, const struct predicted *predicted) {
    for (uint32_t i = 0; i < predicted->count; i++) {
        const struct ff__ptx_extent *of = &predicted->accesses[i];
        if (of->never || of->kind != FF__PTX_EXACT)
            continue;
        for (uint64_t at = of->low / SECTOR * SECTOR; at < of->high; at += SECTOR)
            if (!is_touched(of->instruction, at))
                fail_msg("%s: instruction %u does not access %#llx of [%#llx, %#llx)", name,
                         of->instruction, (unsigned long long)at, (unsigned long long)of->low,
                         (unsigned long long)of->high);
    }
}

/* ---- how tight it is ---- */

struct buffer {
    uint64_t first, size;
    uint32_t parameter; /* its offset */
};

enum { TOUCHED = 1, PREDICTED = 2 };

static void mark(uint8_t *marks, const struct buffer *buffer, uint64_t low, uint64_t high,
                 uint8_t mark) {
    low = low < buffer->first ? buffer->first : low;
    high = high > buffer->first + buffer->size ? buffer->first + buffer->size : high;
    for (uint64_t at = low / SECTOR * SECTOR; at < high; at += SECTOR)
        marks[(at - buffer->first) / SECTOR] |= mark;
}

static void mark_touched(uint8_t *marks, const struct buffer *buffer) {
    for (size_t i = 0; i < touches.size; i++) {
        const struct touched *touched = &touches.places[i];
        for (uint32_t sector = 0; touched->page != 0 && sector < PAGE / SECTOR; sector++)
            if (touched->sectors[sector / 64] >> (sector % 64) & 1) {
                uint64_t at = touched->page * PAGE + sector * SECTOR;
                mark(marks, buffer, at, at + SECTOR, TOUCHED);
            }
    }
}

/* What is unknown may be all of the buffer it begins in, or of all buffers. */
static void mark_predicted(uint8_t *marks, const struct buffer *buffer,
                           const struct predicted *predicted) {
    if (!predicted->complete)
        mark(marks, buffer, 0, UINT64_MAX, PREDICTED);
    for (uint32_t i = 0; i < predicted->count; i++) {
        const struct ff__ptx_extent *of = &predicted->accesses[i];
        if (of->never)
            continue;
        if (of->kind != FF__PTX_UNKNOWN)
            mark(marks, buffer, of->low, of->high, PREDICTED);
        else if (of->parameter == FF__PTX_NO_PARAMETER || of->parameter == buffer->parameter)
            mark(marks, buffer, 0, UINT64_MAX, PREDICTED);
    }
}

struct tightness {
    uint64_t touched, predicted, all; /* bytes */
};

static void measure(const struct buffer *buffer, const struct predicted *predicted,
                    struct tightness *sum) {
    size_t count = (buffer->size + SECTOR - 1) / SECTOR;
    uint8_t *marks = calloc(count, 1);
    assert_non_null(marks);
    mark_touched(marks, buffer);
    mark_predicted(marks, buffer, predicted);
    for (size_t i = 0; i < count; i++) {
        sum->touched += marks[i] & TOUCHED ? SECTOR : 0;
        sum->predicted += marks[i] & PREDICTED ? SECTOR : 0;
    }
    sum->all += count * SECTOR;
    free(marks);
}

static void report(const char *name, const struct predicted *predicted,
                   const struct buffer *buffers, uint32_t count, struct tightness *out) {
    uint32_t kinds[3] = {0}, never = 0;
    *out = (struct tightness){0};
    for (uint32_t i = 0; i < count; i++)
        measure(&buffers[i], predicted, out);
    for (uint32_t i = 0; i < predicted->count; i++)
        if (predicted->accesses[i].never)
            never++;
        else
            kinds[predicted->accesses[i].kind]++;
    print_message("%-18s exact %2u bound %2u unknown %2u never %2u%s  predicted / touched %.3f  "
                  "predicted / all %.3f  %.1f us\n",
                  name, kinds[FF__PTX_EXACT], kinds[FF__PTX_BOUND], kinds[FF__PTX_UNKNOWN], never,
                  predicted->complete ? "" : " and more",
                  (double)out->predicted / (double)out->touched,
                  (double)out->predicted / (double)out->all, predicted->microseconds);
}

/* ---- kernels of kernels/ ---- */

static const char *const exact_kernels[] = {"axpy"};

static void check_exact(const char *name, const struct tightness *tightness) {
    for (size_t i = 0; i < sizeof exact_kernels / sizeof *exact_kernels; i++)
        if (strcmp(name, exact_kernels[i]) == 0 && tightness->predicted != tightness->touched)
            fail_msg("%s: %llu bytes are predicted, %llu touched", name,
                     (unsigned long long)tightness->predicted,
                     (unsigned long long)tightness->touched);
}

static void check_kernel(struct bench *bench, const struct ff__ptx_module *module,
                         const struct kernel_case *kernel) {
    struct kernel_plan plan;
    struct kernel_parameters parameters;
    struct ff_error error = {0};
    struct buffer buffers[KERNEL_BUFFERS];
    struct tightness tightness;
    void *pointers[KERNEL_BUFFERS];
    kernel_plan_make(&plan, kernel, kernel->n);
    for (int i = 0; i < plan.buffer_count; i++) {
        assert_int_equal(ff_mem_alloc(bench->context, plan.buffers[i].size, &pointers[i]), 0);
        memcpy(pointers[i], plan.buffers[i].data, plan.buffers[i].size);
        buffers[i] =
            (struct buffer){(uintptr_t)pointers[i], plan.buffers[i].size, 8u * (uint32_t)i};
    }
    struct ff__ptx_launch launch = {.shared = plan.shared, .parameters = &parameters};
    launch.parameter_size = kernel_plan_parameters(&plan, pointers, &parameters);
    memcpy(launch.grid, plan.grid, sizeof launch.grid);
    memcpy(launch.block, plan.block, sizeof launch.block);
    struct predicted predicted = predict(function_of(module, kernel->name), &launch);
    clear_touches();
    if (run_launch(bench, kernel->name, &launch, &error) != 0)
        fail_msg("%s: %s", kernel->name, error.message);
    report(kernel->name, &predicted, buffers, (uint32_t)plan.buffer_count, &tightness);
    check_all_inside(kernel->name, &predicted);
    check_no_holes(kernel->name, &predicted);
    check_exact(kernel->name, &tightness);
    for (int i = 0; i < plan.buffer_count; i++)
        ff_mem_free(bench->context, pointers[i]);
    free(predicted.accesses);
    kernel_plan_free(&plan);
}

static struct ff_config recording_config(char *path, size_t size) {
    struct ff_config config = standard_config(16 << 20);
    snprintf(path, size, "extent-%ld.trace", (long)getpid());
    config.record = path;
    config.accesses = true;
    config.workers = 1;
    return config;
}

static void contains_every_access(void **state) {
    const struct kernel_topic *topic = *state;
    char path[4096], trace[64];
    size_t size;
    snprintf(path, sizeof path, "%s/%s.ptx", KERNELS_PTX, topic->name);
    struct ff_config config = recording_config(trace, sizeof trace);
    struct bench bench = open_bench_as(path, 1, &config, &(struct ff__ptx_options){.record = true});
    char *text = read_text(path, &size);
    struct ff__ptx_module *module = read_module(text, size);
    free(text);
    for (int i = 0; i < topic->count; i++)
        check_kernel(&bench, module, &topic->cases[i]);
    ff__ptx_module_free(module);
    close_bench(&bench);
    unlink(trace);
}

int main(void) {
    struct CMUnitTest tests[TOPICS_MAX] = {{0}};
    size_t count = 0;
    if (kernel_topic_count > TOPICS_MAX)
        return 1;
    for (int i = 0; i < kernel_topic_count; i++)
        tests[count++] = (struct CMUnitTest){kernel_topics[i]->name, contains_every_access, NULL,
                                             NULL, (void *)kernel_topics[i]};
    return _cmocka_run_group_tests("extents", tests, count, NULL, NULL);
}
