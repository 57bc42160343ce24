/* Operations of warps, against the words of the PTX ISA for one lane at a time. */
#include "base/cases.h"

#include "base/random.h"
#include "ptx/warp.h"

enum { LANES = FF_PTX_WARP };

struct warp {
    struct ff_ptx_lanes lanes;
    uint32_t in[FF_PTX_IN][LANES], out[FF_PTX_OUT][LANES];
};

static const char *failure;

static void note_failure(const struct ff_ptx_block *block, const char *message) {
    (void)block;
    failure = message;
}

static const struct ff_ptx_services services = {.fail = note_failure};
static const struct ff_ptx_block block = {.services = &services};

static uint32_t random_word(struct ff__random *random) {
    return (uint32_t)(ff__random_next(random) >> 32);
}

/* All lanes, few, about a half, one. */
static uint32_t random_set(struct ff__random *random) {
    switch (ff__random_below(random, 4)) {
    case 0:
        return 0xffffffffu;
    case 1:
        return random_word(random) & random_word(random) & random_word(random);
    case 2:
        return 1u << ff__random_below(random, LANES);
    default:
        return random_word(random);
    }
}

static void fill(struct warp *warp, struct ff__random *random) {
    warp->lanes = (struct ff_ptx_lanes){.in = *warp->in, .out = *warp->out, .count = LANES};
    for (uint32_t l = 0; l < LANES; l++) {
        for (uint32_t row = 0; row < FF_PTX_IN; row++)
            warp->in[row][l] = random_word(random);
        for (uint32_t row = 0; row < FF_PTX_OUT; row++)
            warp->out[row][l] = random_word(random);
    }
}

static bool is_in(uint32_t set, uint32_t l) {
    return set >> l & 1;
}

/* Runs the operation and checks the first `rows` rows against the twin's, and that the rest stayed
 * as it was. */
static void check(struct warp *warp, uint32_t wait, uint32_t members,
                  uint32_t expected[FF_PTX_OUT][LANES], uint32_t rows) {
    const struct ff_ptx_region region = {.wait = wait};
    uint32_t before[FF_PTX_OUT][LANES];
    memcpy(before, warp->out, sizeof before);
    ff__ptx_warp(&region, &warp->lanes, members, &block);
    for (uint32_t row = 0; row < FF_PTX_OUT; row++)
        for (uint32_t l = 0; l < LANES; l++) {
            uint32_t right = row < rows && is_in(members, l) ? expected[row][l] : before[row][l];
            if (warp->out[row][l] != right)
                fail_msg("operation %u, lanes %08x: lane %u has %08x in row %u, not %08x", wait,
                         members, l, warp->out[row][l], row, right);
        }
}

/* ---- shuffles ---- */

static void shuffle_twin(const struct warp *warp, uint32_t wait, uint32_t members,
                         uint32_t expected[FF_PTX_OUT][LANES]) {
    for (int lane = 0; lane < LANES; lane++) {
        int bval = warp->in[2][lane] % 32, cval = warp->in[3][lane] % 32;
        int segmask = warp->in[3][lane] / 256 % 32, j;
        int max_lane = (lane & segmask) | (cval & ~segmask), min_lane = lane & segmask;
        bool pval;
        if (wait == FF_PTX_SHFL_UP) {
            j = lane - bval;
            pval = j >= max_lane;
        } else {
            j = wait == FF_PTX_SHFL_DOWN   ? lane + bval
                : wait == FF_PTX_SHFL_BFLY ? lane ^ bval
                                           : min_lane | (bval & ~segmask);
            pval = j <= max_lane;
        }
        if (!pval)
            j = lane;
        expected[0][lane] = is_in(members, (uint32_t)j) ? warp->in[1][j] : 0;
        expected[1][lane] = pval;
    }
}

static void shuffles(void **state) {
    (void)state;
    struct ff__random random = ff__random_seeded(1);
    static const uint32_t usual[] = {0, 31, 0x1f, 0x181f, 0x1c1f, 0x1000, 0x1800};
    for (unsigned long i = 0; i < scaled_cases(4000, 400); i++) {
        struct warp warp;
        uint32_t expected[FF_PTX_OUT][LANES], members = random_set(&random);
        fill(&warp, &random);
        uint32_t c = usual[ff__random_below(&random, sizeof usual / sizeof *usual)];
        for (uint32_t l = 0; i % 2 == 0 && l < LANES; l++) {
            warp.in[2][l] = (uint32_t)i / 8 % 33;
            warp.in[3][l] = c;
        }
        uint32_t wait = FF_PTX_SHFL_UP + (uint32_t)i / 2 % 4;
        shuffle_twin(&warp, wait, members, expected);
        check(&warp, wait, members, expected, 2);
    }
}

/* What CUDA's functions make of a width of 8: __shfl_down_sync(mask, value, 2, 8). */
static void segments(void **state) {
    (void)state;
    struct ff__random random = ff__random_seeded(2);
    struct warp warp;
    uint32_t expected[FF_PTX_OUT][LANES];
    fill(&warp, &random);
    for (uint32_t l = 0; l < LANES; l++) {
        warp.in[2][l] = 2;
        warp.in[3][l] = (LANES - 8) << 8 | 31;
        expected[1][l] = l % 8 < 6;
        expected[0][l] = warp.in[1][l % 8 < 6 ? l + 2 : l];
    }
    check(&warp, FF_PTX_SHFL_DOWN, 0xffffffffu, expected, 2);
}

/* ---- votes, matches, reductions ---- */

static uint32_t vote_twin(const struct warp *warp, uint32_t wait, uint32_t members) {
    uint32_t ballot = 0, holds = 0, count = 0;
    for (uint32_t l = 0; l < LANES; l++)
        if (is_in(members, l)) {
            count++;
            holds += warp->in[1][l] != 0;
            ballot |= (uint32_t)(warp->in[1][l] != 0) << l;
        }
    return wait == FF_PTX_VOTE_ALL   ? holds == count
           : wait == FF_PTX_VOTE_ANY ? holds > 0
           : wait == FF_PTX_VOTE_UNI ? holds == count || holds == 0
                                     : ballot;
}

static void votes(void **state) {
    (void)state;
    struct ff__random random = ff__random_seeded(3);
    for (unsigned long i = 0; i < scaled_cases(4000, 400); i++) {
        struct warp warp;
        uint32_t expected[FF_PTX_OUT][LANES], members = random_set(&random);
        fill(&warp, &random);
        uint32_t set = i % 3 == 0 ? members : i % 3 == 1 ? ~members : random_set(&random);
        for (uint32_t l = 0; l < LANES; l++)
            warp.in[1][l] = is_in(set, l);
        uint32_t wait = FF_PTX_VOTE_ALL + ff__random_below(&random, 4);
        for (uint32_t l = 0; l < LANES; l++)
            expected[0][l] = vote_twin(&warp, wait, members);
        check(&warp, wait, members, expected, members != 0);
    }
}

static void match_twin(const struct warp *warp, uint32_t members,
                       uint32_t expected[FF_PTX_OUT][LANES]) {
    for (uint32_t l = 0; l < LANES; l++) {
        expected[0][l] = 0;
        for (uint32_t k = 0; k < LANES; k++)
            if (is_in(members, k) && warp->in[1][k] == warp->in[1][l] &&
                warp->in[2][k] == warp->in[2][l])
                expected[0][l] |= 1u << k;
    }
}

static void matches(void **state) {
    (void)state;
    struct ff__random random = ff__random_seeded(4);
    for (unsigned long i = 0; i < scaled_cases(4000, 400); i++) {
        struct warp warp;
        uint32_t expected[FF_PTX_OUT][LANES], members = random_set(&random);
        if (members == 0)
            continue;
        fill(&warp, &random);
        uint32_t different = ff__random_below(&random, 4);
        for (uint32_t l = 0; l < LANES; l++) {
            warp.in[1][l] = ff__random_below(&random, 1 + different) << 31;
            warp.in[2][l] = ff__random_below(&random, 1 + different / 2);
        }
        match_twin(&warp, members, expected);
        check(&warp, FF_PTX_MATCH_ANY, members, expected, 1);
        for (uint32_t l = 0; l < LANES; l++) {
            expected[1][l] = expected[0][l] == members;
            expected[0][l] = expected[1][l] ? members : 0;
        }
        check(&warp, FF_PTX_MATCH_ALL, members, expected, 2);
    }
}

static int64_t reduce_twin(uint32_t wait, int64_t a, int64_t b) {
    switch (wait) {
    case FF_PTX_REDUX_ADD:
        return a + b;
    case FF_PTX_REDUX_MIN_U32:
    case FF_PTX_REDUX_MIN_S32:
        return a < b ? a : b;
    case FF_PTX_REDUX_MAX_U32:
    case FF_PTX_REDUX_MAX_S32:
        return a > b ? a : b;
    case FF_PTX_REDUX_AND:
        return a & b;
    case FF_PTX_REDUX_OR:
        return a | b;
    default:
        return a ^ b;
    }
}

static void reductions(void **state) {
    (void)state;
    struct ff__random random = ff__random_seeded(5);
    for (unsigned long i = 0; i < scaled_cases(4000, 400); i++) {
        struct warp warp;
        uint32_t expected[FF_PTX_OUT][LANES], members = random_set(&random);
        if (members == 0)
            continue;
        fill(&warp, &random);
        uint32_t wait = FF_PTX_REDUX_ADD + (uint32_t)i % 8;
        bool is_signed = wait == FF_PTX_REDUX_MIN_S32 || wait == FF_PTX_REDUX_MAX_S32, any = false;
        int64_t result = 0;
        for (uint32_t l = 0; l < LANES; l++) {
            int64_t value = is_signed ? (int32_t)warp.in[1][l] : (int64_t)warp.in[1][l];
            if (is_in(members, l)) {
                result = any ? reduce_twin(wait, result, value) : value;
                any = true;
            }
        }
        for (uint32_t l = 0; l < LANES; l++)
            expected[0][l] = (uint32_t)result;
        check(&warp, wait, members, expected, 1);
    }
}

static void other_operations(void **state) {
    (void)state;
    struct ff__random random = ff__random_seeded(6);
    struct warp warp;
    uint32_t expected[FF_PTX_OUT][LANES];
    fill(&warp, &random);
    for (uint32_t l = 0; l < LANES; l++)
        expected[0][l] = 0x00ff0100u;
    check(&warp, FF_PTX_ACTIVEMASK, 0x00ff0100u, expected, 1);
    check(&warp, FF_PTX_WARP_SYNC, 0x00ff0100u, expected, 0);
}

static void matrices_need_the_warp(void **state) {
    (void)state;
    static const uint32_t waits[] = {FF_PTX_MMA, FF_PTX_LDMATRIX};
    for (size_t i = 0; i < 2; i++) {
        static uint64_t memory[2];
        struct warp warp = {.lanes = {.in = *warp.in, .out = *warp.out, .count = LANES}};
        for (uint32_t l = 0; l < LANES; l++) {
            warp.in[0][l] = (uint32_t)(uintptr_t)memory;
            warp.in[1][l] = (uint32_t)((uintptr_t)memory >> 32);
        }
        struct ff_ptx_region region = {.wait = waits[i], .shape = i == 0 ? 0 : 1};
        failure = NULL;
        ff__ptx_warp(&region, &warp.lanes, 0xffffffffu, &block);
        assert_null(failure);
        ff__ptx_warp(&region, &warp.lanes, 0x7fffffffu, &block);
        assert_non_null(failure);
    }
}

/* ---- who can go on ---- */

static uint32_t ready(struct warp *warp, uint32_t wait, uint32_t here, uint32_t exited,
                      bool stuck) {
    const struct ff_ptx_region region = {.wait = wait};
    return ff__ptx_warp_ready(&region, &warp->lanes, here, exited, stuck);
}

static void set_masks(struct warp *warp, uint32_t set, uint32_t mask) {
    for (uint32_t l = 0; l < LANES; l++)
        if (is_in(set, l))
            warp->in[0][l] = mask;
}

static void lanes_wait_for_their_mask(void **state) {
    (void)state;
    for (uint32_t wait = FF_PTX_WARP_SYNC; wait < FF_PTX_ACTIVEMASK; wait++) {
        struct warp warp = {.lanes = {.in = *warp.in, .out = *warp.out, .count = LANES}};
        set_masks(&warp, 0xffffffffu, 0xffffffffu);
        assert_int_equal(ready(&warp, wait, 0xffffffffu, 0, false), 0xffffffffu);
        assert_int_equal(ready(&warp, wait, 0x7fffffffu, 0, false), 0);
        assert_int_equal(ready(&warp, wait, 0x7fffffffu, 0x80000000u, false), 0x7fffffffu);
        assert_int_equal(ready(&warp, wait, 0x7fffffffu, 0, true), 0x7fffffffu);
        /* two groups, of which the second is complete; one more has left another mask */
        set_masks(&warp, 0x0000ffffu, 0x0000ffffu);
        set_masks(&warp, 0x00ff0000u, 0x80ff0000u);
        set_masks(&warp, 0x01000000u, 0x01ff0000u);
        assert_int_equal(ready(&warp, wait, 0x01ff00ffu, 0x80000000u, false), 0x00ff0000u);
        assert_int_equal(ready(&warp, wait, 0x010000ffu, 0x80000000u, false), 0);
        assert_int_equal(ready(&warp, wait, 0x010000ffu, 0x80000000u, true), 0);
        set_masks(&warp, 0x00020000u, 0x01ff0000u);
        assert_int_equal(ready(&warp, wait, 0x00ff0000u, 0x80000000u, false), 0);
    }
}

static void the_others_want_all_lanes(void **state) {
    (void)state;
    for (uint32_t wait = FF_PTX_ACTIVEMASK; wait <= FF_PTX_MMA; wait++) {
        struct warp warp = {.lanes = {.in = *warp.in, .out = *warp.out, .count = LANES}};
        assert_int_equal(ready(&warp, wait, 0x0000ffffu, 0x00ff0000u, false), 0);
        assert_int_equal(ready(&warp, wait, 0x0000ffffu, 0xffff0000u, false), 0x0000ffffu);
        assert_int_equal(ready(&warp, wait, 0x0000ffffu, 0, true), 0x0000ffffu);
        assert_int_equal(ready(&warp, wait, 0, 0, true), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shuffles),
        cmocka_unit_test(segments),
        cmocka_unit_test(votes),
        cmocka_unit_test(matches),
        cmocka_unit_test(reductions),
        cmocka_unit_test(other_operations),
        cmocka_unit_test(matrices_need_the_warp),
        cmocka_unit_test(lanes_wait_for_their_mask),
        cmocka_unit_test(the_others_want_all_lanes),
    };
    return cmocka_run_group_tests_name("ptx.warp", tests, NULL, NULL);
}
