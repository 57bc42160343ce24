#include "ptx/warp.h"

#include "ptx/mma.h"
#include <string.h>

enum { LANES = FF_PTX_WARP };
#define ALL      0xffffffffu

#define BITS4(n) 1u << (n), 1u << ((n) + 1), 1u << ((n) + 2), 1u << ((n) + 3)
static const uint32_t bits[LANES] = {BITS4(0),  BITS4(4),  BITS4(8),  BITS4(12),
                                     BITS4(16), BITS4(20), BITS4(24), BITS4(28)};

static const uint32_t *in_row(const struct ff_ptx_lanes *lanes, uint32_t row) {
    return lanes->in + row * LANES;
}

static uint32_t first_of(uint32_t set) {
    return (uint32_t)__builtin_ctz(set);
}

/* ---- sets of lanes ---- */

uint32_t ff__ptx_lanes_equal(const uint32_t *row, uint32_t value) {
    uint32_t set = 0;
    for (uint32_t l = 0; l < LANES; l++)
        set |= row[l] == value ? bits[l] : 0;
    return set;
}

static void set_row(struct ff_ptx_lanes *lanes, uint32_t row, uint32_t members, uint32_t value) {
    uint32_t *out = lanes->out + row * LANES;
    for (uint32_t l = 0; l < LANES; l++)
        out[l] = members & bits[l] ? value : out[l];
}

/* ---- who can go on ---- */

static bool has_mask(uint32_t wait) {
    return wait >= FF_PTX_WARP_SYNC && wait < FF_PTX_ACTIVEMASK;
}

uint32_t ff__ptx_warp_ready(const struct ff_ptx_region *region, const struct ff_ptx_lanes *lanes,
                            uint32_t here, uint32_t exited, bool stuck) {
    for (uint32_t left = here; left != 0;) {
        uint32_t group = left, mask = ALL;
        if (has_mask(region->wait)) {
            mask = in_row(lanes, 0)[first_of(left)];
            group &= ff__ptx_lanes_equal(in_row(lanes, 0), mask);
        }
        if ((mask & ~exited & ~group) == 0 || (stuck && mask == ALL))
            return group;
        left &= ~group;
    }
    return 0;
}

/* ---- shuffles ---- */

/* The lane that each lane reads, and whether it is in the range that c tells: bits 0 to 4 clamp,
 * bits 8 to 12 are those of the lane number that stay as they are. `wait` is a constant, so that
 * the loop is one of vectors. */
static inline __attribute__((always_inline)) void
find_sources(uint32_t wait, const struct ff_ptx_lanes *lanes, uint32_t *source, uint32_t *valid) {
    const uint32_t *b = in_row(lanes, 2), *c = in_row(lanes, 3);
    for (uint32_t l = 0; l < LANES; l++) {
        int32_t lane = (int32_t)l, by = b[l] & 31, kept = c[l] >> 8 & 31, clamp = c[l] & 31;
        int32_t limit = (lane & kept) | (clamp & ~kept);
        int32_t from = wait == FF_PTX_SHFL_UP     ? lane - by
                       : wait == FF_PTX_SHFL_DOWN ? lane + by
                       : wait == FF_PTX_SHFL_BFLY ? lane ^ by
                                                  : (lane & kept) | (by & ~kept);
        bool in_range = wait == FF_PTX_SHFL_UP ? from >= limit : from <= limit;
        valid[l] = in_range;
        source[l] = (uint32_t)(in_range ? from : lane);
    }
}

static void find_sources_of(uint32_t wait, const struct ff_ptx_lanes *lanes, uint32_t *source,
                            uint32_t *valid) {
    switch (wait) {
    case FF_PTX_SHFL_UP:
        find_sources(FF_PTX_SHFL_UP, lanes, source, valid);
        return;
    case FF_PTX_SHFL_DOWN:
        find_sources(FF_PTX_SHFL_DOWN, lanes, source, valid);
        return;
    case FF_PTX_SHFL_BFLY:
        find_sources(FF_PTX_SHFL_BFLY, lanes, source, valid);
        return;
    default:
        find_sources(FF_PTX_SHFL_IDX, lanes, source, valid);
    }
}

/* A lane that reads one which is not there gets 0: PTX leaves it open, and programs add it up. */
static void shuffle(uint32_t wait, struct ff_ptx_lanes *lanes, uint32_t members) {
    const uint32_t *value = in_row(lanes, 1);
    uint32_t source[LANES], valid[LANES];
    find_sources_of(wait, lanes, source, valid);
    if (members == ALL) {
        for (uint32_t l = 0; l < LANES; l++)
            lanes->out[l] = value[source[l]];
        memcpy(lanes->out + LANES, valid, sizeof valid);
        return;
    }
    for (uint32_t left = members; left != 0; left &= left - 1) {
        uint32_t l = first_of(left);
        lanes->out[l] = members & bits[source[l]] ? value[source[l]] : 0;
        lanes->out[LANES + l] = valid[l];
    }
}

/* ---- votes ---- */

static void vote(uint32_t wait, struct ff_ptx_lanes *lanes, uint32_t members) {
    uint32_t holds = members & ~ff__ptx_lanes_equal(in_row(lanes, 1), 0);
    uint32_t result = wait == FF_PTX_VOTE_ALL   ? holds == members
                      : wait == FF_PTX_VOTE_ANY ? holds != 0
                      : wait == FF_PTX_VOTE_UNI ? holds == members || holds == 0
                                                : holds;
    set_row(lanes, 0, members, result);
}

/* The lanes that have the same value as lane l. */
static uint32_t lanes_like(const struct ff_ptx_lanes *lanes, uint32_t l) {
    const uint32_t *low = in_row(lanes, 1), *high = in_row(lanes, 2);
    return ff__ptx_lanes_equal(low, low[l]) & ff__ptx_lanes_equal(high, high[l]);
}

static void match_any(struct ff_ptx_lanes *lanes, uint32_t members) {
    for (uint32_t left = members, same; left != 0; left &= ~same) {
        same = lanes_like(lanes, first_of(left)) & members;
        set_row(lanes, 0, same, same);
    }
}

static void match_all(struct ff_ptx_lanes *lanes, uint32_t members) {
    bool same = (lanes_like(lanes, first_of(members)) & members) == members;
    set_row(lanes, 0, members, same ? members : 0);
    set_row(lanes, 1, members, same);
}

/* ---- reductions ---- */

static uint32_t combined(uint32_t wait, uint32_t a, uint32_t b) {
    switch (wait) {
    case FF_PTX_REDUX_ADD:
        return a + b;
    case FF_PTX_REDUX_MIN_U32:
        return a < b ? a : b;
    case FF_PTX_REDUX_MAX_U32:
        return a > b ? a : b;
    case FF_PTX_REDUX_MIN_S32:
        return (int32_t)a < (int32_t)b ? a : b;
    case FF_PTX_REDUX_MAX_S32:
        return (int32_t)a > (int32_t)b ? a : b;
    case FF_PTX_REDUX_AND:
        return a & b;
    case FF_PTX_REDUX_OR:
        return a | b;
    default:
        return a ^ b;
    }
}

static void reduce(uint32_t wait, struct ff_ptx_lanes *lanes, uint32_t members) {
    uint32_t result = in_row(lanes, 1)[first_of(members)];
    for (uint32_t left = members & (members - 1); left != 0; left &= left - 1)
        result = combined(wait, result, in_row(lanes, 1)[first_of(left)]);
    set_row(lanes, 0, members, result);
}

static void need_warp(uint32_t members, const struct ff_ptx_block *block, const char *what) {
    if (members != ALL)
        block->services->fail(block, what);
}

void ff__ptx_warp(const struct ff_ptx_region *region, struct ff_ptx_lanes *lanes, uint32_t members,
                  const struct ff_ptx_block *block) {
    if (region->wait >= FF_PTX_SHFL_UP && region->wait <= FF_PTX_SHFL_IDX)
        shuffle(region->wait, lanes, members);
    else if (region->wait >= FF_PTX_VOTE_ALL && region->wait <= FF_PTX_VOTE_BALLOT)
        vote(region->wait, lanes, members);
    else if (region->wait == FF_PTX_MATCH_ANY)
        match_any(lanes, members);
    else if (region->wait == FF_PTX_MATCH_ALL)
        match_all(lanes, members);
    else if (region->wait >= FF_PTX_REDUX_ADD && region->wait <= FF_PTX_REDUX_XOR)
        reduce(region->wait, lanes, members);
    else if (region->wait == FF_PTX_ACTIVEMASK)
        set_row(lanes, 0, members, members);
    else if (region->wait == FF_PTX_LDMATRIX) {
        need_warp(members, block, "ldmatrix by a part of a warp");
        ff__ptx_ldmatrix(region->shape, lanes);
    } else if (region->wait == FF_PTX_STMATRIX) {
        need_warp(members, block, "stmatrix by a part of a warp");
        ff__ptx_stmatrix(region->shape, lanes);
    } else if (region->wait == FF_PTX_MOVMATRIX) {
        need_warp(members, block, "movmatrix by a part of a warp");
        ff__ptx_movmatrix(lanes);
    } else if (region->wait == FF_PTX_MMA) {
        need_warp(members, block, "mma by a part of a warp");
        ff__ptx_mma(region->shape, lanes);
    }
}
