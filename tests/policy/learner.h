/* What the tests of DeepUM's prefetchers and evictors share: events are told one by one, and advice
 * is compared. Whoever includes this names the prefetcher under test, hooks(), and sets parameters
 * of its own in prepare(). */
#ifndef FF_TESTS_POLICY_LEARNER_H
#define FF_TESTS_POLICY_LEARNER_H

#include "base/cases.h"

#include "policy/registry.h"
#include "view.h"

#define BLOCKS 64u

static struct fake fake;
static struct instance policy;

static const struct ff_prefetch_policy *hooks(void);
static void prepare(void);

/* The policy under test, with small tables, and one parameter set unless it is NULL. */
static void open_policy(const char *name, int64_t value) {
    fake_open(&fake, 2, BLOCKS);
    fake.view.capacity[1] = BLOCKS * FF_BLOCK_PAGES;
    instance_init(&policy, &hooks()->base);
    instance_set(&policy, "tables", 1 << 20);
    prepare();
    if (name)
        instance_set(&policy, name, value);
    instance_open(&policy, &fake.view, FF_NONE);
    fake.view.forecast = (struct ff_forecast){hooks()->forecast, policy.state};
}

static void close_policy(void) {
    instance_close(&policy);
    fake_close(&fake);
}

static void tell(enum ff_event_kind kind, uint32_t launch, uint32_t block) {
    const struct ff_event event = {.kind = kind, .tier = 1, .block = block, .launch = launch};
    hooks()->learning->publish(policy.state, &event, 1);
}

/* A kernel and its faults, up to FF_NONE. */
static void run(uint32_t launch, const uint32_t *blocks) {
    tell(FF_EVENT_LAUNCH, launch, FF_NONE);
    for (; *blocks != FF_NONE; blocks++)
        tell(FF_EVENT_FAULT, launch, *blocks);
    tell(FF_EVENT_LAUNCH_END, launch, FF_NONE);
}

static struct ff_advice items[BLOCKS];

/* What is advised now, compared with blocks up to FF_NONE. */
static void expect(const uint32_t *blocks) {
    struct ff_advice_list list = {.items = items, .capacity = BLOCKS};
    hooks()->learning->plan(policy.state, &fake.view, &list);
    uint32_t count = 0;
    for (; blocks[count] != FF_NONE; count++)
        if (count >= list.count || items[count].block != blocks[count])
            fail_msg("advice %u of %u is %u, not %u", count, list.count,
                     count < list.count ? items[count].block : 0, blocks[count]);
    assert_int_equal(list.count, count);
}

#define LIST(...) ((const uint32_t[]){__VA_ARGS__, FF_NONE})
#define NOTHING   ((const uint32_t[]){FF_NONE})

/* Three kernels, each with blocks of its own. */
static void learn_three(uint32_t iterations) {
    for (uint32_t iteration = 0; iteration < iterations; iteration++) {
        run(0, LIST(1, 2, 3));
        run(1, LIST(11, 12));
        run(2, LIST(21, 22, 23));
    }
}

/* ---- eviction ---- */

static struct instance evictor;
static struct ff_victim victims[BLOCKS];

static void arrive(const struct ff_evict_policy *evict, uint32_t block) {
    fake_set_frame(&fake, 1, block, block);
    *fake_resident(&fake, 1, block) = ff_mask_of_run(0, FF_BLOCK_PAGES);
    const struct ff_arrival arrival = {
        .kind = FF_ARRIVAL_ALLOCATED, .block = block, .tier = 1, .faulted = true};
    evict->base.on_arrival(evictor.state, &fake.view, &arrival);
}

static void open_evictor(const struct ff_evict_policy *evict) {
    open_policy(NULL, 0);
    learn_three(2);
    tell(FF_EVENT_LAUNCH, 0, FF_NONE);
    instance_init(&evictor, &evict->base);
    instance_open(&evictor, &fake.view, 1);
    /* 40 and 41 are unexpected; blocks from 50 on have come so lately that they stay */
    static const uint32_t arrivals[] = {23, 1,  40, 3,  12, 41, 2,  50,
                                        51, 52, 53, 54, 55, 56, 57, 58};
    for (size_t i = 0; i < sizeof arrivals / sizeof arrivals[0]; i++)
        arrive(evict, arrivals[i]);
}

static void close_evictor(void) {
    instance_close(&evictor);
    close_policy();
}

static uint32_t first_victim(const struct ff_evict_policy *evict, enum ff_evict_cause cause,
                             uint32_t for_block) {
    struct ff_victim_list list = {victims, 0, BLOCKS};
    const struct ff_evict_request request = {cause, 1, for_block, FF_BLOCK_PAGES, FF_BLOCK_PAGES};
    evict->pick(evictor.state, &fake.view, &request, &list);
    return list.count ? victims[0].block : FF_NONE;
}

static void leave(const struct ff_evict_policy *evict, uint32_t block) {
    fake_set_frame(&fake, 1, block, FF_NONE);
    const struct ff_leave released = {.kind = FF_LEAVE_RELEASED, .block = block, .tier = 1};
    evict->base.on_leave(evictor.state, &fake.view, &released);
}

#endif
