/* What the conformance tests ask of a backend. */
#ifndef FF_TESTS_CONFORMANCE_SUITE_H
#define FF_TESTS_CONFORMANCE_SUITE_H

#include "base/cases.h"

#include <farfault/farfault.h>
#include <farfault/policy.h>

struct device {
    uint64_t memory; /* bytes */
    uint64_t granule;
    const char *gpu; /* a modelled one */
};

struct outcome {
    struct ff_stats stats; /* after all has been freed */
    uint64_t remote;       /* accesses to where a page is, without bringing it */
};

/* A backend; one is open at a time, with one device and one array of so many pages. */
struct subject {
    const char *name;
    uint32_t shows; /* enum ff_visibility, or-ed: a policy that must see more is refused */
    uint32_t pages;
    const struct device *devices; /* each system runs on each; the last one has no memory */

    /* -ENOTSUP: the system is refused, with a line that says why. */
    int (*open)(const struct device *device, const char *system, struct ff_error *error);

    /* The next kernel begins, the same as the one before, or ends. */
    void (*launch)(bool begins);

    /* The kernel reads and writes a word of a page. `read` NULL: pages have no content. */
    uint32_t (*read)(uint32_t page);
    void (*write)(uint32_t page, uint32_t word);

    /* Frees the array, closes, and fails the test if the backend has found anything wrong. */
    void (*close)(struct outcome *outcome);
};

extern const struct subject fake_subject, soft_subject, sim_subject;

#endif
