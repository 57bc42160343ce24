/* The profiles of Forest (ISCA 2025): the class of each range's use under the kernel that runs, and
 * the tree that goes with it.
 *
 * A launch arms samples of the ranges that it uses, and until they show a class each has the
 * default tree. A round that shows no pattern (low coverage) is followed by another one, up to
 * `rounds` of them; then low coverage it is, and samples are ceased. With `agree`, so many rounds
 * one after another must show a class; with `keep`, a launch begins with the trees that the range
 * has (both are ours: docs/results/forest.md compares them). What has been found is recorded by
 * (execution ID, range), for reports.
 *
 * SpecForest skips the samples where a class is known before: `record` takes that of an earlier
 * launch of the kernel, `declared` has operands with a fixed stride linear, and with `similar` one
 * of the operands that are indexed by the same variable is sampled for all of them. What none of
 * the three covers is profiled, with the default tree meanwhile.
 *
 * Prefetching and eviction both need the tree, and policies share nothing. So each has a profile of
 * its own, and both are shown the same launches and samples. A range has one class at a time: with
 * several devices, that of the latest launch that uses it.
 *
 * The paper keeps one tree with leaves of 16 KiB, and two marks at each inner node: isolation (its
 * children are trees of their own) and motion (its children are one leaf). All nodes of a level
 * have the same marks in each of its four shapes, so that the shape of a range is all that has to
 * be kept, and a tree is reshaped by choosing another shape; the counts of nodes are those of the
 * pages that are there (common/tree.h). */
#ifndef FF_POLICY_FOREST_PROFILE_H
#define FF_POLICY_FOREST_PROFILE_H

#include "policy/common/tree.h"
#include "policy/forest/classify.h"

#include <farfault/policy.h>

/* The rows of both policies' tables. */
enum ff__profile_param {
    FF__PROFILE_LEAF,
    FF__PROFILE_TREE,
    FF__PROFILE_THRESHOLD,
    FF__PROFILE_LINEAR,
    FF__PROFILE_COVERAGE,
    FF__PROFILE_INTENSITY,
    FF__PROFILE_ROUNDS,
    FF__PROFILE_WITHIN,
    FF__PROFILE_ACCESSES,
    FF__PROFILE_AGREE,
    FF__PROFILE_KEEP,
    FF__PROFILE_RECORD,
    FF__PROFILE_DECLARED,
    FF__PROFILE_SIMILAR,
    FF__PROFILE_PARAMS
};

/* clang-format off */
#define FF__PROFILE_ROWS \
    [FF__PROFILE_LEAF] = {"leaf", FF_PARAM_SIZE, 0, 0, 256 << 10, \
        "bytes of a leaf of every tree; 0: by the range's class"}, \
    [FF__PROFILE_TREE] = {"tree", FF_PARAM_SIZE, 0, 0, 4 << 20, \
        "bytes of every tree; 0: by the range's class"}, \
    [FF__PROFILE_THRESHOLD] = {"threshold", FF_PARAM_INT, 50, 0, 100, \
        "percent of a node's pages above which all of it migrates"}, \
    [FF__PROFILE_LINEAR] = {"linear", FF_PARAM_INT, 80, 0, 100, \
        "percent of R^2 above which a range is linear"}, \
    [FF__PROFILE_COVERAGE] = {"coverage", FF_PARAM_INT, 60, 0, 100, \
        "percent of a range from its lowest to its highest page used: high"}, \
    [FF__PROFILE_INTENSITY] = {"intensity", FF_PARAM_INT, 40, 0, 100, \
        "percent of a range's pages used: high"}, \
    [FF__PROFILE_ROUNDS] = {"rounds", FF_PARAM_INT, 10, 1, 255, \
        "rounds of samples before a range is taken to have no pattern"}, \
    [FF__PROFILE_WITHIN] = {"within", FF_PARAM_BOOL, 0, 0, 1, \
        "intensity is over the pages from the lowest to the highest one used"}, \
    [FF__PROFILE_ACCESSES] = {"accesses", FF_PARAM_BOOL, 0, 0, 1, \
        "intensity is the number of accesses, not of the pages used"}, \
    [FF__PROFILE_AGREE] = {"agree", FF_PARAM_INT, 1, 1, 10, \
        "rounds one after another that must show a class before it is taken"}, \
    [FF__PROFILE_KEEP] = {"keep", FF_PARAM_BOOL, 0, 0, 1, \
        "a range keeps its trees when a launch begins, until another class is found"}, \
    [FF__PROFILE_RECORD] = {"record", FF_PARAM_BOOL, 0, 0, 1, \
        "use the class found at an earlier launch of the kernel (SpecForest)"}, \
    [FF__PROFILE_DECLARED] = {"declared", FF_PARAM_BOOL, 0, 0, 1, \
        "ranges whose index is known to have a fixed stride are linear (SpecForest)"}, \
    [FF__PROFILE_SIMILAR] = {"similar", FF_PARAM_BOOL, 0, 0, 1, \
        "profile one of the ranges that are indexed by one variable (SpecForest)"}
/* clang-format on */

/* Where a class comes from. */
enum ff__class_source {
    FF__SOURCE_PROFILE, /* samples of this launch */
    FF__SOURCE_RECORD,
    FF__SOURCE_SIMILAR,
    FF__SOURCE_DECLARED, /* plus who declared it: enum ff_stride, but FF_STRIDE_UNKNOWN */
    FF__SOURCES = FF__SOURCE_DECLARED + FF_STRIDES
};

/* The head of a range's state; zero at first. */
struct ff__profile_range {
    bool live;
    bool found;      /* its class under `launch` */
    uint8_t rounds;  /* of samples so far */
    uint8_t pattern; /* enum ff__class */
    uint8_t shown;   /* enum ff__class: by the latest round */
    uint8_t alike;   /* rounds up to the latest that showed it */
    uint8_t group;   /* of operands under `launch`; 0: none */
    uint32_t launch; /* execution ID that `pattern` is of; void before the first */
    uint32_t serial; /* of the range: no other one has had it */
};

/* What has been found of a kernel and a range. */
struct ff__profile_record {
    uint32_t launch, serial, range;
    uint8_t pattern;                /* enum ff__class: what was found last */
    uint8_t rounds;                 /* of samples that it took last; 0: none */
    uint64_t launches[FF__SOURCES]; /* by where the class came from */
};

struct ff__profile {
    unsigned char *ranges; /* struct ff__profile_range of range 0 */
    size_t stride;
    uint32_t range_end;                 /* ids of ranges are below it */
    uint32_t serials;                   /* given so far */
    struct ff__profile_record *records; /* in the order in which they were made */
    uint32_t *index;                    /* hash table: number of a record, plus one; 0: free */
    uint32_t record_count;
    struct ff__class_limits limits;
    struct ff__tree_shape fixed; /* span_pages 0: the shape depends on the class */
    uint32_t threshold, rounds, agree;
    bool keep, record, declared, similar;
    uint64_t uses; /* ranges that launches use: all launches' together */
    /* Of these, those whose class was found, by where it came from */
    uint64_t classes[FF__SOURCES];
};

/* Hooks, for states that begin with a struct ff__profile and range states that begin with a struct
 * ff__profile_range of `stride` bytes. */
size_t ff__profile_arena_size(const int64_t *params);
/* -EINVAL, with a line: parameters that contradict each other. */
int ff__profile_start(struct ff__profile *profile, const struct ff_policy_env *env, size_t stride);
void ff__profile_range_added(void *state, const struct ff_view *view, uint32_t range);
void ff__profile_range_freed(void *state, uint32_t range);
void ff__profile_on_launch(void *state, const struct ff_view *view,
                           const struct ff_launch_event *event, struct ff_advice_list *advice);

bool ff__profile_report(const void *state, uint32_t index, struct ff_finding *finding);

/* Learns from a round of samples. True: the range has another tree now, whose shape was *before. */
bool ff__profile_samples(struct ff__profile *profile, const struct ff_view *view,
                         const struct ff_sample_round *round, struct ff_advice_list *advice,
                         struct ff__tree_shape *before);

/* Hooks of a policy that does no more with samples, and whose state begins with the profile. */
extern const struct ff_sample_hooks ff__profile_samples_only;

static inline struct ff__profile_range *ff__profile_range(const struct ff__profile *profile,
                                                          uint32_t range) {
    return (void *)(profile->ranges + range * profile->stride);
}

/* The range's trees. */
struct ff__tree_shape ff__profile_shape(const struct ff__profile *profile, uint32_t range);

#endif
