/* Miss-ratio curves: a naive twin of each size of memory misses the same accesses, under LRU and
 * under belady, on random programs with several kernels, host accesses and arrays that are freed;
 * runs of the engine miss as often. */
#include "backend/sim/curve/curve.h"
#include "backend/sim/curve/stack_distance.h"
#include "base/random.h"
#include "sim/little.h"
#include "trace/model/least.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAGES   150u
#define LENGTH  6000u
#define REMOVAL UINT32_MAX /* in place of a page; the page itself follows */

/* ---- programs of a single warp, and their twins ---- */

/* Uses of pages, and removals, in order. */
struct script {
    uint32_t items[2 * LENGTH];
    uint32_t count;
};

static void add_use(struct script *script, uint32_t page) {
    script->items[script->count++] = page;
}

static void add_removal(struct script *script, uint32_t page) {
    script->items[script->count++] = REMOVAL;
    script->items[script->count++] = page;
}

/* The next use of a page after place `at`, NONE if it is removed before, or not used again. */
#define NONE UINT32_MAX
static uint32_t next_use(const struct script *script, uint32_t at, uint32_t page) {
    for (uint32_t i = at + 1; i < script->count; i++) {
        if (script->items[i] == REMOVAL && script->items[++i] == page)
            return NONE;
        if (script->items[i] == page && script->items[i - 1] != REMOVAL)
            return i;
    }
    return NONE;
}

/* A memory of `frames` pages, in no order. */
struct twin {
    uint32_t here[PAGES + 1], key[PAGES + 1]; /* the page whose key is least leaves */
    uint32_t count, frames;
    uint64_t misses;
};

static uint32_t place_of(const struct twin *twin, uint32_t page) {
    uint32_t at = 0;
    while (at < twin->count && twin->here[at] != page)
        at++;
    return at;
}

static void take_out(struct twin *twin, uint32_t at) {
    twin->count--;
    twin->here[at] = twin->here[twin->count];
    twin->key[at] = twin->key[twin->count];
}

static void twin_use(struct twin *twin, uint32_t page, uint32_t key) {
    uint32_t at = place_of(twin, page);
    twin->misses += at == twin->count;
    if (at == twin->count && twin->count == twin->frames) {
        uint32_t least = 0;
        for (uint32_t i = 1; i < twin->count; i++)
            if (twin->key[i] < twin->key[least])
                least = i;
        take_out(twin, least);
        at = twin->count;
    }
    twin->count += at == twin->count;
    twin->here[at] = page;
    twin->key[at] = key;
}

/* Misses under LRU, or under belady with the next uses that are given. */
static uint64_t twin_misses(const struct script *script, uint32_t frames, const uint32_t *next) {
    struct twin twin = {.frames = frames};
    for (uint32_t i = 0; i < script->count; i++) {
        uint32_t page = script->items[i];
        if (page != REMOVAL)
            twin_use(&twin, page, next ? NONE - next[i] : i);
        else if (place_of(&twin, script->items[++i]) < twin.count)
            take_out(&twin, place_of(&twin, script->items[i]));
    }
    return twin.misses;
}

/* ---- the counter ---- */

static void start_stack(struct ff__stack *stack, uint64_t pages, uint32_t limit) {
    assert_int_equal(ff__stack_init(stack, pages), 0);
    if (limit)
        stack->limit = limit; /* marks are moved together often */
}

/* What the counter finds, in batches of random sizes. */
static void count_script(const struct script *script, struct ff__random *random, uint32_t limit,
                         uint64_t misses[PAGES + 2]) {
    struct ff__stack stack;
    uint32_t pages[FF__STACK_BATCH], distances[FF__STACK_BATCH], count = 0;
    start_stack(&stack, PAGES, limit);
    for (uint32_t i = 0; i <= script->count; i++) {
        bool is_end = i == script->count, removes = !is_end && script->items[i] == REMOVAL;
        if (is_end || removes || count == FF__STACK_BATCH || ff__random_below(random, 50) == 0) {
            ff__stack_use(&stack, pages, count, distances);
            count = 0;
        }
        if (removes)
            ff__stack_remove(&stack, script->items[++i]);
        else if (!is_end)
            pages[count++] = script->items[i];
    }
    for (uint32_t frames = 0; frames < PAGES + 2; frames++) {
        misses[frames] = stack.uses[0];
        for (uint32_t distance = frames + 1; distance <= PAGES; distance++)
            misses[frames] += stack.uses[distance];
    }
    ff__stack_fini(&stack);
}

static void check_script(const struct script *script, struct ff__random *random, uint32_t limit) {
    uint64_t misses[PAGES + 2];
    count_script(script, random, limit, misses);
    for (uint32_t frames = 1; frames < PAGES + 2; frames += frames < 8 ? 1 : 7) {
        assert_int_equal(misses[frames], twin_misses(script, frames, NULL));
        assert_true(misses[frames] <= misses[frames - 1]);
    }
    assert_int_equal(misses[PAGES], misses[PAGES + 1]);
}

/* Frequent pages and rare ones, the latest ones again, runs in order; and, of so many, one removal.
 */
static void draw_script(struct script *script, struct ff__random *random, uint32_t pages,
                        uint32_t removals) {
    uint32_t page = 0;
    script->count = 0;
    for (uint32_t i = 0; i < LENGTH / 4; i++) {
        uint32_t kind = ff__random_below(random, 4), limit = 1 + ff__random_below(random, pages);
        page = kind == 0 ? (page + 1) % pages : kind == 1 ? page : ff__random_below(random, limit);
        if (removals && ff__random_below(random, removals) == 0)
            add_removal(script, ff__random_below(random, pages));
        add_use(script, page);
    }
}

static void test_random(void **state) {
    static struct script script;
    static const uint32_t pages[] = {1, 2, 63, 64, 65, 101, PAGES}, removals[] = {0, 3, 40};
    (void)state;
    for (uint64_t seed = 1; seed <= scaled_cases(42, 21); seed++) {
        struct ff__random random = ff__random_seeded(seed);
        draw_script(&script, &random, pages[seed % 7], removals[seed % 3]);
        check_script(&script, &random, seed % 2 ? 0 : PAGES + FF__STACK_BATCH + 2);
    }
}

static void test_edges(void **state) {
    static struct script script;
    struct ff__random random = ff__random_seeded(1);
    (void)state;
    script.count = 0;
    check_script(&script, &random, 0); /* nothing at all */
    for (uint32_t i = 0; i < 700; i++)
        add_use(&script, 7); /* one page */
    check_script(&script, &random, 0);
    script.count = 0;
    for (uint32_t page = 0; page < PAGES; page++)
        add_use(&script, page); /* each once */
    check_script(&script, &random, 0);
    for (uint32_t page = 0; page < PAGES; page++)
        add_use(&script, page); /* LRU's worst case */
    check_script(&script, &random, 0);
    for (uint32_t page = 0; page < PAGES; page++)
        add_removal(&script, page);
    for (uint32_t page = PAGES; page-- > 0;)
        add_use(&script, page); /* all holes are filled */
    add_removal(&script, 5);
    add_removal(&script, 5); /* not there any more */
    add_use(&script, 0);
    check_script(&script, &random, 0);
}

/* As many numbers as need every level of counts. */
static void test_many(void **state) {
    enum { MANY = 300000, USES = 9 * MANY / 2 };
    struct ff__stack stack;
    uint32_t pages[FF__STACK_BATCH], distances[FF__STACK_BATCH], count, wrong = 0;
    (void)state;
    start_stack(&stack, MANY, (1 << 20) + (1 << 17));
    for (uint32_t at = 0; at < USES; at += count) {
        count = USES - at < FF__STACK_BATCH ? USES - at : FF__STACK_BATCH;
        for (uint32_t i = 0; i < count; i++)
            pages[i] = (at + i) % MANY;
        ff__stack_use(&stack, pages, count, distances);
        for (uint32_t i = 0; i < count; i++)
            wrong += distances[i] != (at + i < MANY ? 0 : MANY);
    }
    assert_int_equal(wrong, 0);
    ff__stack_fini(&stack);
    assert_int_equal(ff__stack_init(&stack, (uint64_t)FF__STACK_PAGES + 1), -EFBIG);
    ff__stack_fini(&stack);
}

/* ---- curves of programs ---- */

#define ARRAYS  3u
#define ACTIONS 60u

/* A program of kernels of one warp, each over its part of the accesses. */
struct program {
    struct ff__action actions[ACTIONS];
    uint32_t action_count;
    uint32_t accesses[LENGTH]; /* array * PAGES + page */
    uint32_t access_count;
    bool bulk;
};

static bool program_step(const struct ff__workload *workload, const struct ff__kernel *kernel,
                         uint32_t cta, uint32_t warp, uint32_t index, struct ff__step *out) {
    const struct program *program = workload->data;
    uint64_t at = kernel->argument[0] + index;
    (void)cta, (void)warp;
    *out = (struct ff__step){.instructions = 1, .page_count = 1};
    if (at < kernel->argument[1])
        out->page[0] = workload->arrays[program->accesses[at] / PAGES].first_page +
                       program->accesses[at] % PAGES;
    return at < kernel->argument[1];
}

static bool program_action(const struct ff__workload *workload, uint64_t index,
                           struct ff__action *out) {
    const struct program *program = workload->data;
    if (index < program->action_count)
        *out = program->actions[index];
    if (program->bulk && out->kind == FF__ACTION_LAUNCH)
        out->kernel.step = NULL;
    return index < program->action_count;
}

static const struct ff__workload_type program_type = {
    .name = "program", .summary = "random", .action = program_action};

static struct ff__workload workload_of(struct program *program, struct ff__array arrays[ARRAYS]) {
    static const uint64_t bytes[ARRAYS] = {1, 77 * FF_PAGE_SIZE, 12 * FF_PAGE_SIZE + 5};
    for (uint32_t i = 0; i < ARRAYS; i++)
        arrays[i] = (struct ff__array){.name = "data", .bytes = bytes[i]};
    return (struct ff__workload){.type = &program_type,
                                 .name = "program",
                                 .arrays = arrays,
                                 .array_count = ARRAYS,
                                 .data = program};
}

/* Kernels, and between them host accesses and arrays that are freed and allocated again. */
static void draw_program(struct program *program, struct ff__random *random,
                         const struct ff__array arrays[ARRAYS]) {
    *program = (struct program){0};
    for (uint32_t i = 0; i < ARRAYS; i++)
        program->actions[program->action_count++] =
            (struct ff__action){.kind = FF__ACTION_ALLOCATE, .array = i};
    while (program->action_count + 2 + ARRAYS <= ACTIONS) {
        struct ff__action *action = &program->actions[program->action_count++];
        uint32_t array = ff__random_below(random, ARRAYS), kind = ff__random_below(random, 8);
        uint64_t offset = ff__random_below(random, (uint32_t)arrays[array].bytes);
        uint64_t most = ff__random_below(random, (uint32_t)(arrays[array].bytes - offset) + 1);
        *action = (struct ff__action){.array = array, .offset = offset, .bytes = most};
        action->kind = kind == 0 ? FF__ACTION_HOST_READ : FF__ACTION_HOST_WRITE;
        if (kind == 2) {
            *action = (struct ff__action){.kind = FF__ACTION_FREE, .array = array};
            program->actions[program->action_count++] =
                (struct ff__action){.kind = FF__ACTION_ALLOCATE, .array = array};
        } else if (kind > 2) {
            action->kind = FF__ACTION_LAUNCH;
            action->kernel = (struct ff__kernel){.name = "kernel",
                                                 .identity = 1,
                                                 .ctas = 1,
                                                 .warps = 1,
                                                 .step = program_step,
                                                 .argument = {program->access_count}};
            for (uint32_t i = ff__random_below(random, 60); i > 0; i--) {
                uint32_t in = ff__random_below(random, ARRAYS);
                uint32_t pages = (uint32_t)((arrays[in].bytes + FF_PAGE_SIZE - 1) / FF_PAGE_SIZE);
                program->accesses[program->access_count++] =
                    in * PAGES + ff__random_below(random, 1 + ff__random_below(random, pages));
            }
            action->kernel.argument[1] = program->access_count;
        }
    }
    for (uint32_t i = 0; i < ARRAYS; i++)
        program->actions[program->action_count++] =
            (struct ff__action){.kind = FF__ACTION_FREE, .array = i};
}

/* The same as a script; `pages`: that it uses. */
static void write_script(const struct program *program, const struct ff__array arrays[ARRAYS],
                         bool host, struct script *script, uint64_t *pages) {
    bool used[PAGES] = {false};
    uint32_t first[ARRAYS] = {0, 1, 78};
    script->count = 0;
    *pages = 0;
    for (uint32_t i = 0; i < program->action_count; i++) {
        const struct ff__action *action = &program->actions[i];
        bool frees = action->kind == FF__ACTION_FREE;
        uint64_t bytes = frees ? arrays[action->array].bytes : action->bytes;
        for (uint64_t at = action->kernel.argument[0]; at < action->kernel.argument[1]; at++) {
            uint32_t page = first[program->accesses[at] / PAGES] + program->accesses[at] % PAGES;
            *pages += !used[page];
            used[page] = true;
            add_use(script, page);
        }
        if (action->kind == FF__ACTION_LAUNCH || action->kind == FF__ACTION_ALLOCATE ||
            (!frees && !host))
            continue;
        for (uint64_t at = action->offset / FF_PAGE_SIZE * FF_PAGE_SIZE;
             bytes > 0 && at < action->offset + bytes; at += FF_PAGE_SIZE)
            add_removal(script, first[action->array] + (uint32_t)(at / FF_PAGE_SIZE));
    }
}

static struct ff__gpu gpu_of(const char *name) {
    struct ff__gpu gpu;
    struct ff_error error = {""};
    if (ff__gpu_read_spec(name, GPU_FOLDER, &gpu, &error))
        fail_msg("%s", error.message);
    return gpu;
}

static struct ff__curve count_curve(struct ff__workload *workload, const struct ff__gpu *gpu) {
    struct ff__curve curve;
    struct ff_error error = {""};
    if (ff__curve_count(workload, gpu, true, &curve, &error))
        fail_msg("%s", error.message);
    return curve;
}

static uint64_t fewest(const struct ff__curve *curve, uint64_t frames) {
    uint64_t hits;
    assert_int_equal(ff__least_most_hits(curve->next, curve->accesses, frames, &hits), 0);
    return curve->accesses - hits;
}

static void check_program(struct ff__workload *workload, const struct program *program,
                          const struct ff__gpu *gpu) {
    static struct script script;
    static uint32_t next[2 * LENGTH];
    uint64_t pages;
    struct ff__curve curve = count_curve(workload, gpu);
    write_script(program, workload->arrays, gpu->host == FF__HOST_FAULTS, &script, &pages);
    for (uint32_t i = 0; i < script.count; i++)
        next[i] = next_use(&script, i, script.items[i]);
    assert_int_equal(curve.accesses, program->access_count);
    assert_int_equal(curve.pages, pages);
    assert_int_equal(curve.cold, twin_misses(&script, PAGES, NULL));
    assert_int_equal(ff__curve_misses(&curve, 0), curve.accesses);
    for (uint32_t frames = 1; frames <= PAGES; frames += frames < 5 ? 1 : 9) {
        uint64_t misses = ff__curve_misses(&curve, frames), least = fewest(&curve, frames);
        assert_int_equal(misses, twin_misses(&script, frames, NULL));
        assert_int_equal(least, twin_misses(&script, frames, next));
        assert_true(curve.cold <= least && least <= misses);
    }
    assert_int_equal(ff__curve_misses(&curve, UINT64_MAX), curve.cold);
    ff__curve_free(&curve);
}

static void test_programs(void **state) {
    static struct program program;
    struct ff__array arrays[ARRAYS];
    const struct ff__gpu gpus[] = {gpu_of("v100-16g"), gpu_of("gtx1080ti")};
    (void)state;
    for (uint64_t seed = 1; seed <= scaled_cases(20, 10); seed++) {
        struct ff__random random = ff__random_seeded(seed);
        struct ff__workload workload = workload_of(&program, arrays);
        draw_program(&program, &random, arrays);
        check_program(&workload, &program, &gpus[seed % 2]);
    }
}

static void test_refusals(void **state) {
    static struct program program;
    struct ff__array arrays[ARRAYS];
    struct ff__workload workload = workload_of(&program, arrays);
    struct ff__random random = ff__random_seeded(1);
    struct ff__gpu gpu = gpu_of("v100-16g");
    struct ff__curve curve;
    struct ff_error error;
    (void)state;
    draw_program(&program, &random, arrays);
    program.accesses[0] = 2 * PAGES + 13; /* the last array has 13 pages */
    assert_int_equal(ff__curve_count(&workload, &gpu, true, &curve, &error), -EINVAL);
    assert_string_equal(error.message, "a touch outside every array");
    ff__curve_free(&curve);
    program.bulk = true;
    assert_int_equal(ff__curve_count(&workload, &gpu, true, &curve, &error), -ENOTSUP);
    assert_non_null(strstr(error.message, "analytical kernels"));
    ff__curve_free(&curve);
    program.bulk = false;
    arrays[1].bytes = (uint64_t)FF__STACK_PAGES * FF_PAGE_SIZE;
    assert_int_equal(ff__curve_count(&workload, &gpu, true, &curve, &error), -EFBIG);
    assert_string_equal(error.message, "the miss-ratio curve: File too large");
    ff__curve_free(&curve);
}

/* ---- beside the engine ---- */

static uint64_t faults_of(struct ff__workload *workload, const struct ff__gpu *gpu,
                          const char *system, uint64_t pages) {
    struct ff_error error = {""};
    struct ff__sim_result result = {0};
    struct ff__sim_config config = {
        .gpu = gpu, .memory = pages * FF_PAGE_SIZE, .devices = 1, .seed = 1, .untimed = true};
    if (ff__system_parse(system, &config.system, &error) ||
        ff__sim_run(&config, workload, &result, &error))
        fail_msg("%s", error.message);
    return result.faults;
}

/* Runs under LRU of pages; and under belady, which does not know that the host will take pages
 * away. */
static void test_as_runs(void **state) {
    static const char *const workloads[] = {
        "zipf:pages=3000,accesses=20000,ctas=2,warps=3", "zipf:pages=1001,accesses=5000",
        "cyclic:pages=700,passes=3", "hotspot:n=128", "backprop:size=512K"};
    struct ff__gpu gpu = gpu_of("v100-16g:granule=4K");
    struct ff_error error = {""};
    gpu.reserve_share = gpu.reserve_most = 0; /* frames that the driver keeps free */
    (void)state;
    for (unsigned i = 0; i < 5; i++) {
        struct ff__workload *workload;
        if (ff__workload_open(workloads[i], 1, &workload, &error))
            fail_msg("%s", error.message);
        struct ff__curve curve = count_curve(workload, &gpu);
        static const uint64_t percents[] = {1, 30, 120};
        for (unsigned j = 0; j < 3; j++) {
            uint64_t pages = 1 + curve.pages * percents[j] / 100;
            assert_int_equal(ff__curve_misses(&curve, pages),
                             faults_of(workload, &gpu, "demand:evict=lru-4k", pages));
            if (i < 3)
                assert_int_equal(fewest(&curve, pages), faults_of(workload, &gpu, "belady", pages));
        }
        ff__curve_free(&curve);
        ff__workload_close(workload);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),   cmocka_unit_test(test_edges),
        cmocka_unit_test(test_many),     cmocka_unit_test(test_programs),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_as_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
