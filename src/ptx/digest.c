#include "ptx/digest.h"

#include <string.h>

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t keys[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotated(uint32_t x, unsigned by) {
    return x >> by | x << (32 - by);
}

static void schedule(uint32_t words[64], const uint8_t *block) {
    for (unsigned i = 0; i < 16; i++, block += 4)
        words[i] = (uint32_t)block[0] << 24 | (uint32_t)block[1] << 16 | (uint32_t)block[2] << 8 |
                   block[3];
    for (unsigned i = 16; i < 64; i++) {
        uint32_t a = words[i - 15], b = words[i - 2];
        words[i] = words[i - 16] + (rotated(a, 7) ^ rotated(a, 18) ^ a >> 3) + words[i - 7] +
                   (rotated(b, 17) ^ rotated(b, 19) ^ b >> 10);
    }
}

static void add_block(uint32_t state[8], const uint8_t *block) {
    uint32_t words[64], a = state[0], b = state[1], c = state[2], d = state[3], e = state[4],
                        f = state[5], g = state[6], h = state[7];
    schedule(words, block);
    for (unsigned i = 0; i < 64; i++) {
        uint32_t first = h + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) +
                         ((e & f) ^ (~e & g)) + keys[i] + words[i];
        uint32_t second =
            (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
    state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

void ff__ptx_digest_start(struct ff__ptx_digest *digest) {
    /* of the square roots of the first eight primes */
    *digest = (struct ff__ptx_digest){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                                0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void ff__ptx_digest_add(struct ff__ptx_digest *digest, const void *bytes, size_t size) {
    const uint8_t *from = bytes;
    while (size > 0) {
        size_t held = digest->size % 64, part = size < 64 - held ? size : 64 - held;
        if (part == 64) {
            add_block(digest->state, from);
        } else {
            memcpy(digest->block + held, from, part);
            if (held + part == 64)
                add_block(digest->state, digest->block);
        }
        digest->size += part;
        from += part;
        size -= part;
    }
}

void ff__ptx_digest_end(struct ff__ptx_digest *digest, uint8_t out[FF__PTX_DIGEST]) {
    static const uint8_t padding[64] = {0x80};
    uint8_t bits[8];
    for (unsigned i = 0; i < 8; i++)
        bits[i] = (uint8_t)(digest->size * 8 >> (56 - 8 * i));
    ff__ptx_digest_add(digest, padding, 1 + (119 - digest->size % 64) % 64);
    ff__ptx_digest_add(digest, bits, sizeof bits);
    for (unsigned i = 0; i < FF__PTX_DIGEST; i++)
        out[i] = (uint8_t)(digest->state[i / 4] >> (24 - i % 4 * 8));
}
