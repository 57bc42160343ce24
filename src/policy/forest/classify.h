/* Forest's access pattern detector (Lin, Feng, Cox, Jeon, ISCA 2025): the class of a range's use,
 * from samples of when its pages were last used.
 *
 * A range is linear if a line through (page, rank of its last use) explains more than 80 % of the
 * variance: R^2 > 0.8, forwards or backwards. Otherwise its coverage decides: the distance between
 * the lowest and the highest page used, over the range's pages, is at least 0.6. Of these ranges,
 * intensity is high where at least 0.4 of the range's pages were used. Whether intensity is over
 * the whole range or over what lies between the lowest and the highest page used the sources do not
 * settle: `within` chooses. Nor whether it is the number of pages used, as the notes have it, or of
 * accesses, as the summary has it: `accesses` chooses the latter. */
#ifndef FF_POLICY_FOREST_CLASSIFY_H
#define FF_POLICY_FOREST_CLASSIFY_H

#include <farfault/extensions.h>

enum ff__class {
    FF__CLASS_LOW_COVERAGE, /* also of a range of which nothing is known */
    FF__CLASS_LINEAR,
    FF__CLASS_HIGH_INTENSITY, /* and high coverage */
    FF__CLASS_LOW_INTENSITY,  /* and high coverage */
    FF__CLASSES
};

/* In percent. */
struct ff__class_limits {
    uint32_t linear;    /* R^2 is above it */
    uint32_t coverage;  /* is at least that */
    uint32_t intensity; /* is at least that */
    bool within;        /* intensity is over the pages from the lowest to the highest one used */
    bool accesses;      /* intensity is of the accesses, where they are known */
};

/* The range that samples are of. */
struct ff__class_range {
    uint32_t first_block;
    uint32_t lead; /* pages of the first 2 MiB before its first page */
    uint64_t page_count;
    uint64_t accesses; /* to it since its profile began; 0: not known */
};

/* Samples name pages of the range, each once, in any order; their ranks differ. No samples: low
 * coverage. Fewer than three are never linear (ours): a line goes through any two. */
enum ff__class ff__classify(const struct ff__class_limits *limits,
                            const struct ff__class_range *range, const struct ff_sample *samples,
                            uint32_t count);

#endif
