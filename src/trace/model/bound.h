/* What a run on one device must move at least, from a recording of what its launches touch: the
 * fewest bytes that demand paging of 4 KiB can fetch, and a number of bytes that must be written
 * back.
 *
 * - A page whose content is needed and that has not stayed since its last use is fetched. A first
 *   touch of a page without
 *   content costs nothing, nor does a touch from outside of launches that writes, as it may replace
 *   all of the page.
 * - A page that was written to, and does not stay until its content is needed again, is written
 *   back. Pages that have
 *   left as they had come are free, and so is what is never needed again: the true minimum may be
 *   higher.
 *
 * Both are found by ff__least_misses(), each by itself: one choice of what stays need not reach
 * both. A recording leaves out touches of what was resident in it (docs/trace-format.md), and fewer
 * uses never need more. */
#ifndef FF_TRACE_MODEL_BOUND_H
#define FF_TRACE_MODEL_BOUND_H

#include <farfault/farfault.h>

struct ff__touch {
    uint32_t page; /* dense; a range that is allocated again has new ones */
    /* touches of the same launch, or of launches that overlap, or one outside of launches */
    uint32_t group;
    bool needs;  /* the content that the page has */
    bool writes; /* its content is another one afterwards */
};

struct ff__touches {
    struct ff__touch *items;
    size_t count;
    uint32_t page_count;
    /* several threads touched pages in one launch: another run may have another order */
    bool parallel;
};

/* A trace of touches, or of all accesses, of one device. -EINVAL: it is another one; the errors of
 * ff_trace_open(); -ENOMEM, -EFBIG. Freed with ff__touches_free(), also after an error. */
int ff__touches_read(const char *path, struct ff__touches *out, struct ff_error *error);
void ff__touches_free(struct ff__touches *touches);

enum ff__touch_order {
    FF__ORDER_ANY,      /* the best one in each launch: a bound for every order of its threads */
    FF__ORDER_RECORDED, /* a bound for runs whose threads keep that order */
};

/* In bytes. */
struct ff__bound {
    uint64_t fetched, written_back;
};

/* With so many bytes of device memory, at least a page. -ENOMEM. */
int ff__bound_find(const struct ff__touches *touches, enum ff__touch_order order, uint64_t memory,
                   struct ff__bound *out);

#endif
