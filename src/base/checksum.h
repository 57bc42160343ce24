/* CRC-32C (Castagnoli, RFC 3720 appendix B.4): what guards the blocks of a trace. */
#ifndef FF_BASE_CHECKSUM_H
#define FF_BASE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Continues a checksum over some bytes; start with 0. */
uint32_t ff__crc32c(uint32_t crc, const void *bytes, size_t size);

#endif
