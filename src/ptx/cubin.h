/* What the headers of a cubin say of its kernels. Its machine code is not read. */
#ifndef FF_PTX_CUBIN_H
#define FF_PTX_CUBIN_H

#include "ptx/elf.h"

struct ff__cubin_kernel {
    const char *name;     /* in the cubin */
    uint32_t symbol;      /* its number */
    uint32_t registers;   /* of a thread */
    uint32_t parameters;  /* how many */
    uint32_t bytes;       /* of all parameters */
    uint32_t max_threads; /* of a thread block; 0: no limit of its own */
    uint64_t shared;      /* bytes of static shared memory */
};

struct ff__cubin {
    struct ff__cubin_kernel *kernels;
    uint32_t count;
};

uint32_t ff__cubin_arch(const struct ff__elf *elf); /* 75 of sm_75 */

/* -EINVAL: not a cubin, or damaged; -ENOMEM. `bytes` must outlive it; freed with
 * ff__cubin_free(). */
int ff__cubin_read(const void *bytes, size_t size, struct ff__cubin *out, struct ff_error *error);
void ff__cubin_free(struct ff__cubin *cubin);

#endif
