/* Sizes of device memory as people give them: bytes, or a share of what the program needs. */
#ifndef FF_STUDY_AMOUNT_H
#define FF_STUDY_AMOUNT_H

#include <stdint.h>

#define FF__AMOUNT_EXPECTED "must be a size, such as 256M, or a share of the footprint, such as 66%"

struct ff__amount {
    double share; /* of the footprint; 0: `bytes` counts */
    uint64_t bytes;
};

/* -EINVAL: neither a size nor a share above 0 %. */
int ff__amount_parse(const char *text, struct ff__amount *out);

/* In bytes, as whole blocks: a size is rounded down, as the library does; a share to the nearest,
 * so that a footprint slightly below a round number does not cost a block. Less than one block
 * stays as it is. */
uint64_t ff__amount_of(const struct ff__amount *amount, uint64_t footprint);

#endif
