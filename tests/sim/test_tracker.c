/* The access time tracker: rounds of samples, the object table, access counters, and kernels in
 * bulk beside the same kernels warp by warp. A policy of its own arms samples and keeps what it is
 * shown. */
#include "base/cases.h"

#include "backend/sim/device/bulk.h"
#include "backend/sim/device/tracker.h"
#include "backend/sim/sim.h"
#include "policy/forest/classify.h"

#define MIB      (UINT64_C(1) << 20)
#define RANGES   12u
#define ROUNDS   64u
#define INTERVAL 10000u

/* ---- a policy that watches ---- */

struct seen {
    uint32_t range, launch, count, first_page, last_page;
    enum ff__class class;
    bool ranked; /* ranks are 0, 1, ...; each page comes once */
};

static struct {
    uint32_t arms;           /* launches whose samples it advises, from the first on */
    bool leaf;               /* it prefetches leaves */
    uint32_t cease_after;    /* rounds of a range; 0: never */
    uint32_t rounds[RANGES]; /* so far */
    uint32_t operands;       /* of the last launch; and how many of them have a fixed stride */
    uint32_t strided;
    struct seen seen[ROUNDS];
    uint32_t seen_count;
    uint64_t accesses; /* of the last round */
    /* of the first range's pages at the end of a launch */
    uint32_t used, unused, unknown;
    bool ascending; /* later pages were used later */
} watch;

static void advise(const struct ff_view *view, uint32_t range, uint32_t launch, bool wanted,
                   struct ff_advice_list *list) {
    const struct ff_advice advice = {.action = FF_SAMPLE,
                                     .block = view->ranges[range].first_block,
                                     .tier = 1,
                                     .launch = launch,
                                     .ceases = !wanted};
    assert_true(ff_advice_add(list, &advice));
}

static void look_at_counters(const struct ff_view *view) {
    const uint32_t *page = view->last_uses[1].page;
    uint32_t before = 0;
    watch.used = watch.unused = watch.unknown = 0;
    watch.ascending = true;
    for (uint64_t i = 0; i < view->ranges[0].page_count; i++) {
        watch.unknown += page[i] == 0;
        watch.unused += (page[i] & FF_PAGE_UNUSED) != 0;
        if (page[i] == 0 || (page[i] & FF_PAGE_UNUSED))
            continue;
        watch.used++;
        watch.ascending &= page[i] > before;
        before = page[i];
    }
}

static void on_launch(void *state, const struct ff_view *view, const struct ff_launch_event *event,
                      struct ff_advice_list *advice) {
    (void)state;
    memset(watch.rounds, 0, sizeof watch.rounds);
    if (event->begins) {
        watch.operands = event->operand_count;
        watch.strided = 0;
    }
    for (uint32_t i = 0; i < event->operand_count; i++) {
        watch.strided += event->operands[i].stride == FF_STRIDE_MODEL;
        assert_int_equal(event->operands[i].range, i);
    }
    for (uint32_t i = 0; i < RANGES && event->begins && watch.arms > 0; i++)
        if (view->ranges[i].block_count > 0)
            advise(view, i, event->launch, true, advice);
    watch.arms -= event->begins && watch.arms > 0;
    if (!event->begins)
        look_at_counters(view);
}

static void on_samples(void *state, const struct ff_view *view, const struct ff_sample_round *round,
                       struct ff_advice_list *advice) {
    static const struct ff__class_limits limits = {80, 60, 40, false, false};
    static bool rank_taken[1 << 16], page_taken[1 << 16];
    const struct ff_range *range = &view->ranges[round->range];
    const struct ff__class_range pages = {.first_block = range->first_block,
                                          .page_count = range->page_count};
    struct seen *seen = &watch.seen[watch.seen_count++];
    (void)state;
    assert_true(watch.seen_count < ROUNDS);
    assert_int_equal(round->tier, 1);
    watch.accesses = round->accesses;
    *seen = (struct seen){.range = round->range,
                          .launch = round->launch,
                          .count = round->count,
                          .first_page = UINT32_MAX,
                          .ranked = true};
    seen->class = ff__classify(&limits, &pages, round->items, round->count);
    memset(rank_taken, 0, sizeof rank_taken);
    memset(page_taken, 0, sizeof page_taken);
    for (uint32_t i = 0; i < round->count; i++) {
        const struct ff_sample *sample = &round->items[i];
        uint32_t page = (sample->block - range->first_block) * FF_BLOCK_PAGES + sample->page;
        seen->ranked &= sample->rank < round->count && !rank_taken[sample->rank] &&
                        !page_taken[page] && sample->page_count == 1;
        rank_taken[sample->rank] = page_taken[page] = true;
        seen->first_page = page < seen->first_page ? page : seen->first_page;
        seen->last_page = page > seen->last_page ? page : seen->last_page;
    }
    if (++watch.rounds[round->range] == watch.cease_after)
        advise(view, round->range, round->launch, false, advice);
}

static void on_fault(void *state, const struct ff_view *view, const struct ff_fault_group *group,
                     struct ff_fault_advice *advice) {
    (void)state, (void)view;
    FF_MASK_FOR_EACH_PAGE(&group->faulted, page) {
        if (watch.leaf)
            ff_mask_set_run(&advice->prefetch, page & ~15u, (page & ~15u) + 16);
    }
}

static const struct ff_sample_hooks samples = {.on_samples = on_samples};

static const struct ff_prefetch_policy watcher = {
    .base = {.name = "watcher",
             .summary = "watches samples",
             .api = FF_POLICY_API,
             .sees = FF_SEES_FAULTS | FF_SEES_SAMPLES,
             .controls = FF_CONTROLS_FAULTS | FF_CONTROLS_SAMPLING,
             .on_launch = on_launch,
             .samples = &samples},
    .on_fault = on_fault,
};

/* ---- a workload ---- */

/* Each launch goes through every array once, 128 bytes a warp and access, warp by warp or in bulk.
 */
struct stream {
    uint32_t arrays, launches, ctas, warps;
    uint64_t bytes, more; /* of the first array; of each more than the one before */
    uint32_t stride;      /* of accesses, in units of 128 bytes; 0: 1 */
    bool bulk;
    struct ff__operand operands[RANGES];
};

static bool stream_step(const struct ff__workload *workload, const struct ff__kernel *kernel,
                        uint32_t cta, uint32_t warp, uint32_t index, struct ff__step *out) {
    const struct stream *stream = workload->data;
    uint64_t place = ((uint64_t)index / stream->arrays * kernel->ctas + cta) * kernel->warps + warp;
    uint64_t at = place * FF__ACCESS_BYTES * (stream->stride ? stream->stride : 1);
    const struct ff__array *array = &workload->arrays[index % stream->arrays];
    if (at >= workload->arrays[stream->arrays - 1].bytes)
        return false;
    *out = (struct ff__step){.instructions = 10, .pc = 8, .sectors = 4};
    if (at < array->bytes)
        out->page[out->page_count++] = array->first_page + at / FF_PAGE_SIZE;
    return true;
}

static bool stream_action(const struct ff__workload *workload, uint64_t index,
                          struct ff__action *out) {
    const struct stream *stream = workload->data;
    *out = (struct ff__action){.array = (uint32_t)index};
    if (index < stream->arrays)
        out->kind = FF__ACTION_ALLOCATE;
    else if (index < stream->arrays + stream->launches) {
        out->kind = FF__ACTION_LAUNCH;
        out->kernel =
            (struct ff__kernel){.name = "stream",
                                .identity = 7,
                                .ctas = stream->ctas,
                                .warps = stream->warps,
                                .step = stream->bulk ? NULL : stream_step,
                                .known = {.uses = (1u << stream->arrays) - 1, .strided = 1},
                                .operands = stream->operands,
                                .operand_count = stream->arrays,
                                .traffic = 1e6};
    } else
        return false;
    return true;
}

static const struct ff__workload_type stream_type = {
    .name = "stream", .summary = "arrays in order", .action = stream_action};

static struct ff__gpu gpu;

/* `with`: members of the device with other values, or "". */
static struct ff__sim_result run_with(struct stream *stream, const char *system, uint64_t memory,
                                      const char *with) {
    static bool known;
    char spec[64];
    struct ff__array arrays[RANGES] = {0};
    struct ff__workload workload = {.type = &stream_type,
                                    .name = "stream",
                                    .arrays = arrays,
                                    .array_count = stream->arrays,
                                    .data = stream};
    struct ff__sim_config config = {
        .gpu = &gpu, .memory = memory, .devices = 1, .seed = 1, .check = true};
    struct ff__sim_result result = {0};
    struct ff_error error = {""};
    for (uint32_t i = 0; i < stream->arrays; i++) {
        arrays[i].bytes = stream->bytes + i * stream->more;
        stream->operands[i] = ff__operand_of(0, arrays[i].bytes);
        stream->operands[i].array = i;
    }
    if (!known)
        assert_int_equal(ff__policy_register(FF__PREFETCH, &watcher.base, NULL), 0);
    known = true;
    snprintf(spec, sizeof spec, "gtx1080ti%s%s", with[0] ? ":" : "", with);
    if (ff__gpu_read_spec(spec, GPU_FOLDER, &gpu, &error) ||
        ff__system_parse(system, &config.system, &error) ||
        ff__sim_run(&config, &workload, &result, &error))
        fail_msg("%s", error.message);
    return result;
}

static struct ff__sim_result run(struct stream *stream, const char *system, uint64_t memory) {
    return run_with(stream, system, memory, "");
}

static void start_watch(uint32_t arms) {
    memset(&watch, 0, sizeof watch);
    watch.arms = arms;
}

#define WATCHED "demand:prefetch=watcher"

/* ---- tests ---- */

static void test_memory(void **state) {
    (void)state;
    assert_int_equal(ff__tracker_bytes(1), 147);
    assert_int_equal(ff__tracker_bytes(128), 18816); /* 18.375 KiB */
}

/* 4 MiB are 32 768 accesses: three rounds a launch, each with all that was used since the launch
 * began. */
static void test_rounds(void **state) {
    (void)state;
    struct stream stream = {.arrays = 1, .launches = 2, .ctas = 4, .warps = 4, .bytes = 4 * MIB};
    start_watch(2);
    struct ff__sim_result r = run(&stream, WATCHED, 0);
    assert_int_equal(watch.seen_count, 6);
    assert_int_equal(r.sample_rounds, 6);
    assert_int_equal(r.tracker_bytes, 147);
    assert_int_equal(r.sample_ns, 6 * (gpu.sample_ns + 1024 * gpu.sample_page_ns));
    for (uint32_t i = 0; i < 6; i++) {
        const struct seen *seen = &watch.seen[i];
        uint32_t pages = INTERVAL / 32 * (i % 3 + 1);
        assert_true(seen->ranked);
        assert_int_equal(seen->class, FF__CLASS_LINEAR);
        assert_int_equal(seen->first_page, 0);
        assert_int_equal(seen->count, seen->last_page + 1);
        assert_in_range(seen->count, pages, pages + 400); /* what was used while they were read */
    }
    assert_int_equal(watch.accesses, 3 * INTERVAL);
    assert_true(watch.ascending);
    assert_int_equal(watch.used, 1024);
}

/* What TLBs do not answer, which begin each launch empty: a page once, of 32 accesses to it. So it
 * is in bulk, where there are none. */
static void test_walks(void **state) {
    (void)state;
    struct stream stream = {.arrays = 1, .launches = 3, .ctas = 1, .warps = 1, .bytes = 4 * MIB};
    for (int bulk = 0; bulk < 2; bulk++) {
        stream.bulk = bulk;
        start_watch(2);
        run_with(&stream, WATCHED, 0, "tracker_sees=walks,sample_interval=1000");
        assert_int_equal(watch.seen_count, 2); /* of launches with 1024 pages */
        assert_int_equal(watch.used, 1024);
    }
}

/* Not armed; ceased by advice; ceased after ten rounds. */
static void test_cease(void **state) {
    (void)state;
    struct stream stream = {.arrays = 1, .launches = 2, .ctas = 4, .warps = 4, .bytes = 16 * MIB};
    start_watch(0);
    assert_int_equal(run(&stream, WATCHED, 0).sample_rounds, 0);
    assert_int_equal(watch.used, 4096); /* the counters run all the same */
    start_watch(2);
    watch.cease_after = 2;
    assert_int_equal(run(&stream, WATCHED, 0).sample_rounds, 4);
    start_watch(2);
    assert_int_equal(run(&stream, WATCHED, 0).sample_rounds, 20);
}

/* Twelve ranges: the ten largest have rows, and are sampled. */
static void test_table(void **state) {
    (void)state;
    struct stream stream = {
        .arrays = RANGES, .launches = 1, .ctas = 4, .warps = 4, .bytes = 2 * MIB, .more = MIB / 16};
    bool shown[RANGES] = {false};
    start_watch(2);
    watch.cease_after = 1;
    run(&stream, WATCHED, 0);
    for (uint32_t i = 0; i < watch.seen_count; i++)
        shown[watch.seen[i].range] = true;
    for (uint32_t i = 0; i < RANGES; i++)
        assert_int_equal(shown[i], i >= 2);
}

/* Pages that came with their leaf, and that nobody used. */
static void test_arrivals(void **state) {
    (void)state;
    struct stream stream = {.arrays = 1,
                            .launches = 1,
                            .ctas = 4,
                            .warps = 4,
                            .bytes = 4 * MIB,
                            .stride = 2 * FF_PAGE_SIZE / FF__ACCESS_BYTES};
    start_watch(2);
    watch.leaf = true;
    run(&stream, WATCHED, 0);
    assert_int_equal(watch.used, 512);
    assert_int_equal(watch.unused, 512);
    assert_int_equal(watch.unknown, 0);
    assert_int_equal(watch.seen_count, 0); /* 512 accesses */
    watch.leaf = false;
    run(&stream, WATCHED, 0);
    assert_int_equal(watch.unknown, 512);
}

/* The same kernel in bulk is shown as much, of the same class, also where it has to wait for pages.
 * The last launch is not sampled: it may be over before its counters are read. */
static void test_bulk(void **state) {
    (void)state;
    static const uint64_t memory[] = {0, 4 * MIB};
    for (unsigned i = 0; i < 2; i++) {
        struct stream stream = {
            .arrays = 2, .launches = 3, .ctas = 28, .warps = 64, .bytes = 4 * MIB, .more = MIB};
        uint32_t rounds[2], pages[2] = {0};
        for (unsigned bulk = 0; bulk < 2; bulk++) {
            start_watch(2);
            stream.bulk = bulk;
            run(&stream, WATCHED, memory[i]);
            rounds[bulk] = watch.seen_count;
            assert_int_equal(watch.operands, 2);
            assert_int_equal(watch.strided, bulk ? 2 : 1);
            for (uint32_t k = 0; k < watch.seen_count; k++) {
                assert_true(watch.seen[k].ranked);
                assert_int_equal(watch.seen[k].class, FF__CLASS_LINEAR);
                pages[bulk] += watch.seen[k].count;
            }
            assert_int_equal(watch.used, 1024);
        }
        assert_int_equal(rounds[0], 2 * (3 + 4));
        assert_int_equal(rounds[1], rounds[0]);
        assert_in_range(pages[1], pages[0] * 3 / 4, pages[0] * 5 / 4);
    }
}

/* Leaves of 64 KiB in trees of 2 MiB are UVMSmart's, to the picosecond; the tracker takes no
 * modelled time. */
static void test_default_tree(void **state) {
    (void)state;
    struct stream stream = {.arrays = 3, .launches = 2, .ctas = 28, .warps = 8, .bytes = 3 * MIB};
    struct ff__sim_result ours =
        run(&stream, "demand:prefetch=forest,leaf=64K,tree=2M,evict=lru-2m", 6 * MIB);
    struct ff__sim_result theirs = run(&stream, "demand:prefetch=tree-half,evict=lru-2m", 6 * MIB);
    assert_int_equal(ours.time_ps, theirs.time_ps);
    assert_int_equal(ours.faults, theirs.faults);
    assert_int_equal(ours.bytes_in, theirs.bytes_in);
    assert_int_equal(ours.thrashed, theirs.thrashed);
    assert_true(ours.thrashed > 0);
}

/* Nothing of it is there where no policy must see samples, nor without time. */
static void test_unsampled(void **state) {
    (void)state;
    struct stream stream = {.arrays = 1, .launches = 1, .ctas = 4, .warps = 4, .bytes = 4 * MIB};
    assert_int_equal(run(&stream, "nvidia", 0).sample_rounds, 0);
    assert_true(run(&stream, "forest", 0).sample_rounds > 0);
    assert_true(run(&stream, "nvidia:evict=forest", 0).sample_rounds > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory),       cmocka_unit_test(test_rounds),
        cmocka_unit_test(test_cease),        cmocka_unit_test(test_walks),
        cmocka_unit_test(test_table),        cmocka_unit_test(test_arrivals),
        cmocka_unit_test(test_bulk),         cmocka_unit_test(test_unsampled),
        cmocka_unit_test(test_default_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
