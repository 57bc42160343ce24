/* The bytes around the blocks of a trace file: docs/trace-format.md. */
#ifndef FF_TRACE_FILE_H
#define FF_TRACE_FILE_H

#include <farfault/trace.h>

#define FF__TRACE_MAGIC                                                                            \
    "\x89"                                                                                         \
    "FFT\r\n\x1a\n"
#define FF__TRACE_VERSION     2u
#define FF__TRACE_FILE_HEAD   156u        /* bytes of the file header */
#define FF__TRACE_BLOCK_HEAD  28u         /* bytes of a block header, and of the end mark */
#define FF__TRACE_MARK_BLOCK  0x4b4c4246u /* "FBLK" */
#define FF__TRACE_MARK_END    0x444e4546u /* "FEND" */
#define FF__TRACE_STORED_MAX  ((2u << 20) + (16u << 10)) /* above ZSTD_compressBound(2 MiB) */
#define FF__TRACE_INFO_ACCESS 1u
#define FF__TRACE_INFO_TOUCH  2u /* not in version 1 */

/* A block header without its checksum. */
struct ff__trace_block {
    uint32_t mark, raw, stored, events;
    uint64_t first; /* number of its first event; in the end mark, the number of all events */
};

static inline void ff__put_u32(uint8_t *at, uint32_t value) {
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

static inline void ff__put_u64(uint8_t *at, uint64_t value) {
    ff__put_u32(at, (uint32_t)value);
    ff__put_u32(at + 4, (uint32_t)(value >> 32));
}

static inline uint32_t ff__get_u32(const uint8_t *at) {
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static inline uint64_t ff__get_u64(const uint8_t *at) {
    return ff__get_u32(at) | (uint64_t)ff__get_u32(at + 4) << 32;
}

/* Writes a header but for its checksum; reads one. */
void ff__trace_put_block(uint8_t at[FF__TRACE_BLOCK_HEAD], const struct ff__trace_block *block);
struct ff__trace_block ff__trace_get_block(const uint8_t at[FF__TRACE_BLOCK_HEAD]);

/* The checksum of a block header and what follows it. */
uint32_t ff__trace_block_sum(const uint8_t at[FF__TRACE_BLOCK_HEAD], const void *stored,
                             size_t size);

#endif
