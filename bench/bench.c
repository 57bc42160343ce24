/* farfault-bench: what a fault, a migration and a decision cost, beside a bound for the same
 * work.
 *
 * Every figure is the median of several runs after a warm-up, each run taken together with a run
 * of its bound; `ratio` is the median of the runs' ratios, which is what to compare between
 * machines. */
#include "bench.h"
#include "bare.h"
#include "learn.h"
#include "tables.h"

#include "base/clock.h"
#include "base/random.h"
#include "policy/registry.h"
#include "space/space.h"

#include <argp.h>
#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct {
    const char *output, *only;
    int runs;
    json_t *results;
} bench = {.runs = 9};

/* ---- reporting ---- */

int bench_runs(void) {
    return bench.runs;
}

void report(const char *name, const char *unit, const struct series *series) {
    double value = median(series->value, series->count),
           bound = median(series->bound, series->count);
    double ratio = series_ratio(series);
    printf("%-22s %10.3f %-5s  bound %10.3f  ratio %6.3f  (%.3f .. %.3f, %d runs)\n", name, value,
           unit, bound, ratio, smallest(series->value, series->count),
           largest(series->value, series->count), series->count);
    fflush(stdout);
    json_array_append_new(bench.results,
                          json_pack("{s:s, s:f, s:s, s:f, s:f, s:f, s:f, s:i}", "name", name,
                                    "value", value, "unit", unit, "bound", bound, "ratio", ratio,
                                    "min", smallest(series->value, series->count), "max",
                                    largest(series->value, series->count), "runs", series->count));
}

struct ff_context *open_context(const char *system, uint64_t memory, enum ff_handler handler) {
    struct ff_config config;
    struct ff_context *context;
    struct ff_error error;
    ff_config_init(&config);
    config.system = system;
    config.memory = memory;
    config.handler = handler;
    config.address_space = UINT64_C(16) << 30;
    if (ff_open(&config, &context, &error)) {
        fprintf(stderr, "farfault-bench: %s\n", error.message);
        exit(1);
    }
    return context;
}

char *alloc_managed(struct ff_context *context, size_t size) {
    void *pointer = NULL;
    if (ff_mem_alloc(context, size, &pointer)) {
        fprintf(stderr, "farfault-bench: cannot allocate %zu bytes\n", size);
        exit(1);
    }
    return pointer;
}

double seconds_since(uint64_t start) {
    return (double)(ff__clock_ns() - start) * 1e-9;
}

/* ---- single pages that leave ---- */

static void *compute(void *stop) {
    while (!__atomic_load_n((bool *)stop, __ATOMIC_RELAXED))
        ;
    return NULL;
}

/* Every third page comes; microseconds in which those of a block leave. */
static double evict_apart(struct ff_context *context, char *data, size_t size) {
    for (size_t at = 0; at < size; at += 3 * FF_PAGE_SIZE)
        data[at]++;
    uint64_t start = ff__clock_ns();
    ff_mem_hint(context, data, size, FF_HINT_EVICT, 0);
    return seconds_since(start) * 1e6 / (double)(size / FF_BLOCK_SIZE);
}

/* Memory that kernels alone use beside other memory, whose pages leave by moves, while another
 * thread computes. */
static void bench_apart(void) {
    size_t size = 64 * MB;
    struct ff_context *context = open_context("demand", 2 * size, FF_HANDLER_KERNELS);
    char *other = alloc_managed(context, size);
    void *data = NULL;
    bool stop = false;
    pthread_t computing;
    if (ff_mem_alloc_for_kernels(context, size, &data) ||
        pthread_create(&computing, NULL, compute, &stop)) {
        fprintf(stderr, "farfault-bench: no memory for kernels, or no thread\n");
        exit(1);
    }
    struct series leaving = {.count = 0};
    for (int run = -1; run < bench.runs; run++) {
        double by_moves = evict_apart(context, other, size);
        double at_once = evict_apart(context, data, size);
        if (run >= 0)
            series_add(&leaving, at_once, by_moves);
    }
    report("migrate.apart", "us", &leaving);
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    pthread_join(computing, NULL);
    ff_close(context);
}

/* ---- bulk migration ---- */

/* Prefetches everything to the device and waits until it is there. */
static double bring_in(struct ff_context *context, const char *data, size_t size) {
    struct ff_stats stats;
    ff_stats_read(context, &stats);
    uint64_t target = stats.pages_in + size / FF_PAGE_SIZE, start = ff__clock_ns();
    ff_mem_prefetch(context, data, size, 0);
    do {
        usleep(200); /* looking costs the lock that migration needs */
        ff_stats_read(context, &stats);
    } while (stats.pages_in < target);
    return seconds_since(start);
}

static void bench_migration(void) {
    size_t size = 512 * MB;
    struct ff_context *context = open_context("nvidia-1", size + 8 * MB, FF_HANDLER_ADAPTIVE);
    char *data = alloc_managed(context, size);
    memset(data, 1, size);
    ff_mem_hint(context, data, size, FF_HINT_EVICT, 0);
    struct series in = {.count = 0}, in_copy = {.count = 0}, out = {.count = 0};
    double gb = (double)size / 1e9;
    for (int run = -1; run < bench.runs; run++) {
        double plain_memcpy = memcpy_seconds(size), plain_copy;
        int status = bare_copy_seconds(size, FF_BLOCK_SIZE, &plain_copy);
        if (status) {
            fprintf(stderr, "farfault-bench: UFFDIO_COPY: %s\n", strerror(-status));
            exit(1);
        }
        double seconds_in = bring_in(context, data, size);
        for (size_t i = 0; i < size; i += FF_PAGE_SIZE)
            data[i]++;
        uint64_t start = ff__clock_ns();
        ff_mem_hint(context, data, size, FF_HINT_EVICT, 0);
        double seconds_out = seconds_since(start);
        if (run < 0)
            continue;
        series_add(&in, gb / seconds_in, gb / plain_memcpy);
        series_add(&in_copy, gb / seconds_in, gb / plain_copy);
        series_add(&out, gb / seconds_out, gb / plain_memcpy);
    }
    report("migrate.in", "GB/s", &in);
    report("migrate.in.uffdio_copy", "GB/s", &in_copy);
    report("migrate.out", "GB/s", &out);
    ff_close(context);
    bench_apart();
}

/* ---- a cyclic scan over too little memory ---- */

struct scan {
    const char *data;
    uint64_t sum;
};

static void scan_kernel(const struct ff_work *work, void *arguments) {
    struct scan *scan = *(struct scan **)arguments;
    uint64_t sum = 0;
    for (size_t i = work->first; i < work->end; i++)
        sum += (unsigned char)scan->data[i * 64];
    __atomic_fetch_add(&scan->sum, sum, __ATOMIC_RELAXED);
}

static double scan_seconds(struct ff_stream *stream, struct scan *scan, size_t size) {
    struct ff_launch launch = {.name = "scan",
                               .kernel = scan_kernel,
                               .grid = size / 64,
                               .chunk = FF_BLOCK_SIZE / 64,
                               .arguments = &scan,
                               .argument_size = sizeof scan};
    uint64_t start = ff__clock_ns();
    ff_kernel_launch(stream, &launch);
    ff_stream_synchronize(stream);
    return seconds_since(start);
}

static void scan_under(const char *system, const char *name) {
    size_t size = 256 * MB;
    struct series series = {.count = 0};
    for (int run = -1; run < bench.runs; run++) {
        struct ff_context *context = open_context(system, 170 * MB, FF_HANDLER_ADAPTIVE);
        struct ff_stream *stream;
        struct scan scan = {.data = alloc_managed(context, size)};
        memset((char *)(uintptr_t)scan.data, 1, size);
        if (ff_stream_create(context, 0, &stream))
            exit(1);
        double third = 0;
        for (int pass = 0; pass < 3; pass++)
            third = scan_seconds(stream, &scan, size);
        double bound = memcpy_seconds(size), gb = (double)size / 1e9;
        if (run >= 0)
            series_add(&series, gb / third, gb / bound);
        ff_stream_destroy(stream);
        ff_close(context);
    }
    report(name, "GB/s", &series);
}

static void bench_scan(void) {
    scan_under("nvidia-1", "scan.cyclic");
    scan_under("keep", "scan.cyclic.keep");
    scan_under("auto", "scan.cyclic.auto");
}

/* ---- overhead when everything fits ---- */

struct triad {
    double *a;
    const double *b, *c;
};

static void triad_kernel(const struct ff_work *work, void *arguments) {
    const struct triad *t = arguments;
    for (size_t i = work->first; i < work->end; i++)
        t->a[i] = t->b[i] + 3.0 * t->c[i];
}

/* The same C kernel on managed and on ordinary memory, several launches after the data is
 * resident. */
static double triad_seconds(struct ff_stream *stream, struct triad triad, size_t n) {
    struct ff_launch launch = {.name = "triad",
                               .kernel = triad_kernel,
                               .grid = n,
                               .arguments = &triad,
                               .argument_size = sizeof triad};
    ff_kernel_launch(stream, &launch);
    ff_stream_synchronize(stream);
    uint64_t start = ff__clock_ns();
    for (int i = 0; i < 8; i++)
        ff_kernel_launch(stream, &launch);
    ff_stream_synchronize(stream);
    return seconds_since(start);
}

static double *ordinary(size_t size) {
    double *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        exit(1);
    madvise(p, size, MADV_HUGEPAGE);
    memset(p, 1, size);
    return p;
}

static void bench_resident(void) {
    size_t size = 64 * MB, n = size / sizeof(double);
    struct ff_context *context = open_context("nvidia-1", 3 * size + 8 * MB, FF_HANDLER_ADAPTIVE);
    struct ff_stream *stream;
    if (ff_stream_create(context, 0, &stream))
        exit(1);
    double *m[3], *o[3];
    for (int i = 0; i < 3; i++) {
        m[i] = (double *)(void *)alloc_managed(context, size);
        memset(m[i], 1, size);
        o[i] = ordinary(size);
    }
    struct series series = {.count = 0};
    for (int run = -1; run < bench.runs; run++) {
        double bound = triad_seconds(stream, (struct triad){o[0], o[1], o[2]}, n);
        double ours = triad_seconds(stream, (struct triad){m[0], m[1], m[2]}, n);
        if (run >= 0)
            series_add(&series, ours * 1e3, bound * 1e3);
    }
    report("overhead.resident", "ms", &series);
    for (int i = 0; i < 3; i++)
        munmap(o[i], size);
    ff_stream_destroy(stream);
    ff_close(context);
}

/* ---- a policy's decision ---- */

#define DECISION_BLOCKS 64
#define DECISIONS       200000

/* Nanoseconds for one on_fault of a system's prefetch policy on random residency; the bound is
 * the same call of the policy that does nothing. */
static double decision_ns(const char *spec) {
    struct ff__system system;
    if (ff__system_parse(spec, &system, NULL))
        exit(1);
    const struct ff_prefetch_policy *policy = (const void *)system.policy[FF__PREFETCH];
    static struct ff_block blocks[DECISION_BLOCKS];
    size_t facts_size = ff__facts_size(2);
    unsigned char *facts = aligned_alloc(64, DECISION_BLOCKS * facts_size);
    struct ff_view view = {.tier_count = 2,
                           .block_limit = DECISION_BLOCKS,
                           .blocks = blocks,
                           .facts = facts,
                           .facts_size = facts_size};
    struct ff__random random = ff__random_seeded(1);
    memset(facts, 0, DECISION_BLOCKS * facts_size);
    for (uint32_t i = 0; i < DECISION_BLOCKS; i++) {
        struct ff_facts *of_block = (void *)(facts + i * facts_size);
        blocks[i].page_count = FF_BLOCK_PAGES;
        ff_mask_set_run(&of_block->tier[1].resident, 0, ff__random_below(&random, 16) * 16);
    }
    void *state = calloc(1, policy->base.state_size + 1);
    void *block_state =
        aligned_alloc(64, (policy->base.block_state_size * DECISION_BLOCKS + 127) / 64 * 64);
    memset(block_state, 0, policy->base.block_state_size * DECISION_BLOCKS);
    struct ff_policy_env env = {.tier_count = 2,
                                .tier = FF_NONE,
                                .block_limit = DECISION_BLOCKS,
                                .block_state = block_state,
                                .seed = 1,
                                .params = system.params[FF__PREFETCH]};
    if (policy->base.init && policy->base.init(state, &env))
        exit(1);
    uint64_t used = 0, start = ff__clock_ns();
    for (uint32_t i = 0; i < DECISIONS; i++) {
        struct ff_fault_group group = {.block = i % DECISION_BLOCKS, .tier = 1, .launch = FF_NONE};
        ff_mask_set(&group.faulted, 256 + ff__random_below(&random, 256));
        struct ff_fault_advice advice = {0};
        if (policy->on_fault)
            policy->on_fault(state, &view, &group, &advice);
        used += advice.prefetch.word[7];
    }
    double ns = (double)(ff__clock_ns() - start) / DECISIONS;
    if (used == 1) /* keeps the loop */
        puts("");
    free(state);
    free(block_state);
    free(facts);
    return ns;
}

static void bench_decision(void) {
    struct series series = {.count = 0};
    for (int run = -1; run < bench.runs; run++) {
        double bound = decision_ns("demand"), ours = decision_ns("nvidia");
        if (run >= 0)
            series_add(&series, ours, bound);
    }
    report("policy.decision", "ns", &series);
}

/* ---- correlation tables ---- */

static void bench_tables(void) {
    struct series lookup = {.count = 0}, update = {.count = 0};
    struct tables_bench *tables = tables_bench_open();
    if (!tables) {
        fprintf(stderr, "farfault-bench: no memory for tables\n");
        exit(1);
    }
    for (int run = -1; run < bench.runs; run++) {
        double floor_lookup, floor_update;
        double ns_lookup = tables_lookup_ns(tables, &floor_lookup);
        double ns_update = tables_update_ns(tables, &floor_update);
        if (run < 0)
            continue;
        series_add(&lookup, ns_lookup, floor_lookup);
        series_add(&update, ns_update, floor_update);
    }
    tables_bench_close(tables);
    report("policy.correlation.lookup", "ns", &lookup);
    report("policy.correlation.update", "ns", &update);
}

static void bench_policy(void) {
    bench_decision();
    bench_tables();
}

/* ---- the learned prefetcher ---- */

static void bench_code(const char *code, const char *name, const char *slow_name) {
    struct series median_of = {.count = 0}, slow = {.count = 0};
    for (int run = -1; run < bench.runs; run++) {
        struct predict_cost cost;
        if (!predict_cost(code, &cost)) {
            fprintf(stderr, "farfault-bench: no memory\n");
            exit(1);
        }
        if (run < 0)
            continue;
        series_add(&median_of, cost.median, cost.bound);
        series_add(&slow, cost.slow, cost.bound);
    }
    report(name, "ns", &median_of);
    report(slow_name, "ns", &slow);
}

static void bench_context(void) {
    struct series row = {.count = 0}, single = {.count = 0}, teach = {.count = 0};
    for (int run = -1; run < bench.runs; run++) {
        struct context_cost cost;
        if (!context_cost(&cost)) {
            fprintf(stderr, "farfault-bench: no memory\n");
            exit(1);
        }
        if (run < 0)
            continue;
        series_add(&row, cost.row, cost.clock);
        series_add(&single, cost.single, cost.clock);
        series_add(&teach, cost.teach, cost.clock);
    }
    report("learn.context", "ns", &row);
    report("learn.context.single", "ns", &single);
    report("learn.context.teach", "ns", &teach);
}

/* The code for this CPU, and what others would get. */
static void bench_prediction(void) {
    const char *code;
    bench_context();
    bench_code(predict_code(0), "learn.predict", "learn.predict.p99");
    for (unsigned i = 1; (code = predict_code(i)); i++) {
        char name[64], slow[64];
        snprintf(name, sizeof name, "learn.predict.%s", code);
        snprintf(slow, sizeof slow, "learn.predict.%s.p99", code);
        bench_code(code, name, slow);
    }
}

/* ---- the command line ---- */

static const struct {
    const char *name;
    void (*run)(void);
    bool only; /* when asked for by name */
} groups[] = {
    {"fault", bench_faults, false},      {"fault.parallel", bench_parallel_faults, false},
    {"migrate", bench_migration, false}, {"scan", bench_scan, false},
    {"overhead", bench_resident, false}, {"policy", bench_policy, false},
    {"learn", bench_prediction, false},  {"samples", bench_samples, false},
    {"sim.curve", bench_curve, false},   {"sim.timing", bench_timed, false},
    {"sim.scale", bench_scale, true},    {"sim.jobs", bench_jobs, true},
};

static error_t parse_option(int key, char *argument, struct argp_state *state) {
    switch (key) {
    case 'o':
        bench.output = argument;
        return 0;
    case 'r':
        bench.runs = atoi(argument);
        if (bench.runs < 1 || bench.runs > RUNS_MAX)
            argp_error(state, "--runs must be 1 to %d", RUNS_MAX);
        return 0;
    case 'g':
        bench.only = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int main(int argc, char **argv) {
    static const struct argp_option options[] = {
        {"output", 'o', "FILE", 0, "write the results as JSON", 0},
        {"runs", 'r', "N", 0, "runs of each (default: 9)", 0},
        {"group", 'g', "NAME", 0,
         "only fault, fault.parallel, migrate, scan, overhead, policy, learn, samples, "
         "sim.curve, sim.timing, sim.scale or sim.jobs",
         0},
        {0},
    };
    static const struct argp argp = {
        options, parse_option,
        NULL,    "What faults, migrations and decisions cost, beside their bounds.",
        NULL,    NULL,
        NULL};
    argp_parse(&argp, argc, argv, 0, NULL, NULL);
    bench.results = json_array();
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++)
        if (bench.only ? strcmp(bench.only, groups[i].name) == 0 : !groups[i].only)
            groups[i].run();
    if (bench.output &&
        json_dump_file(bench.results, bench.output, JSON_INDENT(1) | JSON_REAL_PRECISION(6))) {
        fprintf(stderr, "farfault-bench: cannot write %s\n", bench.output);
        return 1;
    }
    json_decref(bench.results);
    return 0;
}
