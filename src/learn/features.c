#include "learn/features.h"

#include <string.h>

#define LEAF_PAGES  16u
#define BLOCK_PAGES 512u
#define SMS_A_TPC   2u

/* Values that have no vocabulary are folded to so many numbers; ours. */
static const uint16_t folded[FF__FEATURES] = {
    [FF__FEATURE_PAGE] = 512, [FF__FEATURE_MISS] = 2,   [FF__FEATURE_WARP] = 64,
    [FF__FEATURE_SM] = 128,   [FF__FEATURE_TPC] = 64,   [FF__FEATURE_CTA] = 256,
    [FF__FEATURE_LEAF] = 512, [FF__FEATURE_ROOT] = 512, [FF__FEATURE_INPUTS] = FF__INPUTS,
};

void ff__features_fini(struct ff__features *features) {
    ff__vocab_fini(&features->pc);
    ff__vocab_fini(&features->delta);
    ff__vocab_fini(&features->leaf_delta);
    ff__vocab_fini(&features->root_delta);
    ff__vocab_fini(&features->classes);
}

uint32_t ff__feature_ids(const struct ff__features *features, enum ff__feature feature) {
    switch (feature) {
    case FF__FEATURE_DELTA:
        return features->delta.size + 1;
    case FF__FEATURE_PC:
        return features->pc.size + 1;
    case FF__FEATURE_LEAF_DELTA:
        return features->leaf_delta.size + 1;
    case FF__FEATURE_ROOT_DELTA:
        return features->root_delta.size + 1;
    default:
        return folded[feature] + 1u;
    }
}

static uint32_t trail_at(const struct ff__trail *trail, uint32_t array, uint32_t page) {
    uint32_t last = trail->page[array % FF__ARRAYS];
    return last ? last - 1 : page / BLOCK_PAGES * BLOCK_PAGES;
}

static int64_t pair(uint32_t array, int64_t delta) {
    return delta * FF__ARRAYS + array % FF__ARRAYS;
}

int64_t ff__trail_delta(const struct ff__trail *trail, uint32_t array, uint32_t page) {
    return pair(array, (int64_t)page - trail_at(trail, array, page));
}

void ff__trail_move(struct ff__trail *trail, uint32_t array, uint32_t page) {
    trail->page[array % FF__ARRAYS] = page + 1;
}

int64_t ff__trail_page(const struct ff__trail *trail, int64_t value) {
    uint32_t array = (uint32_t)((uint64_t)value % FF__ARRAYS);
    int64_t delta = (value - array) / FF__ARRAYS;
    return trail->page[array] ? trail->page[array] - 1 + delta : -1;
}

static int64_t coarse_delta(const struct ff__trail *trail, const struct ff__access *access,
                            uint32_t pages) {
    return pair(access->array, (int64_t)(access->page / pages) -
                                   trail_at(trail, access->array, access->page) / pages);
}

/* Programs in one corpus have their code at different addresses. */
static int64_t pc_value(const struct ff__access *access) {
    return (int64_t)((uint64_t)access->program << 32 | access->pc);
}

int ff__features_count(struct ff__features *features, const struct ff__trail *trail,
                       const struct ff__access *access) {
    int status = ff__vocab_count(&features->pc, pc_value(access));
    if (!status)
        status =
            ff__vocab_count(&features->delta, ff__trail_delta(trail, access->array, access->page));
    if (!status)
        status = ff__vocab_count(&features->leaf_delta, coarse_delta(trail, access, LEAF_PAGES));
    if (!status)
        status = ff__vocab_count(&features->root_delta, coarse_delta(trail, access, BLOCK_PAGES));
    return status;
}

int ff__features_close(struct ff__features *features) {
    int status = ff__vocab_close(&features->pc, FF__PCS_MAX, 1);
    if (!status)
        status = ff__vocab_close(&features->delta, FF__DELTAS_MAX, FF__DELTA_LEAST);
    if (!status)
        status = ff__vocab_close(&features->leaf_delta, FF__DELTAS_MAX, FF__DELTA_LEAST);
    if (!status)
        status = ff__vocab_close(&features->root_delta, FF__DELTAS_MAX, FF__DELTA_LEAST);
    if (!status)
        status = ff__vocab_close(&features->classes, FF__CLASSES_MAX, FF__DELTA_LEAST);
    return status;
}

static uint16_t fold(enum ff__feature feature, uint32_t value) {
    return (uint16_t)(value % folded[feature] + 1);
}

static uint16_t number(const struct ff__vocab *vocab, int64_t value) {
    return (uint16_t)(ff__vocab_number(vocab, value) + 1);
}

void ff__features_of(const struct ff__features *features, const struct ff__trail *trail,
                     const struct ff__access *access, uint16_t ids[FF__FEATURES]) {
    uint32_t page = access->page;
    ids[FF__FEATURE_PAGE] = fold(FF__FEATURE_PAGE, page);
    ids[FF__FEATURE_DELTA] = number(&features->delta, ff__trail_delta(trail, access->array, page));
    ids[FF__FEATURE_PC] = number(&features->pc, pc_value(access));
    ids[FF__FEATURE_MISS] = fold(FF__FEATURE_MISS, access->missed);
    ids[FF__FEATURE_WARP] = fold(FF__FEATURE_WARP, access->warp);
    ids[FF__FEATURE_SM] = fold(FF__FEATURE_SM, access->sm);
    ids[FF__FEATURE_TPC] = fold(FF__FEATURE_TPC, access->sm / SMS_A_TPC);
    ids[FF__FEATURE_CTA] = fold(FF__FEATURE_CTA, access->cta);
    ids[FF__FEATURE_LEAF] = fold(FF__FEATURE_LEAF, page / LEAF_PAGES);
    ids[FF__FEATURE_ROOT] = fold(FF__FEATURE_ROOT, page / BLOCK_PAGES);
    ids[FF__FEATURE_INPUTS] = fold(FF__FEATURE_INPUTS, access->inputs);
    ids[FF__FEATURE_LEAF_DELTA] =
        number(&features->leaf_delta, coarse_delta(trail, access, LEAF_PAGES));
    ids[FF__FEATURE_ROOT_DELTA] =
        number(&features->root_delta, coarse_delta(trail, access, BLOCK_PAGES));
}
