/* SHA-256 (FIPS 180-4): names of cached modules, and whether one is whole. */
#ifndef FF_PTX_DIGEST_H
#define FF_PTX_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#define FF__PTX_DIGEST 32 /* bytes */

struct ff__ptx_digest {
    uint32_t state[8];
    uint64_t size; /* bytes so far; those after the last whole block are in `block` */
    uint8_t block[64];
};

void ff__ptx_digest_start(struct ff__ptx_digest *digest);
void ff__ptx_digest_add(struct ff__ptx_digest *digest, const void *bytes, size_t size);
/* It must be started anew afterwards. */
void ff__ptx_digest_end(struct ff__ptx_digest *digest, uint8_t out[FF__PTX_DIGEST]);

#endif
