/* The engine's calls one by one: what each answers, and what it leaves behind. */
#include "engine/single.h"
#include "policy/deepum_plus/ahead.h"

static struct ff__job other;

/* ---- opening ---- */

static void test_visibility(void **state) {
    (void)state;
    static const struct ff_prefetch_policy sees = {
        .base = {.name = "sees-accesses", .api = FF_POLICY_API, .sees = FF_SEES_ACCESSES}};
    struct ff_error error = {""};
    assert_int_equal(ff__policy_register(FF__PREFETCH, &sees.base, &error), 0);
    struct ff__engine_config config = config_for("nvidia:prefetch=sees-accesses", 4);
    backend.shows = FF_SEES_FAULTS | FF_SEES_LAUNCHES;
    assert_int_equal(ff__engine_init(&engine, &config, &error), -ENOTSUP);
    assert_non_null(strstr(error.message, "sees-accesses"));
    assert_int_equal(ff__engine_init(&engine, &config, NULL), -ENOTSUP);
    backend.shows |= FF_SEES_ACCESSES;
    assert_int_equal(ff__engine_init(&engine, &config, &error), 0);
    ff__engine_fini(&engine);
}

/* A driver that serves faults itself asks no policy before. */
static void test_control(void **state) {
    (void)state;
    struct ff_error error = {""};
    struct ff__engine_config config = config_for("nvidia", 4);
    backend.controls = FF_CONTROLS_FAULTS;
    assert_int_equal(ff__engine_init(&engine, &config, &error), -ENOTSUP);
    assert_string_equal(error.message, "evict policy 'lrm' must control who leaves; this kind of "
                                       "device lets it control what a fault brings");
    backend.controls = 0;
    assert_int_equal(ff__engine_init(&engine, &config, &error), -ENOTSUP);
    assert_string_equal(error.message, "prefetch policy 'tree' must control what a fault brings; "
                                       "this kind of device lets it control nothing");
}

static void refuse(const struct ff__engine_config *config, const char *message) {
    struct ff_error error = {""};
    assert_int_equal(ff__engine_init(&engine, config, &error), -EINVAL);
    assert_string_equal(error.message, message);
}

/* What no policy could weigh: a way that costs nothing, or a fault; the two tiers are named. */
static void test_costs_are_said(void **state) {
    (void)state;
    struct ff__engine_config config = config_for("nvidia", 4);
    backend.link[1][2].bytes_per_second = 0;
    refuse(&config, "the link from tier 1 to tier 2 must move more than 0 bytes per second");
    config.devices = 1;
    backend.tier_count = 2;
    assert_int_equal(ff__engine_init(&engine, &config, NULL), 0);
    ff__engine_fini(&engine);
    backend.link[1][0] = (struct ff_link_cost){.latency_ns = 100};
    refuse(&config, "the link from tier 1 to tier 0 must move more than 0 bytes per second");
    config = config_for("nvidia", 4);
    backend.fault_ns = 0;
    refuse(&config, "a far fault must cost more than 0 ns");
}

static void test_bad_shapes(void **state) {
    (void)state;
    struct ff_error error = {""};
    struct ff__engine_config good = config_for("nvidia", 4), bad = good;
    bad.devices = 0;
    assert_int_equal(ff__engine_init(&engine, &bad, &error), -EINVAL);
    assert_true(error.message[0] != '\0');
    bad = good, bad.memory = 4096;
    assert_int_equal(ff__engine_init(&engine, &bad, &error), -EINVAL);
    bad = good, bad.base += 4096;
    assert_int_equal(ff__engine_init(&engine, &bad, NULL), -EINVAL);
}

/* The engine's shape is the backend's; what is the engine's alone stays. */
static void test_shape_of_a_backend(void **state) {
    (void)state;
    struct ff__description device = {
        .base = FAKE_BASE,
        .address_space = 16 * (uint64_t)FF_BLOCK_SIZE,
        .tier_count = 3,
        .shows = FF_SEES_FAULTS,
        .controls = FF_CONTROLS_FAULTS | FF_CONTROLS_VICTIMS,
    };
    set_costs(&device);
    device.tier[1] = device.tier[2] = (struct ff__tier_description){
        .memory = 4 * (uint64_t)FF_BLOCK_SIZE, .spare = 2, .granule = FF_LEAF_PAGES};
    struct ff__engine_config config = config_for("demand", 1);
    ff__engine_configure(&config, &device);
    assert_int_equal(config.reserve, 1);
    assert_int_equal(config.spare, 2);
    assert_int_equal(config.granule, FF_LEAF_PAGES);
    assert_non_null(config.system.policy[FF__PREFETCH]);
    assert_ptr_equal(config.backend, &device);
    assert_int_equal(ff__engine_init(&engine, &config, NULL), 0);
    assert_int_equal(engine.space.base, FAKE_BASE);
    assert_int_equal(engine.space.tier_count, 3);
    assert_int_equal(engine.space.capacity[1], 4 * FF_BLOCK_PAGES);
    assert_int_equal(engine.space.block_limit, 16);
    ff__engine_fini(&engine);
}

static void test_homes(void **state) {
    (void)state;
    open_engine("demand", 4);
    uint32_t range = engine.space.blocks[add_range(600)].range;
    assert_false(ff__engine_set_home(&engine, range, 1));
    assert_true(ff__engine_set_home(&engine, range, 2));
    assert_false(ff__engine_set_home(&engine, range, 2));
    assert_int_equal(engine.space.ranges[range].home_tier, 2);
    close_engine();
}

static int init_fails(void *state, const struct ff_policy_env *env) {
    (void)state, (void)env;
    return -E2BIG;
}

static int finis;

static void count_fini(void *state) {
    (void)state;
    finis++;
}

static int init_works(void *state, const struct ff_policy_env *env) {
    (void)state, (void)env;
    return 0;
}

static const struct ff_place_policy place_fails = {
    .base = {.name = "place-fails", .api = FF_POLICY_API, .init = init_fails, .fini = count_fini},
    .place = nowhere_place,
};

static const struct ff_prefetch_policy prefetch_counts = {
    .base = {.name = "counts-fini", .api = FF_POLICY_API, .init = init_works, .fini = count_fini},
};

static void register_failing(void) {
    if (ff__policy_find(FF__PLACE, "place-fails"))
        return;
    assert_int_equal(ff__policy_register(FF__PLACE, &place_fails.base, NULL), 0);
    assert_int_equal(ff__policy_register(FF__PREFETCH, &prefetch_counts.base, NULL), 0);
}

static void test_policy_that_cannot_start(void **state) {
    (void)state;
    register_failing();
    struct ff_error error = {""};
    struct ff__engine_config config =
        config_for("nvidia:prefetch=counts-fini,place=place-fails", 4);
    finis = 0;
    assert_int_equal(ff__engine_init(&engine, &config, &error), -E2BIG);
    assert_non_null(strstr(error.message, "place-fails"));
    assert_true(finis >= 1); /* the one that had started has ended */
}

static void test_only_what_started_is_ended(void **state) {
    (void)state;
    register_failing();
    struct ff__engine_config config =
        config_for("nvidia:prefetch=counts-fini,place=place-fails", 4);
    finis = 0;
    assert_int_equal(ff__engine_init(&engine, &config, NULL), -E2BIG);
    assert_int_equal(finis, 1);
}

/* ---- faults ---- */

static void test_fault_brings_pages(void **state) {
    (void)state;
    open_engine("demand", 4);
    uint32_t block = add_range(600);
    assert_int_equal(fault(block, 3, 5, &job), FF__JOB_RUN);
    assert_true(job.has_in && !job.took_chunk);
    assert_int_equal(job.out_count, 0);
    assert_int_equal(ff_mask_count(&job.in.pages), 2);
    assert_true(ff_mask_empty(&job.in.held) && job.in.whole);
    assert_true(ff__facts(&engine.space, block)->busy);
    carry_out(&job);
    assert_false(ff__facts(&engine.space, block)->busy);
    assert_int_equal(fault(block, 3, 5, &job), FF__JOB_NONE);
    assert_int_equal(engine.space.stats.spurious, 1);
    assert_int_equal(fault(block, 4, 7, &job), FF__JOB_RUN); /* the rest of the group */
    assert_int_equal(ff_mask_count(&job.in.pages), 2);
    assert_int_equal(ff_mask_count(&job.there), 1);
    assert_true(ff_mask_test(&job.there, 4));
    assert_false(job.in.whole);
    carry_out(&job);
    assert_int_equal(engine.space.stats.faults, 4);
    assert_int_equal(engine.space.stats.populated, 4);
    close_engine();
}

/* Of a block's pages that come ahead of need, one is accessed before all leave. When they come and
 * leave again, the host has most of them. */
static void test_what_leaves_is_counted(void **state) {
    (void)state;
    struct ff_mask one = ff_mask_of_page(9);
    open_engine("nvidia-1", 4);
    uint32_t block = add_range(FF_BLOCK_PAGES);
    bring(block, 3, 4);
    uint64_t ahead = engine.space.stats.prefetched;
    ff__engine_used(&engine, block, &one, false);
    assert_int_equal(engine.space.stats.prefetch_used, 1);
    assert_int_equal(ff__engine_evict(&engine, 1500, block, 1, NULL, NULL, &job), FF__JOB_RUN);
    carry_out(&job);
    assert_true(engine.space.stats.prefetch_useless > 0);
    assert_int_equal(engine.space.stats.prefetch_useless, ahead - 1);
    assert_int_equal(engine.space.stats.pages_dropped, 0);
    bring(block, 3, 4);
    assert_int_equal(ff__engine_evict(&engine, 2500, block, 1, NULL, NULL, &job), FF__JOB_RUN);
    carry_out(&job);
    assert_true(engine.space.stats.pages_dropped > 0);
    close_engine();
}

static void test_fault_outside(void **state) {
    (void)state;
    open_engine("nvidia", 4);
    uint32_t block = add_range(10);
    assert_int_equal(fault(block + 1, 0, 1, &job), -EFAULT);
    assert_int_equal(fault(64, 0, 1, &job), -EFAULT);
    assert_int_equal(fault(FF_NONE, 0, 1, &job), -EFAULT);
    close_engine();
}

static void test_fault_goes_home(void **state) {
    (void)state;
    open_engine("nvidia", 4);
    uint32_t range = 0;
    assert_int_equal(ff__engine_range_add(&engine, 512, 0, 2, &range), 0);
    struct ff_fault_group group = group_of(engine.space.ranges[range].first_block, 0, 1);
    assert_int_equal(ff__engine_fault(&engine, 1000, &group, &job), FF__JOB_RUN);
    assert_int_equal(group.tier, 2);
    assert_int_equal(job.in.to.tier, 2);
    carry_out(&job);
    close_engine();
}

/* A group may be older than the block: its thread was let go by another job, the range was freed,
 * and a shorter one was made in its place. */
static void test_stale_fault_is_clipped(void **state) {
    (void)state;
    open_engine("demand", 4);
    uint32_t block = add_range(10);
    assert_int_equal(fault(block, 100, 101, &job), FF__JOB_NONE);
    assert_int_equal(fault(block, 8, 20, &job), FF__JOB_RUN);
    assert_int_equal(ff_mask_count(&job.in.pages), 2);
    carry_out(&job);
    close_engine();
}

/* policy.h: `written` are the faulted pages that were to be written. */
static struct ff_fault_group told;

static void tell_on_fault(void *policy_state, const struct ff_view *view,
                          const struct ff_fault_group *group, struct ff_fault_advice *advice) {
    (void)policy_state, (void)view, (void)advice;
    told = *group;
}

static void test_written_is_part_of_faulted(void **state) {
    (void)state;
    static const struct ff_prefetch_policy tells = {.base = {.name = "tells", .api = FF_POLICY_API},
                                                    .on_fault = tell_on_fault};
    assert_int_equal(ff__policy_register(FF__PREFETCH, &tells.base, NULL), 0);
    open_engine("demand:prefetch=tells", 4);
    uint32_t block = add_range(100);
    bring(block, 0, 10);
    struct ff_fault_group group = group_of(block, 5, 15);
    group.written = group.faulted;
    assert_int_equal(ff__engine_fault(&engine, 1000, &group, &job), FF__JOB_RUN);
    carry_out(&job);
    assert_true(ff_mask_within(&told.written, &told.faulted));
    close_engine();
}

/* ---- late faults ---- */

static void test_late_faults_come_back_once(void **state) {
    (void)state;
    struct ff_fault_group late;
    open_engine("demand", 4);
    uint32_t block = add_range(512);
    assert_int_equal(fault(block, 0, 1, &job), FF__JOB_RUN);
    assert_int_equal(fault(block, 5, 7, &other), FF__JOB_LATER);
    struct ff_fault_group group = group_of(block, 6, 9);
    group.written = ff_mask_of_run(8, 9);
    assert_int_equal(ff__engine_fault(&engine, 1000, &group, &other), FF__JOB_LATER);
    assert_false(ff__engine_take_late(&engine, &late)); /* not before the job has ended */
    carry_out(&job);
    assert_true(ff__engine_take_late(&engine, &late));
    struct ff_mask expected = ff_mask_of_run(5, 9), written = ff_mask_of_run(8, 9);
    assert_int_equal(late.block, block);
    assert_true(ff_mask_equal(&late.faulted, &expected));
    assert_true(ff_mask_equal(&late.written, &written));
    assert_false(ff__engine_take_late(&engine, &late));
    close_engine();
}

/* Makes `count` ranges of one block, each with a fault that came while it was busy. */
static void make_late(uint32_t count, uint32_t ranges[]) {
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(ff__engine_range_add(&engine, 512, 0, 1, &ranges[i]), 0);
        uint32_t block = engine.space.ranges[ranges[i]].first_block;
        assert_int_equal(fault(block, 0, 1, &job), FF__JOB_RUN);
        assert_int_equal(fault(block, 1, 2, &other), FF__JOB_LATER);
        carry_out(&job);
    }
}

/* Whichever of three waiting blocks goes away, the other two are served, and then later ones. */
static void test_removal_forgets_late_faults(void **state) {
    (void)state;
    for (uint32_t gone = 0; gone < 8; gone++) {
        uint32_t ranges[3], more[1], left = 0;
        struct ff_fault_group late;
        open_engine("demand", 8);
        make_late(3, ranges);
        for (uint32_t i = 0; i < 3; i++) {
            if (gone >> i & 1)
                remove_range(engine.space.ranges[ranges[i]].first_block);
            left += !(gone >> i & 1);
        }
        make_late(1, more);
        for (uint32_t i = 0; i < left + 1; i++) {
            assert_true(ff__engine_take_late(&engine, &late));
            assert_int_equal(ff__engine_fault(&engine, 4000, &late, &job), FF__JOB_RUN);
            carry_out(&job);
        }
        assert_false(ff__engine_take_late(&engine, &late));
        close_engine();
    }
}

static void test_closed_block_stays_closed(void **state) {
    (void)state;
    struct ff_fault_group late;
    uint32_t range = 0;
    open_engine("nvidia", 4);
    assert_int_equal(ff__engine_range_add(&engine, 512, 0, 1, &range), 0);
    uint32_t block = engine.space.ranges[range].first_block;
    ff__engine_close_block(&engine, block);
    assert_int_equal(fault(block, 0, 1, &job), FF__JOB_LATER);
    assert_int_equal(ff__engine_evict(&engine, 1000, block, 1, NULL, NULL, &job), FF__JOB_LATER);
    struct ff_advice advice = {
        .block = block, .tier = 1, .launch = FF_NONE, .pages = ff_mask_of_run(0, 512)};
    assert_int_equal(ff__engine_advise(&engine, 1000, &advice, &job), FF__JOB_DROPPED);
    assert_false(ff__engine_take_late(&engine, &late));
    ff__engine_range_remove(&engine, range);
    assert_false(ff__engine_take_late(&engine, &late));
    assert_int_equal(add_range(512), block); /* as good as new */
    bring(block, 0, 1);
    close_engine();
}

static void test_released_block_has_content(void **state) {
    (void)state;
    struct ff_fault_group late;
    open_engine("demand", 4);
    uint32_t block = add_range(512);
    struct ff_mask held = ff_mask_of_run(10, 20);
    ff__facts(&engine.space, block)->busy = 1;
    assert_int_equal(fault(block, 15, 25, &job), FF__JOB_LATER);
    fake_write_host(&fake, block, &held, 0, NULL);
    ff__engine_release_block(&engine, block, &held);
    assert_true(ff__engine_take_late(&engine, &late));
    assert_int_equal(ff__engine_fault(&engine, 1000, &late, &job), FF__JOB_RUN);
    assert_int_equal(ff_mask_count(&job.in.held), 5);
    carry_out(&job);
    assert_true(fake_touch(&fake, block, 15, false) && fake_touch(&fake, block, 24, false));
    close_engine();
}

/* ---- memory ---- */

static void test_no_room_while_all_is_in_flight(void **state) {
    (void)state;
    open_engine("demand", 1);
    uint32_t block = add_range(1024);
    assert_int_equal(fault(block, 0, 1, &job), FF__JOB_RUN);
    assert_int_equal(fault(block + 1, 0, 1, &other), FF__JOB_NO_ROOM);
    assert_int_equal(fault(block + 1, 0, 1, &other), FF__JOB_NO_ROOM);
    carry_out(&job);
    assert_int_equal(fault(block + 1, 0, 1, &other), FF__JOB_RUN);
    assert_int_equal(other.out_count, 1);
    assert_int_equal(other.out[0].block, block);
    carry_out(&other);
    assert_int_equal(engine.space.stats.resident, BLOCK_BYTES);
    assert_int_equal(engine.space.stats.resident_peak, BLOCK_BYTES);
    assert_int_equal(engine.space.stats.refaults, 0);
    bring(block, 0, 1);
    assert_int_equal(engine.space.stats.refaults, 1);
    close_engine();
}

static uint32_t asks; /* how often the policy was asked */

/* Answers the first time only. */
static void answer_once(void *policy_state, const struct ff_view *view,
                        const struct ff_fault_group *group, struct ff_fault_advice *advice) {
    (void)policy_state, (void)group;
    if (asks++ > 0)
        return;
    advice->prefetch = ff_mask_of_run(10, 20);
    advice->throttle = ff_mask_of_run(5, 6);
    advice->throttle_until_ns = view->now_ns + 5000;
    advice->remote = ff_mask_of_run(6, 7);
}

static const struct ff_prefetch_policy answers_once = {
    .base = {.name = "answers-once", .api = FF_POLICY_API}, .on_fault = answer_once};

/* Faults that have to wait for room are not told the policy again, and its answer stays good. */
static void test_no_room_asks_once(void **state) {
    (void)state;
    assert_int_equal(ff__policy_register(FF__PREFETCH, &answers_once.base, NULL), 0);
    open_engine("demand:prefetch=answers-once", 1);
    backend.controls |= FF_CONTROLS_REMOTE;
    uint32_t block = add_range(1024);
    asks = 1;
    assert_int_equal(fault(block, 0, 1, &job), FF__JOB_RUN);
    struct ff_fault_group group = group_of(block + 1, 4, 8);
    asks = 0;
    assert_int_equal(ff__engine_fault(&engine, 1000, &group, &other), FF__JOB_NO_ROOM);
    assert_int_equal(ff__engine_fault_again(&engine, 1100, &group, &other), FF__JOB_NO_ROOM);
    carry_out(&job);
    assert_int_equal(ff__engine_fault_again(&engine, 2100, &group, &other), FF__JOB_RUN);
    assert_int_equal(asks, 1);
    struct ff_mask expected = ff_mask_of_run(10, 20);
    ff_mask_set(&expected, 4);
    ff_mask_set(&expected, 7);
    assert_true(ff_mask_equal(&other.in.pages, &expected));
    assert_true(ff_mask_count(&other.throttled) == 1 && ff_mask_test(&other.throttled, 5));
    assert_int_equal(other.retry_ns, 6000);
    assert_true(ff_mask_count(&other.remote) == 1 && ff_mask_test(&other.remote, 6));
    carry_out(&other);
    close_engine();
}

/* Blocks that share a chunk leave it together, and a short newcomer gives the rest back. */
static void test_shared_chunk_goes_as_one(void **state) {
    (void)state;
    uint32_t blocks[4];
    open_engine("demand", 1);
    for (int i = 0; i < 4; i++) {
        blocks[i] = add_range(100); /* 7 leaves */
        bring(blocks[i], 0, 100);
    }
    uint32_t fifth = add_range(90); /* 6 leaves; 4 are left */
    assert_int_equal(fault(fifth, 0, 1, &job), FF__JOB_RUN);
    assert_int_equal(job.out_count, 4);
    assert_true(job.took_chunk);
    assert_int_equal(engine.space.frames[1].leaves_used, FF_CHUNK_LEAVES);
    carry_out(&job);
    assert_int_equal(engine.space.frames[1].leaves_used, 6);
    bring(blocks[2], 0, 1);
    assert_int_equal(engine.space.frames[1].leaves_used, 13);
    close_engine();
}

static uint64_t next_launch[64]; /* launches */

static void forecast(const void *policy_state, const struct ff_view *view, uint32_t tier,
                     const uint32_t *blocks, uint32_t count, bool launches_only, uint64_t *uses) {
    (void)policy_state, (void)view, (void)tier, (void)launches_only;
    for (uint32_t i = 0; i < count; i++)
        uses[i] = next_launch[blocks[i]] << 32;
}

static uint64_t forecast_now(const void *policy_state, uint32_t tier) {
    (void)policy_state, (void)tier;
    return UINT64_C(1) << 32;
}

static const struct ff_forecast_hooks forecasting = {.next_uses = forecast, .now = forecast_now};

static const struct ff_prefetch_policy forecasts = {
    .base = {.name = "forecasts", .api = FF_POLICY_API},
    .forecast = &forecasting,
};

static void register_forecasts(void) {
    static bool known;
    if (!known)
        assert_int_equal(ff__policy_register(FF__PREFETCH, &forecasts.base, NULL), 0);
    known = true;
}

static uint32_t named;

static void name_one(void *policy_state, const struct ff_view *view,
                     const struct ff_evict_request *request, struct ff_victim_list *victims) {
    (void)policy_state, (void)view, (void)request;
    ff_victim_add(victims, named);
}

static void name_with_care(void *policy_state, const struct ff_view *view,
                           const struct ff_evict_request *request, struct ff_victim_list *victims) {
    name_one(policy_state, view, request, victims);
    ff__ahead_judge_chunks(view, request, victims);
}

static const struct ff_evict_policy names = {
    .base = {.name = "names", .api = FF_POLICY_API, .sees = FF_SEES_FAULTS}, .pick = name_one};
static const struct ff_evict_policy names_with_care = {
    .base = {.name = "names-with-care", .api = FF_POLICY_API, .sees = FF_SEES_FAULTS},
    .pick = name_with_care};

/* The engine evicts the named victims. DeepUM's evictors let no prefetch take the memory of what
 * shares a chunk with the victim and is needed sooner. */
static void test_shared_chunk_and_a_prefetch(void **state) {
    (void)state;
    assert_int_equal(ff__policy_register(FF__EVICT, &names.base, NULL), 0);
    assert_int_equal(ff__policy_register(FF__EVICT, &names_with_care.base, NULL), 0);
    register_forecasts();
    for (int careful = 0; careful < 2; careful++) {
        open_engine(careful ? "demand:prefetch=forecasts,evict=names-with-care"
                            : "demand:prefetch=forecasts,evict=names",
                    1);
        uint32_t last = add_range(100), soon = add_range(100), wished = add_range(512);
        const struct ff_advice advice = {
            .block = wished, .tier = 1, .launch = FF_NONE, .pages = ff_mask_of_run(0, 512)};
        named = last;
        next_launch[last] = 100;
        next_launch[wished] = 10;
        bring(last, 0, 100);
        bring(soon, 0, 100);
        for (next_launch[soon] = 3; next_launch[soon] <= 10 && careful; next_launch[soon] += 7)
            assert_int_equal(ff__engine_advise(&engine, 1000, &advice, &job), FF__JOB_DROPPED);
        next_launch[soon] = careful ? 11 : 3;
        assert_int_equal(ff__engine_advise(&engine, 1000, &advice, &job), FF__JOB_RUN);
        assert_int_equal(job.out_count, 2);
        carry_out(&job);
        close_engine();
    }
}

/* The block that is needed last stays if blocks that share its chunk are needed soon. */
static void test_shared_chunk_that_is_needed(void **state) {
    (void)state;
    register_forecasts();
    open_engine("demand:prefetch=forecasts,evict=farthest", 2);
    uint32_t last = add_range(100), soon = add_range(100), later = add_range(512);
    uint32_t fault_on = add_range(512);
    next_launch[last] = 100;
    next_launch[soon] = 3;
    next_launch[later] = 50;
    bring(last, 0, 100);
    bring(soon, 0, 100);
    bring(later, 0, 512);
    assert_int_equal(fault(fault_on, 0, 1, &job), FF__JOB_RUN);
    assert_int_equal(job.out_count, 1);
    assert_int_equal(job.out[0].block, later);
    carry_out(&job);
    close_engine();
}

static void test_advice_that_does_not_fit(void **state) {
    (void)state;
    open_engine("demand:evict=rogue-quiet", 1);
    uint32_t block = add_range(512 + 10);
    bring(block, 0, 10);
    const struct ff_advice rows[] = {
        {.block = block,
         .tier = 1,
         .launch = FF_NONE,
         .pages = ff_mask_of_run(0, 10)}, /* all there */
        {.block = block,
         .tier = 2,
         .launch = FF_NONE,
         .pages = ff_mask_of_run(0, 10)}, /* on another device */
        {.block = block, .tier = 1, .launch = FF_NONE, .pages = ff_mask_of_run(0, 0)}, /* nothing */
        {.block = block,
         .tier = 0,
         .launch = FF_NONE,
         .pages = ff_mask_of_run(0, 512)}, /* to the host */
        {.block = block,
         .tier = 3,
         .launch = FF_NONE,
         .pages = ff_mask_of_run(0, 512)}, /* no such device */
        {.block = block + 1,
         .tier = 1,
         .launch = FF_NONE,
         .pages = ff_mask_of_run(10, 512)}, /* beyond the end */
        {.block = block + 1,
         .tier = 1,
         .launch = FF_NONE,
         .pages = ff_mask_of_run(0, 512)}, /* no room: no victim is named */
        {.block = block + 2,
         .tier = 1,
         .launch = FF_NONE,
         .pages = ff_mask_of_run(0, 512)}, /* no such block */
        {.block = 64,
         .tier = 1,
         .launch = FF_NONE,
         .pages = ff_mask_of_run(0, 512)}, /* no such window */
        {.block = FF_NONE, .tier = FF_NONE, .launch = FF_NONE, .pages = ff_mask_of_run(0, 512)},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(ff__engine_advise(&engine, 1000, &rows[i], &job), FF__JOB_DROPPED);
        assert_int_equal(engine.space.stats.advice_dropped, i + 1);
    }
    bring(block + 1, 0, 10); /* demand gets what advice did not */
    close_engine();
}

/* Pre-eviction starts under pressure only, stops when the reserve is complete, and not at all while
 * everything fits. */
static void test_preeviction(void **state) {
    (void)state;
    open_engine("demand", 4);
    uint32_t block = add_range(4 * 512);
    for (uint32_t i = 0; i < 4; i++)
        bring(block + i, 0, 1);
    assert_int_equal(ff__engine_preevict(&engine, 1000, 1, &job), FF__JOB_NONE);
    uint32_t more = add_range(512);
    bring(more, 0, 1);
    assert_int_equal(engine.space.frames[1].free_count, 0);
    assert_int_equal(ff__engine_preevict(&engine, 1000, 1, &job), FF__JOB_RUN);
    assert_false(job.has_in);
    assert_int_equal(job.out_count, 1);
    carry_out(&job);
    assert_int_equal(engine.space.frames[1].free_count, 1);
    assert_int_equal(ff__engine_preevict(&engine, 1000, 1, &job), FF__JOB_NONE);
    assert_int_equal(ff__engine_preevict(&engine, 1000, 2, &job), FF__JOB_NONE);
    close_engine();
}

/* Memory that a device loses is emptied if it is in use, also if the policy would name nobody; and
 * what is taken in place of what leaves is no more than what there was. */
static void test_capacity_shrinks_and_grows(void **state) {
    (void)state;
    open_engine("demand:evict=rogue-quiet", 4);
    const struct ff__frames *frames = &engine.space.frames[1];
    const struct ff_stats *stats = &engine.space.stats;
    uint32_t block = add_range(4 * 512);
    for (uint32_t i = 0; i < 3; i++)
        bring(block + i, 0, 1);
    assert_int_equal(ff__engine_set_memory(&engine, 1, 2 * BLOCK_BYTES), 0);
    assert_int_equal(engine.view.capacity[1], 2 * 512);
    assert_int_equal(stats->capacity, 6 * BLOCK_BYTES);
    assert_int_equal(frames->free_count, 0);
    assert_int_equal(stats->overshoot, BLOCK_BYTES);
    bring(block + 3, 0, 1); /* in the place of another one */
    assert_int_equal(stats->resident, 3 * BLOCK_BYTES);
    while (ff__engine_preevict(&engine, 1000, 1, &job) == FF__JOB_RUN && stats->overshoot > 0)
        carry_out(&job);
    assert_int_equal(stats->overshoot, 0);
    assert_true(stats->resident <= 2 * BLOCK_BYTES);
    assert_int_equal(ff__engine_set_memory(&engine, 1, 4 * BLOCK_BYTES), 0);
    assert_int_equal(frames->withheld, 0);
    assert_true(frames->free_count >= 2);
    assert_int_equal(ff__engine_set_memory(&engine, 1, BLOCK_BYTES - 1), -EINVAL);
    assert_int_equal(ff__engine_set_memory(&engine, 1, 5 * BLOCK_BYTES), -EINVAL);
    assert_int_equal(stats->capacity, 8 * BLOCK_BYTES);
    close_engine();
}

/* What fits is what a device has room for of that which it uses itself. */
static void test_preeviction_by_device(void **state) {
    (void)state;
    uint32_t range;
    open_engine("demand", 4);
    uint32_t block = add_range(4 * 512);
    assert_int_equal(ff__engine_range_add(&engine, 4 * 512, 0, 2, &range), 0);
    uint32_t second = engine.space.ranges[range].first_block;
    for (uint32_t i = 0; i < 4; i++) {
        bring(block + i, 0, 1);
        bring(second + i, 0, 1);
    }
    assert_int_equal(engine.space.frames[1].free_count + engine.space.frames[2].free_count, 0);
    assert_int_equal(ff__engine_preevict(&engine, 1000, 1, &job), FF__JOB_NONE);
    assert_int_equal(ff__engine_preevict(&engine, 1000, 2, &job), FF__JOB_NONE);
    /* the first device begins to use what the second one has */
    struct ff_fault_group group = group_of(second, 1, 2);
    group.tier = 1;
    assert_int_equal(ff__engine_fault(&engine, 1000, &group, &job), FF__JOB_RUN);
    carry_out(&job);
    assert_int_equal(ff__engine_preevict(&engine, 1000, 1, &job), FF__JOB_RUN);
    carry_out(&job);
    close_engine();
}

static void queue_bring(struct ff__queue *queue, uint32_t block) {
    const struct ff_advice advice = {.action = FF_BRING,
                                     .block = block,
                                     .tier = 1,
                                     .launch = FF_NONE,
                                     .pages = ff_mask_of_run(0, FF_BLOCK_PAGES)};
    assert_true(ff__queue_push(queue, &advice));
}

static enum ff__ahead ahead(struct ff__queue *queue, uint32_t tier) {
    enum ff__ahead what = ff__engine_ahead(&engine, 1000, tier, queue, &job);
    if (what == FF__AHEAD_FOLLOW || what == FF__AHEAD_EVICT) {
        assert_int_equal(job.has_in, what == FF__AHEAD_FOLLOW);
        carry_out(&job);
    }
    return what;
}

/* What is above the capacity leaves before advice is followed, and what is to be free as a reserve
 * after. */
static void test_order_ahead_of_need(void **state) {
    (void)state;
    struct ff__queue queue;
    assert_int_equal(ff__queue_init(&queue, 4, sizeof(struct ff_advice)), 0);
    open_engine("demand", 4);
    uint32_t block = add_range(5 * 512);
    for (uint32_t i = 0; i < 4; i++)
        bring(block + i, 0, 1);
    assert_int_equal(ff__engine_set_memory(&engine, 1, 3 * BLOCK_BYTES), 0);
    queue_bring(&queue, block + 3); /* the rest of it */
    queue_bring(&queue, block + 3); /* nothing is left to bring */
    queue_bring(&queue, block + 4);
    assert_int_equal(ahead(&queue, 2),
                     FF__AHEAD_FOLLOW); /* the queue is the caller's, for any tier */
    assert_int_equal(ahead(&queue, 1), FF__AHEAD_EVICT);
    assert_int_equal(engine.space.stats.overshoot, 0);
    assert_int_equal(ahead(&queue, FF_NONE), FF__AHEAD_NEXT);
    assert_int_equal(ahead(&queue, FF_NONE), FF__AHEAD_FOLLOW);
    assert_int_equal(engine.space.frames[1].free_count, 0);
    assert_int_equal(ahead(&queue, 2), FF__AHEAD_NOTHING);
    assert_int_equal(ahead(&queue, FF_NONE), FF__AHEAD_EVICT);
    assert_int_equal(engine.space.frames[1].free_count, 1);
    assert_int_equal(ahead(&queue, FF_NONE), FF__AHEAD_NOTHING);
    close_engine();
    ff__queue_fini(&queue);
}

static void test_dead_pages_are_not_copied(void **state) {
    (void)state;
    open_engine("demand", 4);
    uint32_t block = add_range(512);
    bring(block, 0, 20);
    struct ff_mask dead = ff_mask_of_run(10, 30);
    assert_int_equal(ff__engine_evict(&engine, 1000, block, 1, NULL, &dead, &job), FF__JOB_RUN);
    carry_out(&job);
    assert_int_equal(engine.space.stats.pages_out, 10);
    assert_int_equal(ff_mask_count(&ff__facts(&engine.space, block)->tier[FF_TIER_HOST].resident),
                     10);
    assert_int_equal(ff__engine_evict(&engine, 1000, block, 1, NULL, &dead, &job), FF__JOB_NONE);
    bring(block, 0, 20);
    assert_int_equal(engine.space.stats.pages_in, 10); /* the dead read as zeros */
    assert_int_equal(engine.space.stats.populated, 30);
    close_engine();
}

/* ---- launches and events ---- */

static void test_launches_get_ids(void **state) {
    (void)state;
    open_engine("nvidia", 4);
    assert_int_equal(ff__running_latest(&engine.running[1]), FF_NONE);
    assert_int_equal(tell_launch(&engine, 1, 1, 0, true), 0); /* 0 is an identity, too */
    assert_int_equal(ff__running_latest(&engine.running[1]), 0);
    assert_int_equal(tell_launch(&engine, 2, 2, UINT64_MAX, true), 0);
    assert_int_equal(ff__running_latest(&engine.running[2]), 1);
    assert_int_equal(tell_launch(&engine, 3, 1, 0, false), 0);
    assert_int_equal(ff__running_latest(&engine.running[1]), FF_NONE);
    assert_int_equal(tell_launch(&engine, 4, 1, UINT64_MAX, true), 0);
    assert_int_equal(ff__running_latest(&engine.running[1]), 1);
    struct ff_fault_group group = group_of(add_range(10), 0, 1);
    assert_int_equal(ff__engine_fault(&engine, 1000, &group, &job), FF__JOB_RUN);
    assert_int_equal(group.launch, 1);
    carry_out(&job);
    assert_int_equal(engine.space.stats.launches, 3);
    close_engine();
}

static uint32_t launch_of_fault(uint32_t block) {
    struct ff_fault_group group = group_of(block, 0, 1);
    if (ff__engine_fault(&engine, 1000, &group, &job) == FF__JOB_RUN)
        carry_out(&job);
    return group.launch;
}

static void begin_with(uint64_t identity, uint32_t range, uint32_t second) {
    const struct ff_operand operands[] = {{.range = range}, {.range = second}};
    const struct ff__launch launch = {
        .tier = 1, .begins = true, .identity = identity, .operands = operands, .operand_count = 2};
    struct ff_advice_list none = {.capacity = 0};
    assert_int_equal(ff__engine_launch(&engine, 1, &launch, &none), 0);
}

/* A fault belongs to the running launch that names its range; other faults to the launch that began
 * last. */
static void test_launches_at_a_time(void **state) {
    (void)state;
    open_engine("nvidia", 4);
    uint32_t blocks[3], ranges[3];
    for (uint32_t i = 0; i < 3; i++) {
        blocks[i] = add_range(10);
        ranges[i] = engine.space.blocks[blocks[i]].range;
    }
    begin_with(0, ranges[0], ranges[0]);
    begin_with(1, ranges[1], ranges[0]);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(launch_of_fault(blocks[i]), 1);
    assert_int_equal(tell_launch(&engine, 3, 1, 1, false), 0);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(launch_of_fault(blocks[i]), 0);
    begin_with(2, ranges[2], ranges[2]);
    assert_int_equal(launch_of_fault(blocks[0]), 0);
    assert_int_equal(launch_of_fault(blocks[1]), 2); /* nobody names it */
    assert_int_equal(launch_of_fault(blocks[2]), 2);
    remove_range(blocks[0]);
    assert_int_equal(ff__running_with(&engine.running[1], ranges[0]), 2);
    for (uint32_t i = 3; i < 3 + FF__RUNNING_MAX;
         i++) /* without an end: the oldest are forgotten */
        assert_int_equal(tell_launch(&engine, 7, 1, i, true), 0);
    assert_int_equal(engine.running[1].count, FF__RUNNING_MAX);
    assert_false(ff__running_has(&engine.running[1], 2));
    assert_true(ff__running_has(&engine.running[1], 3));
    close_engine();
}

/* A program that makes new identities without end: those launched longest ago are forgotten, and no
 * ID comes back under another kernel. */
static void test_identities_without_end(void **state) {
    (void)state;
    struct ff__engine_config config = config_for("deepum-plus", 4);
    enum { LIMIT = 8, LAUNCHES = 100 };
    uint32_t ids[LAUNCHES];
    config.launch_limit = LIMIT;
    assert_int_equal(ff__engine_init(&engine, &config, NULL), 0);
    fake_open(&fake, &engine.space, 1);
    uint32_t block = add_range(8 * 512);
    for (uint32_t i = 0; i < LAUNCHES; i++) {
        assert_int_equal(tell_launch(&engine, i, 1, 0, true), 0); /* is launched all the time */
        assert_int_equal(ff__running_latest(&engine.running[1]), 0);
        assert_int_equal(tell_launch(&engine, i, 1, 0, false), 0);
        assert_int_equal(tell_launch(&engine, i, 1, 1000 + i, true), 0);
        ids[i] = ff__running_latest(&engine.running[1]);
        assert_int_equal(ff_launch_slot(ids[i]), 1 + i % (LIMIT - 1));
        for (uint32_t before = 0; before < i; before++)
            assert_int_not_equal(ids[before], ids[i]);
        bring(block + i % 8, 0, 1);
        assert_int_equal(tell_launch(&engine, i, 1, 1000 + i, false), 0);
        ff__engine_learn_all(&engine);
    }
    assert_int_equal(engine.launches.given, 1 + LAUNCHES);
    assert_int_equal(engine.launches.slots.count, LIMIT - 1); /* and 0, which is kept apart */
    for (uint32_t i = 0; i < LIMIT; i++)                      /* what is known keeps its ID */
        assert_int_equal(ff__launch_ids_find(&engine.launches, 1000 + LAUNCHES - 1 - i),
                         i < LIMIT - 1 ? ids[LAUNCHES - 1 - i] : FF_NONE);
    close_engine();
}

/* The end of a launch that is not known any more is ignored. */
static void test_end_of_a_forgotten_launch(void **state) {
    (void)state;
    struct ff__engine_config config = config_for("deepum-plus", 4);
    config.launch_limit = 1;
    assert_int_equal(ff__engine_init(&engine, &config, NULL), 0);
    fake_open(&fake, &engine.space, 1);
    assert_int_equal(tell_launch(&engine, 1, 1, 7, true), 0);
    assert_int_equal(tell_launch(&engine, 2, 1, 8, true), 0);
    uint32_t id = ff__running_latest(&engine.running[1]);
    assert_int_equal(id, FF_LAUNCH_SLOTS);
    assert_int_equal(tell_launch(&engine, 3, 1, 7, false), 0);
    assert_int_equal(ff__running_latest(&engine.running[1]), id);
    assert_int_equal(tell_launch(&engine, 4, 1, 8, false), 0);
    assert_int_equal(ff__running_latest(&engine.running[1]), FF_NONE);
    close_engine();
}

/* A slot can change hands more often than there are IDs for it. */
static void test_ids_begin_anew(void **state) {
    (void)state;
    struct ff__launch_ids ids;
    uint32_t id = 0, last = FF_NONE;
    assert_int_equal(ff__launch_ids_init(&ids, 1), 0);
    for (uint32_t i = 0; i < 10000; i++, last = id) {
        assert_int_equal(ff__launch_ids_launch(&ids, i, &id), 0);
        assert_true(id != last && id < FF_NONE - 1 && ff_launch_slot(id) == 0);
    }
    ff__launch_ids_fini(&ids);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_visibility),
        cmocka_unit_test(test_control),
        cmocka_unit_test(test_bad_shapes),
        cmocka_unit_test(test_costs_are_said),
        cmocka_unit_test(test_shape_of_a_backend),
        cmocka_unit_test(test_homes),
        cmocka_unit_test(test_policy_that_cannot_start),
        cmocka_unit_test(test_only_what_started_is_ended),
        cmocka_unit_test(test_fault_brings_pages),
        cmocka_unit_test(test_what_leaves_is_counted),
        cmocka_unit_test(test_fault_outside),
        cmocka_unit_test(test_fault_goes_home),
        cmocka_unit_test(test_stale_fault_is_clipped),
        cmocka_unit_test(test_written_is_part_of_faulted),
        cmocka_unit_test(test_late_faults_come_back_once),
        cmocka_unit_test(test_removal_forgets_late_faults),
        cmocka_unit_test(test_closed_block_stays_closed),
        cmocka_unit_test(test_released_block_has_content),
        cmocka_unit_test(test_no_room_while_all_is_in_flight),
        cmocka_unit_test(test_shared_chunk_goes_as_one),
        cmocka_unit_test(test_shared_chunk_and_a_prefetch),
        cmocka_unit_test(test_shared_chunk_that_is_needed),
        cmocka_unit_test(test_advice_that_does_not_fit),
        cmocka_unit_test(test_preeviction),
        cmocka_unit_test(test_preeviction_by_device),
        cmocka_unit_test(test_order_ahead_of_need),
        cmocka_unit_test(test_capacity_shrinks_and_grows),
        cmocka_unit_test(test_no_room_asks_once),
        cmocka_unit_test(test_dead_pages_are_not_copied),
        cmocka_unit_test(test_launches_get_ids),
        cmocka_unit_test(test_launches_at_a_time),
        cmocka_unit_test(test_identities_without_end),
        cmocka_unit_test(test_end_of_a_forgotten_launch),
        cmocka_unit_test(test_ids_begin_anew),
    };
    rogues_register();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
