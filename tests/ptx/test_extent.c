/* What a launch is said to touch is what it touches: every access of every kernel of kernels/ lies
 * in the interval predicted for its instruction; of exact ones, each page is accessed. The same of
 * kernels made at random, and of some that are meant to mislead. And what the same kernels in
 * OpenCL C are said to touch has all that these touch. */
#include "ptx/bench.h"
#include "ptx/extent_random.h"
#include "ptx/extent_record.h"

#include "kernels.h"
#include "ptx/extent.h"
#include "ptx/inline.h"
#include "ptx/opencl.h"
#include "ptx/read.h"
#include <signal.h>
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
        for (uint64_t page = of->low / PAGE; page <= (of->high - 1) / PAGE; page++)
            if (!is_touched(of->instruction, page))
                fail_msg("%s: instruction %u does not access page %#llx of [%#llx, %#llx)", name,
                         of->instruction, (unsigned long long)page, (unsigned long long)of->low,
                         (unsigned long long)of->high);
    }
}

/* ---- how tight it is ---- */

struct buffer {
    uint64_t first, size;
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

/* What is unknown may be all. */
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
        else
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

/* What a launch that knows the pool can use. */
static bool is_bounded(const struct ff__ptx_extent *of, const struct buffer *pool) {
    return of->kind != FF__PTX_UNKNOWN && of->low >= pool->first &&
           of->high <= pool->first + pool->size;
}

static void report(const char *name, const struct predicted *predicted, const struct buffer *pool,
                   struct tightness *out) {
    uint32_t exact = 0, bounded = 0, unknown = 0, never = 0;
    *out = (struct tightness){0};
    measure(pool, predicted, out);
    for (uint32_t i = 0; i < predicted->count; i++) {
        const struct ff__ptx_extent *of = &predicted->accesses[i];
        if (of->never)
            never++;
        else if (!is_bounded(of, pool))
            unknown++;
        else if (of->kind == FF__PTX_EXACT)
            exact++;
        else
            bounded++;
    }
    print_message("%-18s exact %2u bound %2u unknown %2u never %2u%s  predicted/touched %6.3f  "
                  "pool/touched %6.3f  %5.1f us\n",
                  name, exact, bounded, unknown, never, predicted->complete ? "" : " and more",
                  (double)out->predicted / (double)out->touched,
                  (double)out->all / (double)out->touched, predicted->microseconds);
}

static struct predicted check_launch(struct bench *bench, const struct ff__ptx_module *module,
                                     const char *name, const struct ff__ptx_launch *launch) {
    struct ff_error error = {0};
    struct predicted predicted = predict(function_of(module, name), launch);
    clear_touches();
    if (run_launch(bench, name, launch, &error) != 0)
        fail_msg("%s: %s", name, error.message);
    check_all_inside(name, &predicted);
    check_no_holes(name, &predicted);
    return predicted;
}

/* ---- kernels of kernels/ ---- */

/* Of which each byte that is predicted is touched. */
static const char *const tight_kernels[] = {"axpy", "scal",       "dot",       "gemm",
                                            "gemv", "gemm_tiled", "transpose", "hotspot",
                                            "gelu", "nbody",      "stencil_1d"};

static void check_tight(const char *name, const struct tightness *tightness) {
    for (size_t i = 0; i < sizeof tight_kernels / sizeof *tight_kernels; i++)
        if (strcmp(name, tight_kernels[i]) == 0 && tightness->predicted != tightness->touched)
            fail_msg("%s: %llu bytes are predicted, %llu touched", name,
                     (unsigned long long)tightness->predicted,
                     (unsigned long long)tightness->touched);
}

enum { GAP = 1 << 20 }; /* bytes between slices of a pool */

/* All buffers are slices of one allocation, as in frameworks that have a pool. */
static struct buffer make_pool(struct bench *bench, const struct kernel_plan *plan,
                               void **pointers) {
    struct buffer pool = {.size = GAP};
    void *base;
    for (int i = 0; i < plan->buffer_count; i++)
        pool.size += (plan->buffers[i].size + PAGE - 1) / PAGE * PAGE + GAP;
    assert_int_equal(ff_mem_alloc(bench->context, pool.size, &base), 0);
    pool.first = (uintptr_t)base;
    char *at = (char *)base + GAP;
    for (int i = 0; i < plan->buffer_count; i++) {
        pointers[i] = at;
        memcpy(at, plan->buffers[i].data, plan->buffers[i].size);
        at += (plan->buffers[i].size + PAGE - 1) / PAGE * PAGE + GAP;
    }
    return pool;
}

/* ---- the same kernels in OpenCL C ---- */

static struct ff__ptx_module *translate(const char *topic) {
    char path[4096];
    size_t size;
    struct ff__ptx_module *module;
    struct ff_error error = {0};
    sigset_t all, before;
    snprintf(path, sizeof path, "%s/%s.cl", KERNELS_SOURCE, topic);
    char *text = read_text(path, &size);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (ff__ptx_from_opencl(text, size, "-cl-std=CL1.2", &module, &error) != 0)
        fail_msg("%s: %s", path, error.message);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    free(text);
    return module;
}

static bool is_known(const struct predicted *predicted) {
    bool known = predicted->complete;
    for (uint32_t i = 0; i < predicted->count; i++)
        known &= predicted->accesses[i].never || predicted->accesses[i].kind != FF__PTX_UNKNOWN;
    return known;
}

/* The marks of a pool's page: those of any sector. */
static uint8_t page_marks(const uint8_t *marks, const struct buffer *pool, uint64_t page) {
    uint8_t any = 0;
    for (uint64_t at = page * PAGE; at < (page + 1) * PAGE; at += SECTOR)
        if (at >= pool->first && at < pool->first + pool->size)
            any |= marks[(at - pool->first) / SECTOR];
    return any;
}

static void check_pages_of_twin(const char *name, const struct predicted *predicted,
                                const uint8_t *marks, const struct buffer *pool) {
    for (uint32_t i = 0; i < predicted->count; i++) {
        const struct ff__ptx_extent *of = &predicted->accesses[i];
        if (of->never || of->kind != FF__PTX_EXACT)
            continue;
        for (uint64_t page = of->low / PAGE; page <= (of->high - 1) / PAGE; page++)
            if (!(page_marks(marks, pool, page) & TOUCHED))
                fail_msg("%s in OpenCL C: page %#llx is not accessed", name,
                         (unsigned long long)page);
    }
}

/* What is not predicted is not touched, and each page of exact intervals is. */
static void check_marks_of_twin(const char *name, const struct predicted *predicted,
                                const struct buffer *pool) {
    size_t count = (pool->size + SECTOR - 1) / SECTOR;
    uint8_t *marks = calloc(count, 1);
    assert_non_null(marks);
    mark_touched(marks, pool);
    mark_predicted(marks, pool, predicted);
    for (size_t i = 0; i < count; i++)
        if (marks[i] == TOUCHED)
            fail_msg("%s in OpenCL C: byte %zu of the pool is accessed", name, i * SECTOR);
    check_pages_of_twin(name, predicted, marks, pool);
    free(marks);
}

static unsigned twins_known, twins_unknown;

/* After the launch: OpenCL's functions for threads are those of CUDA under other names. Where the
 * kernel has another name, there is nothing to look at. */
static void check_twin(const struct ff__ptx_module *twins, const char *name,
                       const struct ff__ptx_launch *launch, const struct buffer *pool) {
    const struct ff__ptx_function *twin = NULL;
    for (uint32_t i = 0; i < twins->function_count; i++)
        if (strcmp(twins->functions[i].name, name) == 0)
            twin = &twins->functions[i];
    if (twin == NULL)
        return;
    struct predicted predicted = predict(twin, launch);
    struct tightness tightness;
    report(name, &predicted, pool, &tightness);
    check_marks_of_twin(name, &predicted, pool);
    if (is_known(&predicted))
        twins_known++;
    else
        twins_unknown++;
    free(predicted.accesses);
}

static void finds_working_sets_of_twins(void **state) {
    (void)state;
    print_message("in OpenCL C: %u launches known, %u not\n", twins_known, twins_unknown);
    assert_true(twins_known > 30);
}

static void check_kernel(struct bench *bench, const struct ff__ptx_module *module,
                         const struct ff__ptx_module *twins, const struct kernel_case *kernel) {
    struct kernel_plan plan;
    struct kernel_parameters parameters;
    struct tightness tightness;
    void *pointers[KERNEL_BUFFERS];
    kernel_plan_make(&plan, kernel, kernel->n);
    struct buffer pool = make_pool(bench, &plan, pointers);
    struct ff__ptx_launch launch = {.shared = plan.shared, .parameters = &parameters};
    launch.parameter_size = kernel_plan_parameters(&plan, pointers, &parameters);
    memcpy(launch.grid, plan.grid, sizeof launch.grid);
    memcpy(launch.block, plan.block, sizeof launch.block);
    struct predicted predicted = check_launch(bench, module, kernel->name, &launch);
    report(kernel->name, &predicted, &pool, &tightness);
    check_tight(kernel->name, &tightness);
    if (twins != NULL)
        check_twin(twins, kernel->name, &launch, &pool);
    ff_mem_free(bench->context, (void *)(uintptr_t)pool.first);
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
    /* clang lacks vload_half2() */
    bool has_twins = strcmp(topic->name, "language") != 0;
    struct ff__ptx_module *twins = has_twins ? translate(topic->name) : NULL;
    for (int i = 0; i < topic->count; i++)
        check_kernel(&bench, module, twins, &topic->cases[i]);
    ff__ptx_module_free(twins);
    ff__ptx_module_free(module);
    close_bench(&bench);
    unlink(trace);
}

/* ---- kernels made at random ---- */

enum { MODULES = 2, KERNELS = 24 };

static void check_random(struct bench *bench, const struct ff__ptx_module *module, const char *name,
                         uint32_t n, uint32_t *told) {
    struct {
        char *a;
        uint32_t n;
    } parameters = {(char *)bench->out + 4096, n};
    struct ff__ptx_launch launch = {.grid = {3, 1, 1},
                                    .block = {40, 1, 1},
                                    .parameters = &parameters,
                                    .parameter_size = sizeof parameters};
    struct predicted predicted = check_launch(bench, module, name, &launch);
    for (uint32_t i = 0; i < predicted.count; i++)
        *told += predicted.accesses[i].never ||
                 predicted.accesses[i].high - predicted.accesses[i].low < 2048;
    free(predicted.accesses);
}

static void check_module(unsigned number, uint32_t *told) {
    char path[64], trace[64], name[16];
    snprintf(path, sizeof path, "extent-%ld.ptx", (long)getpid());
    struct maker maker = {.size = KERNELS * KERNEL_TEXT, .seed = 77 + number};
    maker.text = malloc(maker.size);
    assert_non_null(maker.text);
    put(&maker, ".version 7.0\n.target sm_70\n.address_size 64\n");
    for (int i = 0; i < KERNELS; i++) {
        snprintf(name, sizeof name, "k%d", i);
        make_kernel(&maker, name);
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(maker.text, 1, maker.length, file), maker.length);
    assert_int_equal(fclose(file), 0);
    struct ff_config config = recording_config(trace, sizeof trace);
    struct bench bench =
        open_bench_as(path, 1 << 14, &config, &(struct ff__ptx_options){.record = true});
    struct ff__ptx_module *module = read_module(maker.text, maker.length);
    for (int i = 0; i < KERNELS; i++) {
        snprintf(name, sizeof name, "k%d", i);
        check_random(&bench, module, name, 5 + 50 * (uint32_t)i, told);
    }
    ff__ptx_module_free(module);
    close_bench(&bench);
    unlink(trace);
    unlink(path);
    free(maker.text);
}

static void holds_of_random_kernels(void **state) {
    uint32_t told = 0;
    (void)state;
    for (unsigned i = 0; i < MODULES + long_run_repeats(); i++)
        check_module(i, &told);
    print_message("%u accesses of random kernels are bounded to less than half\n", told);
    assert_true(told > 100);
}

int main(void) {
    struct CMUnitTest tests[TOPICS_MAX + 2] = {{0}};
    size_t count = 0;
    if (kernel_topic_count > TOPICS_MAX)
        return 1;
    for (int i = 0; i < kernel_topic_count; i++)
        tests[count++] = (struct CMUnitTest){kernel_topics[i]->name, contains_every_access, NULL,
                                             NULL, (void *)kernel_topics[i]};
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(finds_working_sets_of_twins);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(holds_of_random_kernels);
    return _cmocka_run_group_tests("extents", tests, count, NULL, NULL);
}
