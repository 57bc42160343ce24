/* Recorded programs touch their pages in one order: live, as a recording of touches has it; in a
 * recording of every access; and where the simulator replays that, whether its memory holds all
 * pages or not. Only the lanes of a warp may come in another order live: each runs some
 * instructions before the next lane does, where a recording has an instruction of all lanes. */
#include "ptx/bench.h"

#include "backend/sim/sim.h"
#include "kernels.h"
#include "trace/model/replay.h"
#include <unistd.h>

#define WARP     32u
#define LAUNCHES 3u
#define RANGES   8u
#define PAGES    256u /* of a range */

/* ---- programs ---- */

/* A kernel that is launched over and over with two of its buffers exchanged. */
struct program {
    const char *topic, *kernel;
    int32_t n;
    int from, to; /* the buffers */
    bool gathers; /* lanes touch pages of their own, in loops of several instructions */
};

static const struct program programs[] = {{"polybench", "convolution", 256, 0, 1, false},
                                          {"graph", "pagerank", 10000, 2, 3, true},
                                          {"polybench", "mvt_rows", 300, 1, 2, true}};

static const struct kernel_case *find_kernel(const struct program *program) {
    for (int t = 0; t < kernel_topic_count; t++)
        for (int i = 0; i < kernel_topics[t]->count; i++)
            if (strcmp(kernel_topics[t]->cases[i].name, program->kernel) == 0)
                return &kernel_topics[t]->cases[i];
    fail_msg("there is no kernel %s", program->kernel);
    return NULL;
}

/* The same threads in blocks of one warp, which the simulator runs one after the other, too. */
static void make_narrow(struct kernel_plan *plan) {
    plan->grid[0] = plan->grid[0] * plan->block[0] / WARP;
    plan->grid[1] *= plan->block[1];
    plan->block[0] = WARP;
    plan->block[1] = 1;
}

static void launch(struct bench *bench, const char *name, const struct kernel_plan *plan,
                   void **buffers) {
    struct ff_error error = {0};
    struct kernel_parameters parameters;
    struct ff__ptx_launch launch = {.parameters = &parameters};
    launch.parameter_size = kernel_plan_parameters(plan, buffers, &parameters);
    memcpy(launch.grid, plan->grid, sizeof launch.grid);
    memcpy(launch.block, plan->block, sizeof launch.block);
    if (run_launch(bench, name, &launch, &error) != 0)
        fail_msg("%s: %s", name, error.message);
}

static void run(const struct program *program, const struct ff_config *config) {
    char path[4096];
    struct kernel_plan plan;
    void *buffers[KERNEL_BUFFERS];
    snprintf(path, sizeof path, "%s/%s.ptx", KERNELS_PTX, program->topic);
    struct bench bench = open_bench_as(path, 1, config, &(struct ff__ptx_options){.record = true});
    kernel_plan_make(&plan, find_kernel(program), program->n);
    make_narrow(&plan);
    for (int i = 0; i < plan.buffer_count; i++) {
        buffers[i] = alloc(bench.context, plan.buffers[i].size);
        memcpy(buffers[i], plan.buffers[i].data, plan.buffers[i].size);
    }
    for (uint32_t i = 0; i < LAUNCHES; i++) {
        launch(&bench, program->kernel, &plan, buffers);
        void *from = buffers[program->from];
        buffers[program->from] = buffers[program->to];
        buffers[program->to] = from;
    }
    kernel_plan_free(&plan);
    close_bench(&bench);
}

/* ---- the order of pages ---- */

struct order {
    uint32_t launches, count[LAUNCHES], pages[LAUNCHES][RANGES * PAGES];
    uint32_t cta[LAUNCHES][RANGES * PAGES]; /* which touches the page first */
    bool runs, seen[RANGES * PAGES];        /* the present launch */
};

static void note(void *self, const struct ff_trace_event *event, const struct ff_access *seen) {
    struct order *order = self;
    (void)seen;
    if (event->kind == FF_TRACE_LAUNCH) {
        assert_true(order->launches < LAUNCHES);
        order->launches++;
        memset(order->seen, 0, sizeof order->seen);
    }
    if (event->kind == FF_TRACE_LAUNCH || event->kind == FF_TRACE_LAUNCH_END)
        order->runs = event->kind == FF_TRACE_LAUNCH;
    if (event->kind != FF_TRACE_ACCESS || !order->runs) /* the program's own */
        return;
    assert_true(event->range < RANGES && event->page < PAGES);
    uint32_t page = event->range * PAGES + (uint32_t)event->page, launch = order->launches - 1;
    if (order->seen[page])
        return;
    order->seen[page] = true;
    order->cta[launch][order->count[launch]] = event->cta;
    order->pages[launch][order->count[launch]++] = page;
}

static void read_order(const char *path, struct order *order) {
    struct ff_trace_reader *reader;
    struct ff_trace_event event;
    struct ff_error error = {0};
    memset(order, 0, sizeof *order);
    if (ff_trace_open(path, &reader, NULL, &error) != 0)
        fail_msg("%s", error.message);
    while (ff_trace_read(reader, &event, &error) == 1)
        note(order, &event, NULL);
    ff_trace_close(reader);
    assert_int_equal(order->launches, LAUNCHES);
}

static void simulate(const char *path, uint64_t memory, struct order *order) {
    struct ff__gpu gpu;
    struct ff__workload *workload = NULL;
    struct ff__sim_result result;
    struct ff_error error = {0};
    struct ff__sim_config config = {
        .gpu = &gpu, .memory = memory, .devices = 1, .observe = note, .observer = order};
    memset(order, 0, sizeof *order);
    if (ff__gpu_read_spec("v100-16g:sms=1,warps_per_sm=1,ctas_per_sm=1,granule=4096", GPU_FOLDER,
                          &gpu, &error) != 0 ||
        ff__system_parse("demand", &config.system, &error) != 0 ||
        ff__trace_workload(path, &workload, &error) != 0 ||
        ff__sim_run(&config, workload, &result, &error) != 0)
        fail_msg("%s", error.message);
    assert_true(memory == 0 || result.pages_out > 0);
    ff__workload_close(workload);
}

static void assert_same(const struct program *program, const char *what, const struct order *want,
                        const struct order *got) {
    for (uint32_t launch = 0; launch < LAUNCHES; launch++)
        for (uint32_t i = 0; i < want->count[launch]; i++)
            if (want->pages[launch][i] != got->pages[launch][i])
                fail_msg("%s, launch %u, %s: page %u of range %u comes %uth instead of page %u of "
                         "range %u",
                         program->kernel, launch, what, got->pages[launch][i] % PAGES,
                         got->pages[launch][i] / PAGES, i, want->pages[launch][i] % PAGES,
                         want->pages[launch][i] / PAGES);
    assert_memory_equal(want->count, got->count, sizeof want->count);
}

static int ascending(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Sorts what each warp, which is a block, touches first, in both orders. */
static void sort_warps(struct order *recorded, struct order *live) {
    for (uint32_t launch = 0; launch < LAUNCHES; launch++)
        for (uint32_t i = 0, end; i < recorded->count[launch]; i = end) {
            for (end = i + 1; end < recorded->count[launch] &&
                              recorded->cta[launch][end] == recorded->cta[launch][i];)
                end++;
            qsort(&recorded->pages[launch][i], end - i, sizeof(uint32_t), ascending);
            qsort(&live->pages[launch][i], end - i, sizeof(uint32_t), ascending);
        }
}

static void has_one_order(void **state) {
    const struct program *program = *state;
    static struct order live, recorded, replayed;
    char path[64];
    snprintf(path, sizeof path, "replay-%ld.trace", (long)getpid());
    struct ff_config config = standard_config(32 << 20);
    config.record = path;
    config.workers = 1;
    config.system = "demand";
    config.handler = FF_HANDLER_SIGBUS;
    config.touches = true;
    run(program, &config);
    read_order(path, &live);
    config.touches = false;
    config.accesses = true;
    run(program, &config);
    read_order(path, &recorded);
    simulate(path, 0, &replayed);
    assert_same(program, "replayed", &recorded, &replayed);
    simulate(path, 64 << 10, &replayed);
    assert_same(program, "replayed with little memory", &recorded, &replayed);
    if (program->gathers)
        sort_warps(&recorded, &live);
    assert_same(program, "recorded", &live, &recorded);
    unlink(path);
}

int main(void) {
    enum { COUNT = sizeof programs / sizeof *programs };
    struct CMUnitTest tests[COUNT];
    for (int i = 0; i < COUNT; i++)
        tests[i] = (struct CMUnitTest){programs[i].kernel, has_one_order, NULL, NULL,
                                       (void *)(uintptr_t)&programs[i]};
    return _cmocka_run_group_tests("replay", tests, COUNT, NULL, NULL);
}
