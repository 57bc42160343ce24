/* What the predictor learns from: the accesses of a program, in streams.
 *
 * A stream is what one cluster of warps accesses, in order. The paper clusters by SM id and warp id
 * (arXiv 2203.12672, section 6) after comparing other keys (Table 2). All accesses count, hits and
 * misses alike: that is what a policy sees, and streams of TLB misses alone would be shorter than
 * one window. */
#ifndef FF_LEARN_CORPUS_H
#define FF_LEARN_CORPUS_H

#include <stdbool.h>
#include <stdint.h>

enum ff__cluster {
    FF__CLUSTER_SM_WARP,
    FF__CLUSTER_SM,
    FF__CLUSTER_PC,
    FF__CLUSTER_KERNEL,
    FF__CLUSTER_CTA,
    FF__CLUSTER_WARP,
    FF__CLUSTERS
};

/* One access of one warp to one page. */
struct ff__access {
    uint32_t page; /* number in the managed address space */
    uint32_t pc, cta, launch;
    uint16_t sm, warp; /* warp: its slot in the SM */
    uint16_t array;    /* the allocation */
    uint16_t inputs;   /* a number of what a token says of arrays; see FF__FEATURE_INPUTS */
    uint16_t program;  /* of several in one corpus: their streams and code are their own */
    bool missed;       /* a far fault */
    uint64_t time;     /* its number among those that a corpus was shown, which sets it */
};

struct ff__corpus {
    enum ff__cluster by;
    uint64_t limit; /* accesses to keep, about */
    uint64_t seen;  /* accesses there were */
    /* 0: keeps whole streams from their start. Else the latest accesses, of as many streams as have
     * about this many each. */
    uint64_t latest;
    /* Grouped by stream once closed: stream s is accesses[first[s]] to accesses[first[s + 1] - 1].
     */
    struct ff__access *accesses;
    uint64_t *first;
    uint32_t streams;
    /* while recording */
    uint64_t count, capacity, threshold;
};

/* "sm+warp", "sm", ...; NULL past the end. */
const char *ff__cluster_name(enum ff__cluster by);

void ff__corpus_init(struct ff__corpus *corpus, enum ff__cluster by, uint64_t limit);
void ff__corpus_fini(struct ff__corpus *corpus);

/* Takes one more access. When there are too many, forgets whole streams, half of them at a time and
 * always the same ones; or, of the latest, what is older than half of them. 0 or -ENOMEM. */
int ff__corpus_add(struct ff__corpus *corpus, const struct ff__access *access);

/* Groups the accesses by stream. 0 or -ENOMEM. */
int ff__corpus_close(struct ff__corpus *corpus);

#endif
