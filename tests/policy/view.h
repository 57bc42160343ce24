/* What a policy needs around it, without an engine: a view whose masks the test writes, an instance
 * of the policy, and masks written as text ("0-4 6 20-31"). */
#ifndef TESTS_POLICY_VIEW_H
#define TESTS_POLICY_VIEW_H

#include "engine/background.h"
#include "space/space.h"

#include <farfault/model.h>

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fake {
    struct ff_view view;
    struct ff_block *blocks;
    struct ff_range range;
    unsigned char *facts;
    uint64_t free_pages[FF_TIERS_MAX]; /* for the test to write */
    /* [block] who lies in its chunk besides, 1 + block; 0: nobody */
    uint32_t *mate;
};

static inline void *fake_zeroed(size_t size) {
    size = (size + 63) / 64 * 64;
    void *memory = aligned_alloc(64, size ? size : 64);
    assert(memory);
    memset(memory, 0, size);
    return memory;
}

/* For the test to write. */
static inline struct ff_facts *fake_facts(const struct fake *fake, uint32_t block) {
    return (void *)(fake->facts + block * fake->view.facts_size);
}

static inline struct ff_mask *fake_resident(const struct fake *fake, uint32_t tier,
                                            uint32_t block) {
    return &fake_facts(fake, block)->tier[tier].resident;
}

/* FF_NONE: none. */
static inline void fake_set_frame(const struct fake *fake, uint32_t tier, uint32_t block,
                                  uint32_t frame) {
    fake_facts(fake, block)->memory[tier] = frame + 1;
}

static inline uint64_t fake_free_pages(const void *state, uint32_t tier) {
    return ((const struct fake *)state)->free_pages[tier];
}

static inline uint32_t fake_granule(const void *state, uint32_t tier, uint32_t block) {
    const struct fake *fake = state;
    uint32_t frame = ff__facts_frame(fake_facts(fake, block), tier);
    if (frame == FF_NONE)
        return fake->view.unit;
    return frame == FF__SPLIT ? FF_LEAF_PAGES : frame == FF__SPLIT_PAGES ? 1 : FF_BLOCK_PAGES;
}

static inline uint32_t fake_mates(const void *state, uint32_t tier, uint32_t block,
                                  uint32_t mates[FF_CHUNK_LEAVES]) {
    const struct fake *fake = state;
    (void)tier;
    mates[0] = block;
    mates[1] = fake->mate[block] - 1;
    return fake->mate[block] == 0 ? 1 : 2;
}

/* Blocks of 512 pages, resident nowhere, without memory. Links and faults cost
 * about as much as those of a real device. */
static inline void fake_open(struct fake *fake, uint32_t tiers, uint32_t blocks) {
    static struct ff_link_cost links[FF_TIERS_MAX * FF_TIERS_MAX];
    static const struct ff_memory_hooks hooks = {fake_free_pages, fake_granule, fake_mates};
    memset(fake, 0, sizeof *fake);
    for (uint32_t i = 0; i < tiers * tiers; i++)
        links[i] = (struct ff_link_cost){10000, 12000000000, 0};
    fake->view.links = links;
    fake->view.fault_ns = 20000;
    fake->blocks = fake_zeroed(blocks * sizeof *fake->blocks);
    fake->mate = fake_zeroed(blocks * sizeof *fake->mate);
    fake->view.memory = (struct ff_memory){&hooks, fake};
    fake->view.coming_at = ff__facts_size(tiers) + offsetof(struct ff__page_facts, coming);
    fake->view.facts_size = ff__facts_size(tiers) + sizeof(struct ff__page_facts);
    fake->view.unit = FF_BLOCK_PAGES;
    fake->facts = fake_zeroed(blocks * fake->view.facts_size);
    fake->range = (struct ff_range){.block_count = blocks, .home_tier = 1};
    for (uint32_t i = 0; i < blocks; i++)
        fake->blocks[i] = (struct ff_block){.page_count = FF_BLOCK_PAGES};
    fake->view.tier_count = tiers;
    fake->view.block_limit = blocks;
    fake->view.blocks = fake->blocks;
    fake->view.ranges = &fake->range;
    fake->view.facts = fake->facts;
}

static inline void fake_close(struct fake *fake) {
    free(fake->blocks);
    free(fake->facts);
    free(fake->mate);
}

/* ---- an instance of a policy ------------------------------------------------------------ */

struct instance {
    const struct ff_policy *policy;
    int64_t params[FF_PARAMS_MAX];
    const char *text; /* text parameters; NULL: all are empty */
    bool virtual_time;
    const struct ff_future *future; /* NULL: none */
    void *state, *block_state, *range_state, *arena;
    struct ff__background background;
};

static inline void instance_init(struct instance *instance, const struct ff_policy *policy) {
    memset(instance, 0, sizeof *instance);
    instance->policy = policy;
    for (unsigned i = 0; policy->params && policy->params[i].name; i++)
        instance->params[i] = policy->params[i].initial;
}

static inline void instance_set(struct instance *instance, const char *name, int64_t value) {
    unsigned i = 0;
    while (instance->policy->params[i].name && strcmp(instance->policy->params[i].name, name) != 0)
        i++;
    assert(instance->policy->params[i].name);
    instance->params[i] = value;
}

static inline void instance_open(struct instance *instance, const struct ff_view *view,
                                 uint32_t tier) {
    const struct ff_policy *policy = instance->policy;
    instance->state = fake_zeroed(policy->state_size);
    instance->block_state = fake_zeroed(policy->block_state_size * view->block_limit);
    instance->range_state = fake_zeroed(policy->range_state_size * view->block_limit);
    size_t arena_size = policy->arena_size ? policy->arena_size(instance->params) : 0;
    instance->arena = fake_zeroed(arena_size);
    const struct ff_model model = {.future = instance->future};
    struct ff_policy_env env = {.tier_count = view->tier_count,
                                .tier = tier,
                                .block_limit = view->block_limit,
                                .range_limit = view->block_limit,
                                .block_state = instance->block_state,
                                .range_state = instance->range_state,
                                .arena = instance->arena,
                                .arena_size = arena_size,
                                .params = instance->params,
                                .text = instance->text ? instance->text : "",
                                .background = &instance->background.verbs,
                                .model =
                                    instance->virtual_time || instance->future ? &model : NULL};
    ff__background_init(&instance->background, instance->virtual_time);
    int status = policy->init ? policy->init(instance->state, &env) : 0;
    assert(status == 0);
    (void)status;
}

/* How much of an instance's block state has been written to: the bytes up to the last one that is
 * not zero. */
static inline size_t instance_written(const struct instance *instance, const struct ff_view *view) {
    const unsigned char *bytes = instance->block_state;
    size_t size = instance->policy->block_state_size * view->block_limit;
    while (size > 0 && bytes[size - 1] == 0)
        size--;
    return size;
}

static inline void instance_close(struct instance *instance) {
    ff__background_fini(&instance->background);
    if (instance->policy->fini)
        instance->policy->fini(instance->state);
    free(instance->state);
    free(instance->block_state);
    free(instance->range_state);
    free(instance->arena);
}

/* ---- masks as text ---------------------------------------------------------------------- */

static inline struct ff_mask mask_of(const char *text) {
    struct ff_mask mask = {0};
    for (const char *at = text; *at;) {
        char *end;
        uint32_t first = (uint32_t)strtoul(at, &end, 10), last = first;
        if (*end == '-')
            last = (uint32_t)strtoul(end + 1, &end, 10);
        assert(end != at && first <= last && last < FF_BLOCK_PAGES);
        ff_mask_set_run(&mask, first, last + 1);
        for (at = end; *at == ' ' || *at == ',';)
            at++;
    }
    return mask;
}

#define MASK_TEXT 2600 /* more than any mask needs */

static inline const char *mask_text(const struct ff_mask *mask, char text[MASK_TEXT]) {
    int used = 0;
    text[0] = '\0';
    FF_MASK_FOR_EACH_RUN(mask, run) {
        if (run.end - run.first == 1)
            used += snprintf(text + used, (size_t)(MASK_TEXT - used), "%s%u", used ? " " : "",
                             run.first);
        else
            used += snprintf(text + used, (size_t)(MASK_TEXT - used), "%s%u-%u", used ? " " : "",
                             run.first, run.end - 1);
        assert(used < MASK_TEXT);
    }
    return text;
}

/* How many random cases: the base, or TEST_SCALE percent of it, at least `least`. */
static inline unsigned long scaled(unsigned long base, unsigned long least) {
    const char *scale = getenv("TEST_SCALE");
    unsigned long count = scale ? base * strtoul(scale, NULL, 10) / 100 : base;
    return count < least ? least : count;
}

#endif
