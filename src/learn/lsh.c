#include "learn/lsh.h"

#include "base/random.h"

#include <string.h>

#define SEED 22031267 /* any */

/* 256 log2(distance + 1) */
const int32_t ff__lsh_log[FF__LSH_ROUNDS + 1] = {0,   256, 406, 512, 594, 662,  719,  768, 811,
                                                 850, 886, 918, 947, 975, 1000, 1024, 1046};

/* The same of 0.9 * 16 + 1 and 0.1 * 16 + 1 */
#define LOG_TOP    1010
#define LOG_BOTTOM 353

int32_t ff__lsh_far(uint32_t compared) {
    return (int32_t)compared * LOG_TOP;
}

int32_t ff__lsh_close(uint32_t compared) {
    return (int32_t)compared * LOG_BOTTOM;
}

void ff__lsh_init(struct ff__lsh *lsh) {
    struct ff__random random = ff__random_seeded(SEED);
    memset(lsh, 0, sizeof *lsh);
    for (uint32_t d = 0; d < FF__WIDTH; d++)
        for (uint32_t v = 0; v < FF__LSH_VECTORS; v++)
            for (uint32_t r = 0; r < FF__LSH_ROUNDS; r++)
                lsh->direction[d][v][r] = (float)ff__random_below(&random, 15) - 7;
    for (uint32_t left = FF__WINDOW / 2; left > 0;) {
        uint32_t slot = ff__random_below(&random, FF__WINDOW);
        left -= lsh->chosen[slot] == 0;
        lsh->chosen[slot] = -1;
    }
}

/* What `key` is along one of each round's directions, as the bits of a float: without its sign
 * these grow with the number. */
static inline void measure(const struct ff__lsh *lsh, const float key[FF__WIDTH], uint32_t vector,
                           int32_t bits[FF__LSH_ROUNDS]) {
    float along[FF__LSH_ROUNDS] = {0};
    for (uint32_t d = 0; d < FF__WIDTH; d++)
        for (uint32_t r = 0; r < FF__LSH_ROUNDS; r++)
            along[r] += key[d] * lsh->direction[d][vector][r];
    memcpy(bits, along, sizeof along);
}

uint64_t ff__lsh_hash(const struct ff__lsh *lsh, const float key[FF__WIDTH]) {
    int32_t most[FF__LSH_ROUNDS], bucket[FF__LSH_ROUNDS] = {0}, bits[FF__LSH_ROUNDS];
    uint64_t hash = 0;
    for (uint32_t r = 0; r < FF__LSH_ROUNDS; r++)
        most[r] = -1;
    for (uint32_t v = 0; v < FF__LSH_VECTORS; v++) {
        measure(lsh, key, v, bits);
        for (uint32_t r = 0; r < FF__LSH_ROUNDS; r++) {
            int32_t size = bits[r] & INT32_MAX, here = (int32_t)(2 * v) + (bits[r] < 0);
            bucket[r] = size > most[r] ? here : bucket[r];
            most[r] = size > most[r] ? size : most[r];
        }
    }
    for (uint32_t r = 0; r < FF__LSH_ROUNDS; r++)
        hash |= (uint64_t)bucket[r] << (4 * r);
    return hash;
}

void ff__lsh_share(const struct ff__lsh *lsh, const uint64_t hash[FF__WINDOW], uint32_t slot,
                   int8_t as[FF__WINDOW]) {
    int8_t base = FF__LSH_ERASED;
    for (uint32_t i = 0; i < FF__WINDOW; i++) {
        int32_t sum = 0;
        uint32_t compared = 0;
        for (uint32_t j = 0; j < FF__WINDOW; j++) {
            if (j == i || !lsh->chosen[ff__slot_of(slot, j)])
                continue;
            sum += ff__lsh_log[ff__lsh_distance(hash[i], hash[j])];
            compared++;
        }
        as[i] = (int8_t)i;
        if (sum >= ff__lsh_far(compared)) {
            as[i] = FF__LSH_ERASED;
        } else if (sum <= ff__lsh_close(compared)) {
            base = base == FF__LSH_ERASED ? (int8_t)i : base;
            as[i] = base;
        }
    }
}
