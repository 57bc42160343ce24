#include "base/checksum.h"

#include <string.h>

/* By half bytes, from a table of 16. */
static uint32_t add_byte(uint32_t crc, uint8_t byte) {
    static const uint32_t table[16] = {
        0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
        0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
        0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
    };
    crc ^= byte;
    crc = (crc >> 4) ^ table[crc & 15];
    return (crc >> 4) ^ table[crc & 15];
}

/* x86-64-v2 has an instruction for eight bytes. */
static uint32_t add_word(uint32_t crc, const uint8_t *at) {
#ifdef __SSE4_2__
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return (uint32_t)__builtin_ia32_crc32di(crc, word);
#else
    for (int i = 0; i < 8; i++)
        crc = add_byte(crc, at[i]);
    return crc;
#endif
}

uint32_t ff__crc32c(uint32_t crc, const void *bytes, size_t size) {
    const uint8_t *at = bytes; /* may be NULL without any bytes */
    crc = ~crc;
    for (; size >= 8; size -= 8, at += 8)
        crc = add_word(crc, at);
    for (; size > 0; size--)
        crc = add_byte(crc, *at++);
    return ~crc;
}
