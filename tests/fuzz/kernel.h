/* What fuzzers of Accel-Sim's kernel traces check of what is read. */
#ifndef FF_TESTS_FUZZ_KERNEL_H
#define FF_TESTS_FUZZ_KERNEL_H

#include "fuzz/fuzz.h"

#include "trace/model/traceg.h"

static inline int see_kernel(void *self, const struct ff__traceg_kernel *kernel) {
    unsigned *kernels = self;
    FUZZ_EXPECT((*kernels)++ == 0);
    FUZZ_EXPECT(kernel->ctas > 0 && kernel->warps > 0 && kernel->version <= FF__TRACEG_VERSION);
    FUZZ_EXPECT(memchr(kernel->name, '\0', sizeof kernel->name));
    return 0;
}

static inline int see_access(void *self, const struct ff__traceg_kernel *kernel,
                             const struct ff__traceg_access *access) {
    FUZZ_EXPECT(*(unsigned *)self == 1);
    FUZZ_EXPECT(access->cta < kernel->ctas && access->warp < kernel->warps);
    FUZZ_EXPECT(access->lanes > 0 && access->lanes <= FF__TRACEG_LANES);
    FUZZ_EXPECT(access->width > 0 && access->width <= 32);
    FUZZ_EXPECT(access->instructions > 0 || kernel->version == 6); /* parts of a copy */
    return 0;
}

#endif
