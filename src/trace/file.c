#include "trace/file.h"

#include "base/checksum.h"

void ff__trace_put_block(uint8_t at[FF__TRACE_BLOCK_HEAD], const struct ff__trace_block *block) {
    ff__put_u32(at, block->mark);
    ff__put_u32(at + 4, block->raw);
    ff__put_u32(at + 8, block->stored);
    ff__put_u32(at + 12, block->events);
    ff__put_u64(at + 16, block->first);
}

struct ff__trace_block ff__trace_get_block(const uint8_t at[FF__TRACE_BLOCK_HEAD]) {
    return (struct ff__trace_block){ff__get_u32(at), ff__get_u32(at + 4), ff__get_u32(at + 8),
                                    ff__get_u32(at + 12), ff__get_u64(at + 16)};
}

uint32_t ff__trace_block_sum(const uint8_t at[FF__TRACE_BLOCK_HEAD], const void *stored,
                             size_t size) {
    return ff__crc32c(ff__crc32c(0, at, FF__TRACE_BLOCK_HEAD - 4), stored, size);
}
