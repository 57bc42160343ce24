/* Ranges, blocks and addresses against a plain list, and a check that must find what is broken. */
#include "base/cases.h"

#include "base/random.h"
#include "space/space.h"

#include <errno.h>

#define BASE    (UINT64_C(0x7f00) << 32)
#define WINDOWS 96u
#define BLOCK   ((uint64_t)FF_BLOCK_SIZE)
#define LIVE    WINDOWS

/* What a twin knows of a range: its addresses. */
struct piece {
    uint64_t first, end;
    uint32_t range;
    bool live;
};

struct twin {
    struct piece pieces[LIVE];
    uint64_t pages;
};

static void open_space(struct ff__space *space, uint32_t devices, uint64_t chunks) {
    assert_int_equal(ff__space_init(space, BASE, WINDOWS * BLOCK, devices, chunks * FF_BLOCK_PAGES,
                                    chunks, 0, false),
                     0);
}

static int check(const struct ff__space *space, struct ff_error *error) {
    uint64_t resident[FF_TIERS_MAX];
    return ff__space_check(space, resident, error);
}

static void check_holds(const struct ff__space *space) {
    struct ff_error error = {""};
    if (check(space, &error))
        fail_msg("%s", error.message);
}

/* ---- the list ---- */

static struct piece *piece_at(struct twin *twin, uint64_t address) {
    for (uint32_t i = 0; i < LIVE; i++)
        if (twin->pieces[i].live && address >= twin->pieces[i].first &&
            address < twin->pieces[i].end)
            return &twin->pieces[i];
    return NULL;
}

/* Whether a window belongs to some live range. */
static bool is_taken(const struct twin *twin, uint32_t window) {
    uint64_t first = BASE + window * BLOCK;
    for (uint32_t i = 0; i < LIVE; i++)
        if (twin->pieces[i].live && twin->pieces[i].first < first + BLOCK &&
            twin->pieces[i].end > first)
            return true;
    return false;
}

static uint32_t longest_hole(const struct twin *twin, uint32_t *holes) {
    uint32_t longest = 0, run = 0;
    *holes = 0;
    for (uint32_t window = 0; window < WINDOWS; window++) {
        run = is_taken(twin, window) ? 0 : run + 1;
        *holes += run == 1;
        longest = run > longest ? run : longest;
    }
    return longest;
}

static void check_address(const struct ff__space *space, struct twin *twin, uint64_t address) {
    uint32_t page = 9999, block = ff__space_find(space, address, &page);
    const struct piece *piece = piece_at(twin, address);
    if (!piece) {
        assert_int_equal(block, FF_NONE);
        return;
    }
    assert_int_equal(block, (address - BASE) / BLOCK);
    assert_true(page < space->blocks[block].page_count);
    assert_int_equal(ff__block_address(space, block) + page * (uint64_t)FF_PAGE_SIZE,
                     address & ~(uint64_t)(FF_PAGE_SIZE - 1));
    assert_int_equal(space->blocks[block].range, piece->range);
}

static void check_range(const struct ff__space *space, const struct piece *piece) {
    const struct ff_range *range = &space->ranges[piece->range];
    assert_int_equal(ff__block_address(space, space->ranges[piece->range].first_block),
                     piece->first);
    assert_int_equal(range->page_count * FF_PAGE_SIZE, piece->end - piece->first);
    uint64_t pages = 0;
    for (uint32_t i = 0; i < range->block_count; i++) {
        const struct ff_block *block = &space->blocks[range->first_block + i];
        assert_int_equal(block->range, piece->range);
        assert_true(block->page_count >= 1 && block->lead + block->page_count <= FF_BLOCK_PAGES);
        assert_true(i == 0 || block->lead == 0);
        pages += block->page_count;
    }
    assert_int_equal(pages, range->page_count);
}

static void check_all(const struct ff__space *space, struct twin *twin, struct ff__random *random) {
    uint32_t holes;
    longest_hole(twin, &holes);
    assert_int_equal(space->hole_count, holes); /* neighbours have become one */
    assert_int_equal(space->stats.allocated, twin->pages * FF_PAGE_SIZE);
    for (uint32_t i = 0; i < LIVE; i++) {
        const struct piece *piece = &twin->pieces[i];
        if (!piece->live)
            continue;
        check_range(space, piece);
        check_address(space, twin, piece->first);
        check_address(space, twin, piece->first - 1);
        check_address(space, twin, piece->end - 1);
        check_address(space, twin, piece->end);
    }
    for (int i = 0; i < 8; i++)
        check_address(space, twin,
                      BASE - BLOCK + ff__random_next(random) % ((WINDOWS + 2) * BLOCK));
    check_holds(space);
}

/* ---- random steps ---- */

static void step_add(struct ff__space *space, struct twin *twin, struct ff__random *random) {
    uint64_t pages = 1 + ff__random_below(random, ff__random_below(random, 4) ? 1500 : 20000);
    uint32_t lead = ff__random_below(random, 2) ? 0 : ff__random_below(random, FF_BLOCK_PAGES);
    uint32_t holes, range = FF_NONE, blocks = (uint32_t)((lead + pages + 511) / 512);
    bool fits = longest_hole(twin, &holes) >= blocks;
    int status = ff__range_add(space, pages, lead, 1, &range);
    assert_int_equal(status, fits ? 0 : -ENOMEM);
    if (!fits)
        return;
    struct piece *piece = twin->pieces;
    while (piece->live)
        piece++;
    uint64_t first = BASE + space->ranges[range].first_block * BLOCK + lead * FF_PAGE_SIZE;
    *piece = (struct piece){first, first + pages * FF_PAGE_SIZE, range, false};
    for (uint32_t i = 0; i < blocks; i++) /* windows of no other block */
        assert_false(is_taken(twin, space->ranges[range].first_block + i));
    for (uint32_t i = 0; i < LIVE; i++)
        assert_false(twin->pieces[i].live && twin->pieces[i].range == range);
    piece->live = true;
    twin->pages += pages;
}

static void step_remove(struct ff__space *space, struct twin *twin, struct ff__random *random) {
    struct piece *piece = &twin->pieces[ff__random_below(random, LIVE)];
    if (!piece->live)
        return;
    ff__range_remove(space, piece->range);
    piece->live = false;
    twin->pages -= (piece->end - piece->first) / FF_PAGE_SIZE;
}

static void test_ranges_against_a_list(void **state) {
    (void)state;
    struct ff__space space;
    static struct twin twin;
    struct ff__random random = ff__random_seeded(1);
    open_space(&space, 2, 4);
    for (unsigned long i = 0, count = scaled_cases(15000, 1500); i < count; i++) {
        if (ff__random_below(&random, 10) < ((i / 100) % 2 ? 2u : 6u))
            step_add(&space, &twin, &random);
        else
            step_remove(&space, &twin, &random);
        check_all(&space, &twin, &random);
    }
    for (uint32_t i = 0; i < LIVE; i++)
        if (twin.pieces[i].live)
            ff__range_remove(&space, twin.pieces[i].range);
    uint32_t range;
    assert_int_equal(space.hole_count, 1);
    assert_int_equal(ff__range_add(&space, WINDOWS * FF_BLOCK_PAGES, 0, 1, &range), 0);
    assert_true(space.range_limit <= WINDOWS); /* ids are used again */
    ff__space_fini(&space);
}

/* ---- by hand ---- */

static void test_refuses(void **state) {
    (void)state;
    struct ff__space space;
    uint32_t range = 77;
    const uint64_t pages = FF_BLOCK_PAGES;
    assert_int_equal(ff__space_init(&space, BASE + 4096, BLOCK, 1, pages, 1, 0, false), -EINVAL);
    assert_int_equal(ff__space_init(&space, BASE, BLOCK - 1, 1, pages, 1, 0, false), -EINVAL);
    assert_int_equal(ff__space_init(&space, BASE, BLOCK, 1, 0, 0, 0, false), -EINVAL);
    assert_int_equal(ff__space_init(&space, BASE, BLOCK, 0, pages, 1, 0, false), -EINVAL);
    assert_int_equal(ff__space_init(&space, BASE, BLOCK, FF_TIERS_MAX, pages, 1, 0, false),
                     -EINVAL);
    assert_int_equal(ff__space_init(&space, BASE, BLOCK << 33, 1, pages, 1, 0, false), -EINVAL);
    assert_int_equal(
        ff__space_init(&space, BASE, BLOCK, 1, pages << 33, UINT64_C(1) << 33, 0, false), -EINVAL);
    open_space(&space, 8, 1);
    assert_int_equal(ff__range_add(&space, 0, 0, 1, &range), -EINVAL);
    assert_int_equal(ff__range_add(&space, 1, FF_BLOCK_PAGES, 1, &range), -EINVAL);
    assert_int_equal(ff__range_add(&space, UINT64_MAX, 0, 1, &range), -ENOMEM);
    assert_int_equal(ff__range_add(&space, WINDOWS * 512, 1, 1, &range), -ENOMEM);
    assert_int_equal(range, 77);
    assert_int_equal(ff__range_add(&space, WINDOWS * 512 - 1, 1, 1, &range), 0);
    assert_int_equal(ff__range_add(&space, 1, 0, 1, &range), -ENOMEM);
    check_holds(&space);
    ff__space_fini(&space);
}

static void test_counts_allocated(void **state) {
    (void)state;
    struct ff__space space;
    uint32_t a, b;
    open_space(&space, 3, 5);
    assert_int_equal(space.stats.capacity, 15 * BLOCK);
    assert_int_equal(ff__range_add(&space, 100, 0, 1, &a), 0);
    assert_int_equal(ff__range_add(&space, 1000, 3, 2, &b), 0);
    assert_int_equal(space.ranges[b].home_tier, 2);
    assert_true(space.used[1] == 100 && space.used[2] == 1000);
    ff__range_use(&space, b, 1);
    ff__range_use(&space, b, 1);
    assert_true(space.used[1] == 1100 && space.used[2] == 1000);
    ff__range_set_home(&space, b, 3);
    assert_true(space.used[1] == 100 && space.used[2] == 0 && space.used[3] == 1000);
    ff__range_remove(&space, a);
    assert_int_equal(space.used[1], 0);
    assert_int_equal(space.stats.allocated, 1000 * FF_PAGE_SIZE);
    assert_int_equal(space.stats.allocated_peak, 1100 * FF_PAGE_SIZE);
    ff__space_fini(&space);
}

/* A live backend does not pay for what only the simulator needs. */
static void test_size_of_facts(void **state) {
    (void)state;
    struct ff__space space;
    open_space(&space, 1, 1);
    assert_true(space.facts_size <= 512);
    assert_int_equal(space.page_facts_at, 0);
    ff__space_fini(&space);
    assert_int_equal(ff__space_init(&space, BASE, BLOCK, 1, FF_BLOCK_PAGES, 1, 0, true), 0);
    assert_int_equal(space.page_facts_at, ff__facts_size(2));
    assert_int_equal(space.facts_size, ff__facts_size(2) + sizeof(struct ff__page_facts));
    ff__space_fini(&space);
}

/* What a test leaves in a block, in every field. */
static void scribble(struct ff__space *space, uint32_t block) {
    memset(ff__facts(space, block), 0xA5, space->facts_size);
}

static void check_clean(const struct ff__space *space, uint32_t block) {
    const unsigned char *facts = (const void *)ff__facts(space, block);
    for (size_t i = 0; i < space->facts_size; i++)
        if (facts[i] != 0)
            fail_msg("block %u: byte %zu of its facts is %u", block, i, facts[i]);
}

/* A new range on old windows starts without content, and its neighbours keep theirs. */
static void check_born_clean(uint32_t blocks) {
    struct ff__space space;
    uint32_t before, range, after, first;
    uint64_t pages = (uint64_t)blocks * FF_BLOCK_PAGES;
    assert_int_equal(
        ff__space_init(&space, BASE, (blocks + 2) * BLOCK, 2, 4 * FF_BLOCK_PAGES, 4, 0, false), 0);
    assert_int_equal(ff__range_add(&space, 1, 0, 1, &before), 0);
    assert_int_equal(ff__range_add(&space, pages, 0, 1, &range), 0);
    assert_int_equal(ff__range_add(&space, 1, 0, 1, &after), 0);
    for (uint32_t block = 0; block < blocks + 2; block++)
        scribble(&space, block);
    first = space.ranges[range].first_block;
    ff__range_remove(&space, range);
    assert_int_equal(ff__range_add(&space, pages - 9, 9, 2, &range), 0);
    assert_int_equal(space.ranges[range].first_block, first);
    for (uint32_t block = first; block < first + blocks; block++)
        check_clean(&space, block);
    assert_int_equal(ff__facts(&space, first - 1)->busy, 0xA5);
    assert_int_equal(ff__facts(&space, first + blocks)->busy, 0xA5);
    ff__space_fini(&space);
}

static void test_blocks_are_born_clean(void **state) {
    (void)state;
    check_born_clean(1);
    check_born_clean(2);
    check_born_clean(2000); /* whose records are given back */
}

static void test_present_is_the_union_of_devices(void **state) {
    (void)state;
    struct ff__space space;
    uint32_t range;
    open_space(&space, 3, 4);
    assert_int_equal(ff__range_add(&space, 512, 0, 1, &range), 0);
    ff_mask_set(&ff__facts(&space, 0)->tier[0].resident, 1);
    ff_mask_set(&ff__facts(&space, 0)->tier[1].resident, 2);
    ff_mask_set(&ff__facts(&space, 0)->tier[3].resident, 511);
    struct ff_mask present = ff__block_present(&space, 0), expected = {{0}};
    ff_mask_set(&expected, 2);
    ff_mask_set(&expected, 511);
    assert_true(ff_mask_equal(&present, &expected));
    ff__space_fini(&space);
}

/* policy.h: a block without a range has range FF_NONE, and frame FF_NONE while it holds no memory.
 * A policy that looks at a window that was never used must see the same. */
static void test_unused_windows_look_unused(void **state) {
    (void)state;
    struct ff__space space;
    open_space(&space, 1, 4);
    for (uint32_t block = 0; block < space.block_limit; block++) {
        assert_int_equal(space.blocks[block].range, FF_NONE);
        assert_int_equal(space.blocks[block].page_count, 0);
        for (uint32_t tier = 0; tier < space.tier_count; tier++)
            assert_int_equal(ff__frame(&space, tier, block), FF_NONE);
    }
    ff__space_fini(&space);
}

/* ---- the check ---- */

/* One range of two blocks, 600 pages, of which the first block is on device 1. */
static void open_sound(struct ff__space *space) {
    uint32_t range;
    open_space(space, 2, 4);
    assert_int_equal(ff__range_add(space, 600, 0, 1, &range), 0);
    ff__set_frame(space, 1, 0, ff__frames_alloc(&space->frames[1], FF_CHUNK_LEAVES, 0));
    ff_mask_set_run(&ff__facts(space, 0)->tier[1].resident, 0, 100);
    ff_mask_set_run(&ff__facts(space, 0)->tier[FF_TIER_HOST].resident, 50, 200);
    check_holds(space);
}

typedef void (*break_fn)(struct ff__space *space);

static void put_page_beyond_end(struct ff__space *space) {
    ff_mask_set(&ff__facts(space, 1)->tier[FF_TIER_HOST].resident, 88);
}

static void put_device_page_beyond_end(struct ff__space *space) {
    ff_mask_set(&ff__facts(space, 1)->tier[1].resident, 511);
}

static void put_page_on_two_devices(struct ff__space *space) {
    ff__set_frame(space, 2, 0, ff__frames_alloc(&space->frames[2], FF_CHUNK_LEAVES, 0));
    ff_mask_set(&ff__facts(space, 0)->tier[2].resident, 99);
}

static void take_memory_away(struct ff__space *space) {
    ff__set_frame(space, 1, 0, FF_NONE);
}

static void give_memory_to_another(struct ff__space *space) {
    space->frames[1].owner[ff__frame(space, 1, 0) + 31] = 1;
}

static void share_memory(struct ff__space *space) {
    ff__set_frame(space, 1, 1, ff__frame(space, 1, 0));
}

static void free_memory_in_use(struct ff__space *space) {
    ff__frames_free(&space->frames[1], ff__frame(space, 1, 0), FF_CHUNK_LEAVES);
}

static void hand_out_too_much(struct ff__space *space) {
    space->frames[2].leaves_used = 4 * FF_CHUNK_LEAVES + 1;
}

static void lose_a_page(struct ff__space *space) {
    space->blocks[1].page_count--;
}

static void miscount_bytes(struct ff__space *space) {
    space->stats.allocated += FF_PAGE_SIZE;
}

static void test_check_finds(void **state) {
    (void)state;
    static const break_fn breaks[] = {
        put_page_beyond_end, put_device_page_beyond_end, put_page_on_two_devices,
        take_memory_away,    give_memory_to_another,     share_memory,
        free_memory_in_use,  hand_out_too_much,          lose_a_page,
        miscount_bytes,
    };
    for (size_t i = 0; i < sizeof breaks / sizeof breaks[0]; i++) {
        struct ff__space space;
        struct ff_error error = {""};
        open_sound(&space);
        breaks[i](&space);
        if (check(&space, &error) != -EUCLEAN || !error.message[0])
            fail_msg("break %zu was not found", i);
        assert_int_equal(check(&space, NULL), -EUCLEAN);
        ff__space_fini(&space);
    }
}

/* ---- the check, of split blocks ---- */

/* One range of two blocks; the first has its leaves 2 and 5 on device 1. */
static void open_sound_split(struct ff__space *space) {
    uint32_t range;
    open_space(space, 2, 4);
    assert_int_equal(ff__range_add(space, 600, 0, 1, &range), 0);
    ff__set_frame(space, 1, 0, FF__SPLIT);
    for (uint32_t leaf = 2; leaf <= 5; leaf += 3) {
        *ff__frames_leaf(&space->frames[1], 0, leaf) =
            1 + ff__frames_alloc_leaf(&space->frames[1], 0);
        ff_mask_set(&ff__facts(space, 0)->tier[1].resident, leaf * FF_LEAF_PAGES + 3);
    }
    check_holds(space);
}

/* The same, but the first block's pages 35, 83 and 200 lie in one leaf of memory. */
static void open_sound_pages(struct ff__space *space) {
    open_sound_split(space);
    struct ff_mask *resident = &ff__facts(space, 0)->tier[1].resident;
    struct ff__frames *frames = &space->frames[1];
    ff__frames_free(frames, *ff__frames_leaf(frames, 0, 5) - 1, 1);
    *ff__frames_leaf(frames, 0, 5) = 0;
    ff__set_frame(space, 1, 0, FF__SPLIT_PAGES);
    ff_mask_set(resident, 200);
    ff__frames_put(frames, 0, resident);
    check_holds(space);
}

static void put_two_in_one_place(struct ff__space *space) {
    space->frames[1].places[0].slot[200] = space->frames[1].places[0].slot[35];
}

static void put_one_where_no_memory_is(struct ff__space *space) {
    ff_mask_clear(&space->frames[1].places[0].used);
    space->frames[1].places[0].slot[200] = 5;
    ff_mask_set(&space->frames[1].places[0].used, 5);
    ff_mask_set_run(&space->frames[1].places[0].used, 32, 34);
}

static void use_a_place_for_nothing(struct ff__space *space) {
    ff_mask_unset(&ff__facts(space, 0)->tier[1].resident, 83);
}

static void lose_a_leaf(struct ff__space *space) {
    *ff__frames_leaf(&space->frames[1], 0, 5) = 0;
}

static void hold_a_leaf_for_nothing(struct ff__space *space) {
    *ff__frames_leaf(&space->frames[1], 0, 7) = 1 + ff__frames_alloc_leaf(&space->frames[1], 0);
}

static void hold_a_leaf_twice(struct ff__space *space) {
    ff__set_frame(space, 1, 1, FF__SPLIT);
    ff_mask_set(&ff__facts(space, 1)->tier[1].resident, 0);
    *ff__frames_leaf(&space->frames[1], 1, 0) = *ff__frames_leaf(&space->frames[1], 0, 5);
}

static void free_a_leaf_in_use(struct ff__space *space) {
    ff__frames_free(&space->frames[1], *ff__frames_leaf(&space->frames[1], 0, 5) - 1, 1);
}

static void name_a_leaf_that_is_not(struct ff__space *space) {
    *ff__frames_leaf(&space->frames[1], 0, 5) = 1 + 4 * FF_CHUNK_LEAVES;
}

static void test_check_finds_in_split_blocks(void **state) {
    (void)state;
    static const break_fn breaks[] = {lose_a_leaf, hold_a_leaf_for_nothing, hold_a_leaf_twice,
                                      free_a_leaf_in_use, name_a_leaf_that_is_not};
    for (size_t i = 0; i < sizeof breaks / sizeof breaks[0]; i++) {
        struct ff__space space;
        open_sound_split(&space);
        breaks[i](&space);
        if (check(&space, NULL) != -EUCLEAN)
            fail_msg("break %zu was not found", i);
        ff__facts(&space, 0)->busy = 1; /* its leaves may change hands */
        ff__facts(&space, 1)->busy = 1;
        check_holds(&space);
        ff__space_fini(&space);
    }
}

static void test_check_finds_in_single_pages(void **state) {
    (void)state;
    static const break_fn breaks[] = {put_two_in_one_place, put_one_where_no_memory_is,
                                      use_a_place_for_nothing};
    for (size_t i = 0; i < sizeof breaks / sizeof breaks[0]; i++) {
        struct ff__space space;
        open_sound_pages(&space);
        breaks[i](&space);
        if (check(&space, NULL) != -EUCLEAN)
            fail_msg("break %zu was not found", i);
        ff__space_fini(&space);
    }
}

/* A block that is being evicted has pages but no memory, which is valid. */
static void test_check_allows_what_is_in_flight(void **state) {
    (void)state;
    struct ff__space space;
    open_sound(&space);
    ff__set_frame(&space, 1, 0, FF_NONE);
    ff__facts(&space, 0)->busy = 1;
    check_holds(&space);
    ff__space_fini(&space);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranges_against_a_list),
        cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_counts_allocated),
        cmocka_unit_test(test_size_of_facts),
        cmocka_unit_test(test_blocks_are_born_clean),
        cmocka_unit_test(test_present_is_the_union_of_devices),
        cmocka_unit_test(test_unused_windows_look_unused),
        cmocka_unit_test(test_check_finds),
        cmocka_unit_test(test_check_finds_in_split_blocks),
        cmocka_unit_test(test_check_finds_in_single_pages),
        cmocka_unit_test(test_check_allows_what_is_in_flight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
