/* One engine, two devices, one job at a time: for tests of the engine's calls one by one. */
#ifndef FF_TESTS_ENGINE_SINGLE_H
#define FF_TESTS_ENGINE_SINGLE_H

#include "base/cases.h"

#include "base/leaves.h"
#include "engine/launch.h"
#include "engine/rogues.h"
#include "fake/content.h"
#include "fake/costs.h"

#include <errno.h>

#define BLOCK_BYTES ((uint64_t)FF_BLOCK_SIZE)
#define ALL_SEEN                                                                                   \
    (FF_SEES_FAULTS | FF_SEES_LAUNCHES | FF_SEES_ACCESSES | FF_SEES_INSTRUCTIONS | FF_SEES_OPERANDS)

static struct ff__engine engine;
static struct fake fake;
static struct ff__job job;
static struct ff__description backend; /* of the latest config_for() */

static inline struct ff__engine_config config_for(const char *system, uint64_t chunks) {
    struct ff__engine_config config = {
        .backend = &backend,
        .base = FAKE_BASE,
        .address_space = 64 * BLOCK_BYTES,
        .devices = 2,
        .memory = chunks * BLOCK_BYTES,
        .reserve = 1,
        .check = true,
        .virtual_time = true,
    };
    backend = (struct ff__description){
        .tier_count = 3,
        .shows = ALL_SEEN,
        .controls = FF_CONTROLS_FAULTS | FF_CONTROLS_VICTIMS,
    };
    set_costs(&backend);
    struct ff_error error = {""};
    if (ff__system_parse(system, &config.system, &error))
        fail_msg("%s", error.message);
    return config;
}

static inline void open_engine(const char *system, uint64_t chunks) {
    struct ff__engine_config config = config_for(system, chunks);
    struct ff_error error = {""};
    if (ff__engine_init(&engine, &config, &error))
        fail_msg("%s", error.message);
    fake_open(&fake, &engine.space, 1);
}

static inline void close_engine(void) {
    struct ff_error error = {""};
    if (ff__engine_check(&engine, &error))
        fail_msg("%s", error.message);
    assert_string_equal(engine.failure.message, "");
    assert_string_equal(fake.violation, "");
    fake_close(&fake);
    ff__engine_fini(&engine);
}

/* Its first block. */
static inline uint32_t add_range(uint64_t pages) {
    uint32_t range = 0;
    assert_int_equal(ff__engine_range_add(&engine, pages, 0, 1, &range), 0);
    return engine.space.ranges[range].first_block;
}

static inline struct ff_fault_group group_of(uint32_t block, uint32_t first, uint32_t end) {
    return (struct ff_fault_group){block, FF_NONE, FF_NONE, ff_mask_of_run(first, end), {{0}}, 0};
}

static inline int fault(uint32_t block, uint32_t first, uint32_t end, struct ff__job *to) {
    struct ff_fault_group group = group_of(block, first, end);
    return ff__engine_fault(&engine, 1000, &group, to);
}

static inline void carry_out(struct ff__job *what) {
    for (uint32_t i = 0; i < what->out_count; i++)
        fake_begin(&what->out[i]), fake_move(&fake, &what->out[i], NULL);
    if (what->has_in)
        fake_begin(&what->in), fake_move(&fake, &what->in, NULL);
    ff__engine_finish(&engine, 2000, what);
}

static inline void bring(uint32_t block, uint32_t first, uint32_t end) {
    assert_int_equal(fault(block, first, end, &job), FF__JOB_RUN);
    carry_out(&job);
}

/* Frees the block's range. */
static inline void remove_range(uint32_t first_block) {
    uint32_t range = engine.space.blocks[first_block].range;
    for (uint32_t i = 0; i < engine.space.ranges[range].block_count; i++) {
        uint32_t block = first_block + i;
        for (uint32_t tier = 1; tier < engine.space.tier_count; tier++)
            if (ff__engine_evict(&engine, 3000, block, tier, NULL, NULL, &job) == FF__JOB_RUN)
                carry_out(&job);
        fake_forget(&fake, block);
    }
    ff__engine_range_remove(&engine, range);
}

#endif
