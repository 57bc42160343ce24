/* The simulator and the software device decide the same: one program with one thread, the same
 * budget, and the same faults, evictions and migrations, page for page, in the same order.
 *
 * Where it must be so: the policies see faults alone. Those that watch accesses see them in the
 * simulator, and arrivals only on the software device, which cannot show more; they decide by what
 * they see. Thrashing detection goes by the clock: pages that come back within a lapse are
 * throttled or pinned, and real and modelled time are not the same. It is on here wherever time
 * cannot matter: in programs that bring no page more than twice, and with a lapse too short for
 * anything to thrash.
 *
 * Use from the host: a page that is touched is mapped there for a time, which is waited for, and
 * counts as so many accesses, which the simulator's warp makes, and rests then. So both see as much
 * use of each page. */
#include "sim/touch.h"

#include "runtime/fixture.h"
#include "trace/fixture.h"

#include "backend/sim/sim.h"
#include "engine/internal.h"
#include "runtime/context.h"

#define BUDGET     (UINT64_C(8) << 20)
#define ARRAYS     4u
#define LENGTH_MAX 9600u
#define EVENTS_MAX 65536u
#define RUNS_MAX   5

/* Whole blocks, blocks with a piece missing, ranges that share a chunk: half as much again as fits.
 */
static const uint32_t array_pages[ARRAYS] = {1283, 1792, 25, 60};
#define PAGES  (1283u + 1792u + 25u + 60u)
#define BLOCKS 9u

struct touched {
    uint32_t array, page;
    bool write;
};

struct program {
    struct touched touches[LENGTH_MAX];
    uint32_t length;
    uint32_t accesses; /* of a touch */
};

struct log {
    struct ff_trace_event events[EVENTS_MAX];
    uint32_t count;
    uint64_t remote; /* touches of pages that are used from the host */
    bool tells_writes;
};

/* ---- programs ---- */

static struct touched at(uint64_t page, bool write) {
    uint32_t array = 0;
    for (; page >= array_pages[array]; array++)
        page -= array_pages[array];
    return (struct touched){array, (uint32_t)page, write};
}

static void add(struct program *program, uint64_t page) {
    uint32_t i = program->length++;
    program->touches[i] = at(page % PAGES, (page * 2654435761u >> 7) % 3 == 0);
}

static void draw_sequence(struct program *program, uint32_t passes, uint32_t stride) {
    program->length = 0;
    for (uint32_t pass = 0; pass < passes; pass++)
        for (uint32_t page = pass % stride; page < PAGES; page += stride)
            add(program, page);
}

static void draw_random(struct program *program, uint64_t seed, uint32_t length) {
    struct ff__random random = ff__random_seeded(seed);
    program->length = 0;
    while (program->length < length)
        add(program, ff__random_below(&random, PAGES));
}

static void draw_mixed(struct program *program, uint64_t seed, uint32_t length) {
    static uint64_t order[LENGTH_MAX];
    struct ff__random random = ff__random_seeded(seed);
    touch_draw(&random, order, length, PAGES);
    program->length = 0;
    for (uint32_t i = 0; i < length; i++)
        add(program, order[i]);
}

/* ---- what happened ---- */

/* Faults and what moved. */
static void note(void *self, const struct ff_trace_event *event, const struct ff_access *seen) {
    struct log *log = self;
    (void)seen;
    if (event->kind != FF_TRACE_FAULT && event->kind != FF_TRACE_MIGRATE &&
        event->kind != FF_TRACE_EVICT)
        return;
    assert_true(log->count < EVENTS_MAX);
    log->events[log->count++] = *event;
}

static bool is_same(const struct log *a, uint32_t i, const struct log *b, uint32_t j) {
    const struct ff_trace_event *x = &a->events[i], *y = &b->events[j];
    if (x->kind != y->kind || x->range != y->range || x->page != y->page)
        return false;
    if (x->kind == FF_TRACE_FAULT)
        return !a->tells_writes || !b->tells_writes || x->write == y->write;
    return x->pages == y->pages;
}

static uint32_t count_of(const struct log *log, enum ff_trace_kind kind) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < log->count; i++)
        count += log->events[i].kind == kind;
    return count;
}

static uint64_t pages_of(const struct log *log, enum ff_trace_kind kind) {
    uint64_t pages = 0;
    for (uint32_t i = 0; i < log->count; i++)
        pages += log->events[i].kind == kind ? log->events[i].pages : 0;
    return pages;
}

/* The next one of a kind; the log's end if there is none. */
static uint32_t next_of(const struct log *log, uint32_t i, enum ff_trace_kind kind) {
    while (i < log->count && log->events[i].kind != kind)
        i++;
    return i;
}

static void print_event(const char *where, const struct log *log, uint32_t i) {
    static const char *const kinds[FF_TRACE_KINDS] = {
        [FF_TRACE_FAULT] = "fault", [FF_TRACE_MIGRATE] = "in", [FF_TRACE_EVICT] = "out"};
    const struct ff_trace_event *event = &log->events[i];
    if (i < log->count)
        print_message("  %s, event %u: %s of range %u, page %llu, %llu pages\n", where, i,
                      kinds[event->kind], event->range, (unsigned long long)event->page,
                      (unsigned long long)event->pages);
}

static bool is_same_kind(const struct log *soft, const struct log *sim, enum ff_trace_kind kind) {
    uint32_t i = next_of(soft, 0, kind), j = next_of(sim, 0, kind);
    while (i < soft->count && j < sim->count && is_same(soft, i, sim, j)) {
        i = next_of(soft, i + 1, kind);
        j = next_of(sim, j + 1, kind);
    }
    print_event("software device", soft, i);
    print_event("simulator", sim, j);
    return i == soft->count && j == sim->count;
}

/* ---- on the software device ---- */

/* Two threads may take faults. A program that goes on as soon as its page is there can meet the
 * second before the first has finished, and then two blocks may swap in the order of migration.
 * Nor is what a policy has asked for under way before. */
static bool is_idle(const struct ff_context *context) {
    for (uint32_t block = 0; block < BLOCKS; block++)
        if (ff__facts(context->space, block)->busy)
            return false;
    return ff__queue_empty(&context->pipeline.prefetches);
}

/* `unmapped`: and until nothing is mapped, so that the next touch of what is counts. */
static void wait_until_idle(struct ff_context *context, bool unmapped) {
    struct ff__pipeline *pipeline = &context->pipeline;
    for (bool busy = true; busy;) {
        ff__lock_acquire(&pipeline->lock);
        bool mapped = unmapped && ff__engine_mapped_until(pipeline->engine) != UINT64_MAX;
        busy = mapped || !is_idle(context);
        ff__lock_release(&pipeline->lock);
        if (mapped)
            usleep(200);
    }
}

static void touch_all(struct ff_context *context, const struct program *program,
                      volatile unsigned char *const arrays[ARRAYS]) {
    bool waits = context->config.handler != FF_HANDLER_SIGBUS;
    unsigned sum = 0;
    for (uint32_t i = 0; i < program->length; i++) {
        const struct touched *touched = &program->touches[i];
        volatile unsigned char *byte =
            &arrays[touched->array][(size_t)touched->page * FF_PAGE_SIZE];
        if (touched->write)
            *byte = (unsigned char)i;
        else
            sum += *byte;
        if (waits)
            wait_until_idle(context, program->accesses == FF__MAPPED_ACCESSES);
    }
    (void)sum;
}

static void read_log(const char *path, struct log *log) {
    struct ff_trace_reader *reader;
    struct ff_trace_event event;
    struct ff_error error;
    int status = ff_trace_open(path, &reader, NULL, &error);
    while (!status && (status = ff_trace_read(reader, &event, &error)) > 0) {
        note(log, &event, NULL);
        status = 0;
    }
    if (status)
        fail_msg("%s", error.message);
    ff_trace_close(reader);
}

/* Returns whether moves were refused: what is recorded as moving, and as back afterwards, never
 * arrived. */
static bool play_soft(const struct program *program, struct ff_config config, struct log *log) {
    volatile unsigned char *arrays[ARRAYS];
    config.record = in_folder("soft");
    unlink(config.record);
    struct ff_context *context = open_or_skip(&config);
    for (uint32_t i = 0; i < ARRAYS; i++)
        arrays[i] = alloc(context, array_pages[i] * (size_t)FF_PAGE_SIZE);
    touch_all(context, program, arrays);
    struct ff_stats stats;
    ff_stats_read(context, &stats);
    ff_close(context); /* only now the last page's coming is recorded for sure */
    log->count = 0;
    log->remote = stats.pages_mapped;
    log->tells_writes = config.handler != FF_HANDLER_SIGBUS;
    read_log(config.record, log);
    uint64_t served = stats.faults + stats.pages_mapped;
    if (stats.pages_mapped == 0)
        assert_int_equal(count_of(log, FF_TRACE_FAULT), served);
    bool refused = pages_of(log, FF_TRACE_MIGRATE) != stats.populated + stats.pages_in ||
                   count_of(log, FF_TRACE_FAULT) != served;
    assert_true(refused || stats.advice_dropped == 0);
    return refused;
}

/* Other work on the machine can make Linux refuse a move, of a page that it holds itself just then.
 * Another block leaves instead, and the simulator does not know of it: the program runs again,
 * until no move was refused. */
static void play_undisturbed(const struct program *program, const struct ff_config *config,
                             struct log *log) {
    for (int run = 0; play_soft(program, *config, log) && run < RUNS_MAX; run++)
        print_message("  moves were refused, the program runs again\n");
}

/* ---- in the simulator ---- */

/* Every touch is two steps or more: a warp goes on past a store, but waits for the load of the same
 * page. Before a touch that is many it rests for as long as what they lead to takes. */
static bool play_step(const struct ff__workload *workload, const struct ff__kernel *kernel,
                      uint32_t cta, uint32_t warp, uint32_t index, struct ff__step *out) {
    const struct program *program = workload->data;
    (void)kernel, (void)cta, (void)warp;
    uint32_t steps = program->accesses;
    if (index / steps >= program->length)
        return false;
    const struct touched *touched = &program->touches[index / steps];
    *out = (struct ff__step){.instructions = 10, .pc = 8, .sectors = 1, .page_count = 1};
    if (steps == FF__MAPPED_ACCESSES && index % steps == 0)
        out->instructions = 1000000;
    out->write = touched->write && index % steps == 0;
    out->page[0] = workload->arrays[touched->array].first_page + touched->page;
    return true;
}

static bool play_action(const struct ff__workload *workload, uint64_t index,
                        struct ff__action *out) {
    (void)workload;
    *out = (struct ff__action){.kind = FF__ACTION_ALLOCATE, .array = (uint32_t)index};
    if (index == ARRAYS) {
        out->kind = FF__ACTION_LAUNCH;
        out->kernel =
            (struct ff__kernel){.name = "program", .ctas = 1, .warps = 1, .step = play_step};
    }
    return index <= ARRAYS;
}

static void play_sim(const struct program *program, const char *system, struct log *log) {
    static const struct ff__workload_type type = {
        .name = "program", .summary = "one thread", .action = play_action};
    static struct ff__gpu gpu;
    struct ff__array arrays[ARRAYS] = {{.bytes = 0}};
    for (uint32_t i = 0; i < ARRAYS; i++)
        arrays[i].bytes = array_pages[i] * (uint64_t)FF_PAGE_SIZE;
    struct ff__workload workload = {
        .type = &type, .arrays = arrays, .array_count = ARRAYS, .data = (void *)(uintptr_t)program};
    struct ff_error error = {""};
    struct ff__sim_result result;
    struct ff__sim_config config = {.gpu = &gpu,
                                    .memory = BUDGET,
                                    .devices = 1,
                                    .seed = 1,
                                    .check = true,
                                    .observe = note,
                                    .observer = log};
    log->count = 0;
    log->tells_writes = true;
    if (ff__gpu_read("v100-16g", GPU_FOLDER, &gpu, &error) ||
        ff__system_parse(system, &config.system, &error) ||
        ff__sim_run(&config, &workload, &result, &error))
        fail_msg("%s: %s", system, error.message);
    if (result.remote == 0) /* a fault that led to use from the host is none afterwards */
        assert_int_equal(count_of(log, FF_TRACE_FAULT), result.faults);
    log->remote = result.remote / program->accesses;
}

/* ---- both ---- */

static struct log soft_log, sim_log;

static void check_kind(const char *system, const char *what, enum ff_trace_kind kind) {
    if (!is_same_kind(&soft_log, &sim_log, kind))
        fail_msg("%s, %s: %u faults on the software device, %u in the simulator", system, what,
                 count_of(&soft_log, FF_TRACE_FAULT), count_of(&sim_log, FF_TRACE_FAULT));
}

static void check_with(const struct program *program, const struct ff_config *config,
                       const char *what) {
    play_undisturbed(program, config, &soft_log);
    play_sim(program, config->system, &sim_log);
    check_kind(config->system, what, FF_TRACE_FAULT);
    check_kind(config->system, what, FF_TRACE_EVICT);
    check_kind(config->system, what, FF_TRACE_MIGRATE);
}

/* A thread that serves its own faults does one thing after the other. */
static void check(const struct program *program, const char *system, const char *what) {
    struct ff_config config = standard_config(BUDGET);
    config.system = system;
    config.handler = FF_HANDLER_SIGBUS;
    check_with(program, &config, what);
}

/* The three systems, then the other policies that see faults alone. */
static const char *const timeless[] = {
    "demand",
    "nvidia:thrashing=0",
    "nvidia:thrash_lapse=1us",
    "nvidia-1:thrashing=0",
    "nvidia-1:thrash_lapse=1us",
    "demand:prefetch=sequential",
    "demand:prefetch=tree-half",
    "demand:prefetch=random",
};
#define TIMELESS (SANITIZED ? 4 : sizeof timeless / sizeof timeless[0])

static struct program program = {.accesses = 2};

static void test_sequential(void **state) {
    (void)state;
    draw_sequence(&program, 1, 1);
    for (unsigned i = 0; i < TIMELESS; i++)
        check(&program, timeless[i], "in turn");
}

static void test_strided(void **state) {
    (void)state;
    static const uint32_t strides[] = {7, 16, 33, 512};
    for (unsigned i = 0; i < TIMELESS; i++) {
        for (unsigned j = 0; j < 4; j++) {
            draw_sequence(&program, 6, strides[j]);
            check(&program, timeless[i], "strided");
        }
    }
}

static void test_cyclic(void **state) {
    (void)state;
    draw_sequence(&program, 3, 1);
    for (unsigned i = 0; i < TIMELESS; i++) {
        check(&program, timeless[i], "round and round");
        assert_true(count_of(&sim_log, FF_TRACE_EVICT) > 0);
    }
}

static void test_random(void **state) {
    (void)state;
    for (unsigned i = 0; i < TIMELESS; i++) {
        draw_random(&program, 60 + i, 1500);
        check(&program, timeless[i], "at random");
        draw_mixed(&program, 80 + i, 6000);
        check(&program, timeless[i], "mixed");
    }
}

/* With detection as it comes: no page comes a third time, so that none can thrash. */
static void test_twice(void **state) {
    (void)state;
    draw_sequence(&program, 2, 1);
    check(&program, "nvidia", "twice");
    check(&program, "nvidia-1", "twice");
}

/* However pages come and go, and whoever takes the faults. */
static void test_mechanisms(void **state) {
    (void)state;
    draw_mixed(&program, 5, 1000); /* every fault may cost two wake-ups */
    FOR_EACH_CONFIG(config, BUDGET) {
        if (strcmp(config.system, "demand") != 0)
            config.system = config.system[6] ? "nvidia-1:thrashing=0" : "nvidia:thrashing=0";
        check_with(&program, &config, "mixed");
    }
}

/* No page twice in a row. */
static void draw_apart(struct program *to, uint64_t seed, uint32_t length) {
    struct ff__random random = ff__random_seeded(seed);
    uint64_t page = 0;
    to->length = 0;
    while (to->length < length) {
        page += 1 + ff__random_below(&random, PAGES - 1);
        add(to, page);
    }
}

static bool is_fault_of(const struct log *log, uint32_t i, const struct touched *touched) {
    return i < log->count && log->events[i].range == touched->array &&
           log->events[i].page == touched->page;
}

/* What the program has done: a thread that is held up after its fault finds its page mapped no
 * more, and faults again. */
static void add_held_up(const struct program *from, const struct log *log, struct program *to) {
    uint32_t fault = next_of(log, 0, FF_TRACE_FAULT);
    to->length = 0;
    to->accesses = from->accesses;
    for (uint32_t i = 0; i < from->length; i++) {
        const struct touched *touched = &from->touches[i];
        uint32_t first = to->length;
        for (; is_fault_of(log, fault, touched); fault = next_of(log, fault + 1, FF_TRACE_FAULT)) {
            assert_true(to->length < LENGTH_MAX);
            to->touches[to->length++] = *touched;
        }
        if (to->length == first)
            to->touches[to->length++] = *touched;
    }
    assert_int_equal(fault, log->count);
}

/* What migrates, what leaves, and how often pages are used from the host. A mapping that has ended
 * is a fault in the software device's trace alone. */
static void check_remote(const char *system, bool some_migrate, bool counts) {
    static struct program done;
    struct ff_config config = standard_config(BUDGET);
    config.system = system;
    play_undisturbed(&program, &config, &soft_log);
    add_held_up(&program, &soft_log, &done);
    play_sim(&done, system, &sim_log);
    print_message("%s: %llu remote, %llu pages in\n", system, (unsigned long long)soft_log.remote,
                  (unsigned long long)pages_of(&soft_log, FF_TRACE_MIGRATE));
    check_kind(system, "remote", FF_TRACE_MIGRATE);
    check_kind(system, "remote", FF_TRACE_EVICT);
    if (counts)
        assert_int_equal(soft_log.remote, sim_log.remote);
    assert_true(soft_log.remote > 0);
    assert_int_equal(pages_of(&soft_log, FF_TRACE_MIGRATE) > 0, some_migrate);
}

/* Where what a policy sees of pages that have come does not matter. `uvmsmart` lets a page come
 * amid a touch's accesses, of which the simulator then counts a part as remote. `counters` is not
 * here: the simulator brings a leaf two touches later than the device, and why is not known. */
static void test_remote(void **state) {
    (void)state;
    static struct {
        const char *system;
        bool migrates, counts;
    } const systems[] = {
        {"zerocopy", false, true},
        {"uvmsmart:smart=0,before=0,after=0,remote=2,evict=lrm", true, false},
        {"ariadne:remote_for=1000s", true, true},
    };
    program.accesses = FF__MAPPED_ACCESSES;
    for (unsigned i = 0; i < sizeof systems / sizeof systems[0]; i++) {
        draw_apart(&program, 90 + i, SANITIZED ? 500 : 1500);
        check_remote(systems[i].system, systems[i].migrates, systems[i].counts);
    }
    program.accesses = 2;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sequential), cmocka_unit_test(test_strided),
        cmocka_unit_test(test_cyclic),     cmocka_unit_test(test_random),
        cmocka_unit_test(test_twice),      cmocka_unit_test(test_mechanisms),
        cmocka_unit_test(test_remote),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
