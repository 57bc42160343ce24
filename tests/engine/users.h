/* Threads that use the memory above a live pipeline: what the tests of the pipeline share. */
#ifndef FF_TESTS_ENGINE_USERS_H
#define FF_TESTS_ENGINE_USERS_H

#include "base/cases.h"

#include "engine/live.h"
#include "engine/rogues.h"

#include <errno.h>
#include <unistd.h>

#define USERS_MAX 16u

static struct live live;

struct user {
    pthread_t thread;
    uint32_t number, first_block, blocks, touches;
    uint32_t bad; /* touches that ended otherwise than they should */
};

/* Goes through a few pages in a row, then somewhere else. */
static inline void *use_memory(void *argument) {
    struct user *user = argument;
    struct ff__random random = ff__random_seeded(user->number + 1);
    for (uint32_t i = 0; i < user->touches;) {
        uint32_t block = user->first_block + ff__random_below(&random, user->blocks);
        uint32_t page = ff__random_below(&random, FF_BLOCK_PAGES);
        bool write = ff__random_below(&random, 2) != 0;
        for (uint32_t end = i + 1 + ff__random_below(&random, 8); i < end; i++) {
            enum fake_touch result = live_touch(&live, block, (page + i) % FF_BLOCK_PAGES, write);
            if (result == TOUCH_CLOSED)
                return NULL;
            user->bad += result != TOUCHED;
        }
    }
    return NULL;
}

static inline void start_users(struct user *users, uint32_t count, uint32_t blocks,
                               uint32_t touches) {
    memset(users, 0, count * sizeof *users);
    for (uint32_t i = 0; i < count; i++) {
        users[i].number = i;
        users[i].blocks = blocks;
        users[i].touches = touches;
        assert_int_equal(pthread_create(&users[i].thread, NULL, use_memory, &users[i]), 0);
    }
}

static inline uint32_t join_users(struct user *users, uint32_t count) {
    uint32_t bad = 0;
    for (uint32_t i = 0; i < count; i++) {
        pthread_join(users[i].thread, NULL);
        bad += users[i].bad;
    }
    return bad;
}

static inline int launch_live(uint32_t tier, uint64_t identity, bool begins) {
    const struct ff__launch launch = {.tier = tier, .begins = begins, .identity = identity};
    return ff__pipeline_launch(&live.pipeline, &launch);
}

static inline uint32_t touches(uint32_t base) {
    return (uint32_t)scaled_cases(base, base / 20);
}

/* Of the run before, which has ended. */
static struct ff_stats last_stats;

/* Threads on twenty blocks, of which the devices hold fewer. */
static inline void check_users(const struct live_shape *shape, uint32_t count, uint32_t each) {
    struct user users[USERS_MAX];
    live_open(&live, shape);
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(live_add(&live, 4 * 512, 1 + i % shape->devices), i * 4);
    start_users(users, count, 20, touches(each));
    uint32_t bad = join_users(users, count);
    fake_device_let_go(live.device);
    ff__pipeline_stop(&live.pipeline);
    live_check(&live);
    last_stats = live.engine.space.stats;
    live_free(&live);
    assert_int_equal(bad, 0);
}

/* Makes a range, uses it, declares a part of it dead, and frees it, over and over. */
static inline void *come_and_go(void *argument) {
    struct user *user = argument;
    struct ff__random random = ff__random_seeded(user->number + 50);
    for (uint32_t round = 0; round < user->touches; round++) {
        uint32_t pages = 1 + ff__random_below(&random, 1200), count = (pages + 511) / 512;
        uint32_t block = live_add(&live, pages, 1 + user->number % live.shape.devices);
        if (block == FF_NONE)
            continue;
        for (uint32_t i = 0; i < 30; i++) {
            uint32_t page = ff__random_below(&random, pages);
            user->bad += live_touch(&live, block + page / 512, page % 512, i % 3 == 0) != TOUCHED;
        }
        struct ff_mask dead = ff_mask_of_run(0, pages < 300 ? pages : 300);
        pthread_mutex_lock(&live.device->lock);
        struct fake_block *b = &live.device->content.blocks[block];
        b->loose = ff_mask_or(&b->loose, &dead);
        pthread_mutex_unlock(&live.device->lock);
        live_evict(&live, block, &dead, false);
        for (uint32_t i = 0; i < 10; i++)
            user->bad += live_touch(&live, block + i % count, 0, i % 2 == 0) != TOUCHED;
        live_remove(&live, block);
    }
    return NULL;
}

static inline void start_comers(struct user *users, uint32_t count, uint32_t rounds) {
    memset(users, 0, count * sizeof *users);
    for (uint32_t i = 0; i < count; i++) {
        users[i].number = i;
        users[i].touches = rounds;
        assert_int_equal(pthread_create(&users[i].thread, NULL, come_and_go, &users[i]), 0);
    }
}

#endif
