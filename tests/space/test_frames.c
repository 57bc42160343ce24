/* The memory of one device against a plain map of which block holds which leaf. */
#include "base/cases.h"

#include "base/random.h"
#include "space/frames.h"

#define CHUNKS    6u
#define LEAVES    FF_CHUNK_LEAVES
#define BLOCKS    120u
#define SPLIT     80u /* blocks from here on hold single leaves */
#define HELD_NONE 0u

struct holding {
    uint32_t frame, leaves; /* leaves 0: the block holds nothing */
};

struct twin {
    uint32_t owner[CHUNKS * LEAVES];
    struct holding block[BLOCKS];
};

static void twin_open(struct twin *twin) {
    memset(twin, 0, sizeof *twin);
    for (uint32_t i = 0; i < CHUNKS * LEAVES; i++)
        twin->owner[i] = FF_NONE;
}

static void twin_take(struct twin *twin, uint32_t frame, uint32_t leaves, uint32_t block) {
    assert_true(leaves > 0 && frame + leaves <= CHUNKS * LEAVES);
    assert_int_equal(frame / LEAVES, (frame + leaves - 1) / LEAVES); /* within one chunk */
    for (uint32_t i = 0; i < leaves; i++) {
        assert_int_equal(twin->owner[frame + i], FF_NONE);
        twin->owner[frame + i] = block;
    }
    twin->block[block] = (struct holding){frame, leaves};
}

static void twin_drop_leaves(struct twin *twin, uint32_t chunk, uint32_t block) {
    for (uint32_t leaf = chunk * LEAVES; leaf < (chunk + 1) * LEAVES; leaf++)
        if (twin->owner[leaf] == block)
            twin->owner[leaf] = FF_NONE;
}

static void twin_drop(struct twin *twin, uint32_t block) {
    struct holding *held = &twin->block[block];
    for (uint32_t i = 0; i < held->leaves; i++) {
        assert_int_equal(twin->owner[held->frame + i], block);
        twin->owner[held->frame + i] = FF_NONE;
    }
    *held = (struct holding){0, HELD_NONE};
}

/* Whether a run of so many free leaves exists in any chunk. */
static bool twin_has_run(const struct twin *twin, uint32_t leaves) {
    for (uint32_t chunk = 0; chunk < CHUNKS; chunk++) {
        uint32_t run = 0;
        for (uint32_t leaf = 0; leaf < LEAVES; leaf++) {
            run = twin->owner[chunk * LEAVES + leaf] == FF_NONE ? run + 1 : 0;
            if (run >= leaves)
                return true;
        }
    }
    return false;
}

static uint32_t twin_owners(const struct twin *twin, uint32_t chunk, uint32_t owners[LEAVES]) {
    uint32_t count = 0;
    for (uint32_t leaf = 0; leaf < LEAVES; leaf++) {
        uint32_t owner = twin->owner[chunk * LEAVES + leaf];
        bool known = owner == FF_NONE;
        for (uint32_t i = 0; i < count; i++)
            known = known || owners[i] == owner;
        if (!known)
            owners[count++] = owner;
    }
    return count;
}

/* ---- comparing ---- */

static void check_chunk(const struct ff__frames *frames, const struct twin *twin, uint32_t chunk) {
    uint32_t owners[LEAVES], expected[LEAVES];
    uint32_t count = ff__frames_blocks(frames, chunk, owners);
    assert_int_equal(count, twin_owners(twin, chunk, expected));
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(owners[i], expected[i]);
    for (uint32_t leaf = 0; leaf < LEAVES; leaf++) {
        uint32_t owner = twin->owner[chunk * LEAVES + leaf];
        assert_int_equal(frames->used[chunk] >> leaf & 1, owner != FF_NONE);
        if (owner != FF_NONE)
            assert_int_equal(frames->owner[chunk * LEAVES + leaf], owner);
    }
}

static bool listed(const uint32_t *list, uint32_t count, uint32_t chunk) {
    uint32_t times = 0;
    for (uint32_t i = 0; i < count; i++)
        times += list[i] == chunk;
    assert_true(times <= 1);
    return times == 1;
}

static void check_same(const struct ff__frames *frames, const struct twin *twin) {
    uint32_t used = 0, free_chunks = 0, partial = 0;
    for (uint32_t chunk = 0; chunk < CHUNKS; chunk++) {
        uint32_t leaves = 0;
        for (uint32_t leaf = 0; leaf < LEAVES; leaf++)
            leaves += twin->owner[chunk * LEAVES + leaf] != FF_NONE;
        check_chunk(frames, twin, chunk);
        assert_int_equal(listed(frames->free, frames->free_count, chunk), leaves == 0);
        bool is_partial = leaves > 0 && leaves < LEAVES;
        assert_int_equal(listed(frames->partial, frames->partial_count, chunk), is_partial);
        used += leaves;
        free_chunks += leaves == 0;
        partial += is_partial;
    }
    assert_int_equal(frames->leaves_used, used);
    assert_int_equal(frames->free_leaves, CHUNKS * LEAVES - used);
    assert_int_equal(frames->free_count, free_chunks);
    assert_int_equal(frames->partial_count, partial);
}

/* ---- random steps ---- */

static void step_alloc(struct ff__frames *frames, struct twin *twin, struct ff__random *random) {
    uint32_t block = ff__random_below(random, SPLIT);
    if (twin->block[block].leaves != HELD_NONE)
        return;
    uint32_t leaves = ff__random_below(random, 4) ? 1 + ff__random_below(random, 8)
                                                  : 1 + ff__random_below(random, LEAVES);
    uint32_t frame = ff__frames_alloc(frames, leaves, block);
    if (frame == FF_NONE)
        assert_false(twin_has_run(twin, leaves));
    else
        twin_take(twin, frame, leaves, block);
}

/* Of a chunk that is in use, if there is one. */
static void step_alloc_leaf(struct ff__frames *frames, struct twin *twin,
                            struct ff__random *random) {
    uint32_t block = SPLIT + ff__random_below(random, BLOCKS - SPLIT);
    bool is_partial = frames->partial_count > 0;
    uint32_t frame = ff__frames_alloc_leaf(frames, block), owners[LEAVES];
    if (frame == FF_NONE) {
        assert_false(twin_has_run(twin, 1));
        return;
    }
    assert_true(frame < CHUNKS * LEAVES && twin->owner[frame] == FF_NONE);
    assert_int_equal(twin_owners(twin, frame / LEAVES, owners) > 0, is_partial);
    twin->owner[frame] = block;
}

/* A leaf of a split block is given back, or goes to another one, as when it is evicted for it. */
static void step_change_leaf(struct ff__frames *frames, struct twin *twin,
                             struct ff__random *random) {
    uint32_t frame = ff__random_below(random, CHUNKS * LEAVES);
    uint32_t other = SPLIT + ff__random_below(random, BLOCKS - SPLIT);
    bool gives = ff__random_below(random, 2);
    if (twin->owner[frame] == FF_NONE || twin->owner[frame] < SPLIT)
        return;
    if (gives)
        ff__frames_give(frames, frame, 1, other);
    else
        ff__frames_free(frames, frame, 1);
    twin->owner[frame] = gives ? other : FF_NONE;
}

static void step_free(struct ff__frames *frames, struct twin *twin, struct ff__random *random) {
    uint32_t block = ff__random_below(random, BLOCKS);
    struct holding held = twin->block[block];
    if (held.leaves == HELD_NONE)
        return;
    ff__frames_free(frames, held.frame, held.leaves);
    twin_drop(twin, block);
}

/* As an eviction does: the chunk changes hands whole, and what the new block needs not comes back
 * later. */
static void step_take_chunk(struct ff__frames *frames, struct twin *twin,
                            struct ff__random *random) {
    uint32_t owners[LEAVES], chunk = ff__random_below(random, CHUNKS), block = 0;
    uint32_t count = twin_owners(twin, chunk, owners),
             leaves = 1 + ff__random_below(random, LEAVES);
    while (block < SPLIT && twin->block[block].leaves != HELD_NONE)
        block++;
    if (count == 0 || block == SPLIT)
        return;
    for (uint32_t i = 0; i < count; i++) {
        if (owners[i] < SPLIT)
            twin_drop(twin, owners[i]);
        else
            twin_drop_leaves(twin, chunk, owners[i]);
    }
    assert_int_equal(ff__frames_take_chunk(frames, chunk, block), chunk * LEAVES);
    twin_take(twin, chunk * LEAVES, LEAVES, block);
    check_same(frames, twin);
    ff__frames_trim_chunk(frames, chunk, leaves);
    twin_drop(twin, block);
    twin_take(twin, chunk * LEAVES, leaves, block);
}

static void test_twin(void **state) {
    (void)state;
    struct ff__frames frames;
    static struct twin twin;
    struct ff__random random = ff__random_seeded(1);
    twin_open(&twin);
    assert_int_equal(ff__frames_init(&frames, CHUNKS, 0, BLOCKS), 0);
    for (unsigned long i = 0, count = scaled_cases(120000, 8000); i < count; i++) {
        uint32_t choice = ff__random_below(&random, 100), filling = (i / 400) % 2 ? 35 : 60;
        if (choice < filling / 2)
            step_alloc(&frames, &twin, &random);
        else if (choice < filling)
            step_alloc_leaf(&frames, &twin, &random);
        else if (choice < (filling + 97) / 2)
            step_change_leaf(&frames, &twin, &random);
        else if (choice < 97)
            step_free(&frames, &twin, &random);
        else
            step_take_chunk(&frames, &twin, &random);
        check_same(&frames, &twin);
    }
    for (uint32_t block = 0; block < BLOCKS; block++) {
        if (twin.block[block].leaves != HELD_NONE)
            ff__frames_free(&frames, twin.block[block].frame, twin.block[block].leaves);
    }
    for (uint32_t chunk = 0; chunk < CHUNKS; chunk++)
        for (uint32_t block = SPLIT; block < BLOCKS; block++)
            ff__frames_free_owner(&frames, chunk, block);
    assert_int_equal(frames.free_count, CHUNKS); /* all of it came back */
    assert_int_equal(frames.leaves_used, 0);
    ff__frames_fini(&frames);
}

/* ---- the places of pages, of one block ---- */

/* Where each page is, or FF_NONE; pages come and go, and leaves with them. */
struct places_twin {
    uint32_t at[FF_BLOCK_PAGES], held;
};

static struct ff_mask twin_pages(const struct places_twin *twin, uint32_t leaves) {
    struct ff_mask pages = {{0}};
    for (uint32_t page = 0; page < FF_BLOCK_PAGES; page++)
        if (twin->at[page] != FF_NONE && leaves >> twin->at[page] / FF_LEAF_PAGES & 1)
            ff_mask_set(&pages, page);
    return pages;
}

static void check_places(const struct ff__frames *frames, const struct places_twin *twin,
                         uint32_t block, struct ff__random *random) {
    struct ff_mask all = twin_pages(twin, UINT32_MAX);
    uint32_t some = (uint32_t)ff__random_next(random) & (uint32_t)ff__random_next(random);
    struct ff_mask here = twin_pages(twin, some), part = {{0}};
    struct ff_mask found = ff__frames_pages_in(frames, FF__SPLIT_PAGES, block, some, &all);
    assert_true(ff_mask_equal(&here, &found));
    uint32_t leaves = 0;
    FF_MASK_FOR_EACH_PAGE(&all, page) {
        if (ff__random_below(random, 20))
            continue;
        ff_mask_set(&part, page);
        leaves |= 1u << twin->at[page] / FF_LEAF_PAGES;
    }
    assert_int_equal(ff__frames_leaves_under(frames, FF__SPLIT_PAGES, block, &part), leaves);
    assert_int_equal(ff__frames_held(frames, block), twin->held);
    assert_int_equal(ff__frames_free_slots(frames, block),
                     (uint32_t)__builtin_popcount(twin->held) * FF_LEAF_PAGES -
                         ff_mask_count(&all));
}

/* Pages come, with as many leaves as they need. */
static void step_come(struct ff__frames *frames, struct places_twin *twin, uint32_t block,
                      struct ff__random *random) {
    struct ff_mask coming = {{0}};
    bool taken[FF_BLOCK_PAGES] = {false};
    for (uint32_t i = 0, count = ff__random_below(random, 40); i < count; i++) {
        uint32_t page = ff__random_below(random, FF_BLOCK_PAGES);
        if (twin->at[page] == FF_NONE)
            ff_mask_set(&coming, page);
    }
    while (ff__frames_free_slots(frames, block) < ff_mask_count(&coming)) {
        uint32_t leaf = (uint32_t)__builtin_ctz(~twin->held);
        *ff__frames_leaf(frames, block, leaf) = 1 + ff__frames_alloc_leaf(frames, block);
        twin->held |= 1u << leaf;
    }
    ff__frames_put(frames, block, &coming);
    for (uint32_t page = 0; page < FF_BLOCK_PAGES; page++)
        if (ff_mask_test(&coming, page))
            twin->at[page] = frames->places[block].slot[page];
    for (uint32_t page = 0; page < FF_BLOCK_PAGES; page++) {
        if (twin->at[page] == FF_NONE)
            continue;
        assert_int_equal(frames->places[block].slot[page], twin->at[page]); /* it does not move */
        assert_true(twin->held >> twin->at[page] / FF_LEAF_PAGES & 1);
        assert_false(taken[twin->at[page]]);
        taken[twin->at[page]] = true;
    }
}

/* Some leave, and leaves in which nothing is left. */
static void step_go(struct ff__frames *frames, struct places_twin *twin, uint32_t block,
                    struct ff__random *random) {
    uint32_t one_in = 1 + ff__random_below(random, 6);
    for (uint32_t page = 0; page < FF_BLOCK_PAGES; page++)
        if (ff__random_below(random, one_in) == 0)
            twin->at[page] = FF_NONE;
    struct ff_mask staying = twin_pages(twin, UINT32_MAX);
    ff__frames_keep(frames, block, &staying);
    for (uint32_t leaf = 0; leaf < FF_CHUNK_LEAVES; leaf++) {
        struct ff_mask in = twin_pages(twin, 1u << leaf);
        if (!(twin->held >> leaf & 1) || !ff_mask_empty(&in))
            continue;
        ff__frames_free(frames, *ff__frames_leaf(frames, block, leaf) - 1, 1);
        *ff__frames_leaf(frames, block, leaf) = 0;
        twin->held &= ~(1u << leaf);
    }
}

static void test_places_twin(void **state) {
    (void)state;
    struct ff__frames frames;
    static struct places_twin twin;
    struct ff__random random = ff__random_seeded(2);
    memset(twin.at, 0xff, sizeof twin.at);
    assert_int_equal(ff__frames_init(&frames, 2, 0, BLOCKS), 0);
    for (unsigned long i = 0, count = scaled_cases(10000, 1000); i < count; i++) {
        if (ff__random_below(&random, 5))
            step_come(&frames, &twin, 7, &random);
        else
            step_go(&frames, &twin, 7, &random);
        check_places(&frames, &twin, 7, &random);
    }
    ff__frames_fini(&frames);
}

/* ---- by hand ---- */

static void test_whole_chunks(void **state) {
    (void)state;
    struct ff__frames frames;
    uint32_t frame[3];
    assert_int_equal(ff__frames_init(&frames, 3, 0, BLOCKS), 0);
    for (uint32_t i = 0; i < 3; i++) {
        frame[i] = ff__frames_alloc(&frames, LEAVES, i);
        assert_int_equal(frame[i] % LEAVES, 0);
    }
    assert_int_equal(ff__frames_alloc(&frames, LEAVES, 9), FF_NONE);
    assert_int_equal(ff__frames_alloc(&frames, 1, 9), FF_NONE);
    ff__frames_free(&frames, frame[1], LEAVES);
    assert_int_equal(ff__frames_alloc(&frames, LEAVES, 9), frame[1]); /* the warmest */
    ff__frames_fini(&frames);
}

/* A block of more than 31 leaves of pages takes a whole chunk; the others share. */
static void test_short_blocks_share_a_chunk(void **state) {
    (void)state;
    struct ff__frames frames;
    assert_int_equal(ff__frames_leaves(1), 1);
    assert_int_equal(ff__frames_leaves(16), 1);
    assert_int_equal(ff__frames_leaves(17), 2);
    assert_int_equal(ff__frames_leaves(496), 31);
    assert_int_equal(ff__frames_leaves(497), 32);
    assert_int_equal(ff__frames_leaves(512), 32);
    assert_int_equal(ff__frames_init(&frames, 2, 0, BLOCKS), 0);
    for (uint32_t i = 0; i < LEAVES; i++)
        assert_int_not_equal(ff__frames_alloc(&frames, 1, i), FF_NONE);
    assert_int_equal(frames.free_count, 1);
    assert_int_not_equal(ff__frames_alloc(&frames, 31, 40), FF_NONE);
    assert_int_equal(frames.free_count, 0);
    assert_int_not_equal(ff__frames_alloc(&frames, 1, 41), FF_NONE);
    assert_int_equal(ff__frames_alloc(&frames, 1, 42), FF_NONE);
    assert_int_equal(frames.leaves_used, 2 * LEAVES);
    ff__frames_fini(&frames);
}

/* A hole in the middle is found if, and only if, it is long enough. */
static void test_holes_of_every_length(void **state) {
    (void)state;
    for (uint32_t length = 1; length < LEAVES; length++) {
        for (uint32_t first = 0; first + length <= LEAVES; first++) {
            struct ff__frames frames;
            assert_int_equal(ff__frames_init(&frames, 1, 0, BLOCKS), 0);
            assert_int_equal(ff__frames_alloc(&frames, LEAVES, 1), 0);
            ff__frames_free(&frames, first, length);
            assert_int_equal(ff__frames_alloc(&frames, length + 1, 2), FF_NONE);
            assert_int_equal(ff__frames_alloc(&frames, length, 2), first);
            assert_int_equal(ff__frames_alloc(&frames, 1, 3), FF_NONE);
            ff__frames_fini(&frames);
        }
    }
}

static void test_trim_to_a_whole_chunk_keeps_it(void **state) {
    (void)state;
    struct ff__frames frames;
    assert_int_equal(ff__frames_init(&frames, 1, 0, BLOCKS), 0);
    assert_int_equal(ff__frames_alloc(&frames, 5, 1), 0);
    assert_int_equal(ff__frames_take_chunk(&frames, 0, 2), 0);
    ff__frames_trim_chunk(&frames, 0, LEAVES);
    assert_int_equal(frames.leaves_used, LEAVES);
    assert_int_equal(frames.free_count + frames.partial_count, 0);
    ff__frames_fini(&frames);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_twin),
        cmocka_unit_test(test_places_twin),
        cmocka_unit_test(test_whole_chunks),
        cmocka_unit_test(test_short_blocks_share_a_chunk),
        cmocka_unit_test(test_holes_of_every_length),
        cmocka_unit_test(test_trim_to_a_whole_chunk_keeps_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
