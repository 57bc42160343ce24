/* Steps of warps, sorted by launch, CTA and warp: what a replay answers from.
 *
 * They come in the order of the trace, in which warps take turns; when a launch has ended its steps
 * are sorted into one stream a warp. */
#ifndef FF_TRACE_MODEL_STEPS_H
#define FF_TRACE_MODEL_STEPS_H

#include "workload/workload.h"

/* One page access; without instructions, another page of the access before it, of the same warp. */
struct ff__step_access {
    /* array in the upper 24 bits, page in it below; or FF__ACCESS_NONE: instructions alone */
    uint64_t page;
    uint32_t cta, warp, pc, instructions;
    uint16_t sectors;
    bool write;
};

#define FF__ACCESS_PAGE_BITS 40u
#define FF__ACCESS_ARRAY_MAX ((1u << 24) - 1)
#define FF__ACCESS_NONE      UINT64_MAX

struct ff__stored_step {
    uint32_t first; /* page, in `pages` */
    uint32_t pc, instructions;
    uint16_t sectors;
    uint8_t page_count;
    bool write;
};

struct ff__warp_stream {
    uint32_t warp;
    uint32_t first, count; /* steps */
};

/* The streams of a CTA, by warp. */
struct ff__cta {
    uint32_t cta, first, count;
};

struct ff__stored_launch {
    uint32_t first_cta, cta_count;
};

struct ff__steps {
    uint64_t *pages;
    struct ff__stored_step *steps;
    struct ff__warp_stream *streams;
    struct ff__cta *ctas;
    struct ff__stored_launch *launches;
    size_t page_count, step_count, stream_count, cta_count, launch_count;
    bool waits; /* warps wait for their writes, too, as threads of a CPU do */
};

/* Adds the accesses of one launch, sorted. 0, -ENOMEM, -EFBIG. */
int ff__steps_add_launch(struct ff__steps *steps, const struct ff__step_access *accesses,
                         size_t count);
void ff__steps_fini(struct ff__steps *steps);

/* How the warps of a launch are numbered: as recorded, or in turn, without gaps. */
enum ff__numbering { FF__NUMBERED, FF__DENSE };

/* Step `index` of a warp; false: it has fewer. Pages come as array and page in one number. */
bool ff__steps_get(const struct ff__steps *steps, uint32_t launch, enum ff__numbering numbering,
                   uint32_t cta, uint32_t warp, uint32_t index, struct ff__step *out);

/* The most warps of one CTA of a launch, and the highest numbers of CTA and warp. */
struct ff__grid_extent {
    uint32_t warps, last_cta, last_warp;
    size_t streams;
};
struct ff__grid_extent ff__steps_extent(const struct ff__steps *steps, uint32_t launch);

#endif
