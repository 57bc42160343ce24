/* The tokens: what the predictor is told about an access, as small numbers.
 *
 * The paper's token has 13 fields (Figure 3); its revised predictor keeps three of them (section
 * 6). Its page delta is the distance from the access before. Ours is the distance from the last
 * page that the same stream touched in the same array, together with the array: a program that
 * walks over several arrays at different speeds has thousands of the former and a few dozen of the
 * latter, and both say the same page. */
#ifndef FF_LEARN_FEATURES_H
#define FF_LEARN_FEATURES_H

#include "learn/corpus.h"
#include "learn/vocab.h"

#define FF__WINDOW 30u /* tokens: the paper's sequence length */
#define FF__ARRAYS 64u /* arrays that are told apart */
#define FF__INPUTS 64u /* sets of arrays that are */

/* The revised predictor's three come first. */
enum ff__feature {
    FF__FEATURE_PAGE,
    FF__FEATURE_DELTA,
    FF__FEATURE_PC,
    FF__FEATURE_MISS,
    FF__FEATURE_WARP,
    FF__FEATURE_SM,
    FF__FEATURE_TPC,
    FF__FEATURE_CTA,
    FF__FEATURE_LEAF,   /* 64 KiB basic block */
    FF__FEATURE_ROOT,   /* 2 MiB */
    FF__FEATURE_INPUTS, /* the base addresses of the kernel's arrays */
    FF__FEATURE_LEAF_DELTA,
    FF__FEATURE_ROOT_DELTA,
    FF__FEATURES
};

#define FF__PAGE_IDS    513u  /* place in its block, and 0 */
#define FF__DELTAS_MAX  512u  /* of tokens */
#define FF__CLASSES_MAX 1024u /* of predictions */
#define FF__PCS_MAX     256u
#define FF__DELTA_LEAST 2u /* a delta seen only once is noise */

/* Numbers of tokens: 0 is padding before a stream's first access; vocabulary numbers come one
 * later. */
struct ff__features {
    struct ff__vocab pc, delta, leaf_delta, root_delta;
    struct ff__vocab classes; /* of predictions: as `delta`, over the prediction distance */
};

/* Where a stream was last in each array. */
struct ff__trail {
    uint32_t page[FF__ARRAYS]; /* 0: not yet; else the page + 1 */
};

void ff__features_fini(struct ff__features *features);

/* Ids that the feature takes, 0 included. */
uint32_t ff__feature_ids(const struct ff__features *features, enum ff__feature feature);

/* Whether the trail is in this array; a distance in one where it is not names no page. */
static inline bool ff__trail_has(const struct ff__trail *trail, uint32_t array) {
    return trail->page[array % FF__ARRAYS] != 0;
}

/* The array and the page's distance from the trail in it, as one value. An array that was never
 * touched begins at its block. */
int64_t ff__trail_delta(const struct ff__trail *trail, uint32_t array, uint32_t page);
void ff__trail_move(struct ff__trail *trail, uint32_t array, uint32_t page);

/* The page that a value of ff__trail_delta() means. */
int64_t ff__trail_page(const struct ff__trail *trail, int64_t value);

/* Counts one access in all vocabularies of tokens. 0 or -ENOMEM. */
int ff__features_count(struct ff__features *features, const struct ff__trail *trail,
                       const struct ff__access *access);
int ff__features_close(struct ff__features *features);

/* All ids of one access. */
void ff__features_of(const struct ff__features *features, const struct ff__trail *trail,
                     const struct ff__access *access, uint16_t ids[FF__FEATURES]);

#endif
