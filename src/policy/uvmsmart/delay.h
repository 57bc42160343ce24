/* Delayed migration (IPDPS 2020, UVMSmart's -enable_dma): a page is used over the link until its
 * leaf has been accessed often enough.
 *
 * Every leaf counts its accesses in 27 bits and its round trips in 6; when one is full, all of its
 * kind are halved, each block's when it is looked at. All leaves of a block make a round trip when
 * something of it is written back. */
#ifndef FF_POLICY_UVMSMART_DELAY_H
#define FF_POLICY_UVMSMART_DELAY_H

#include "base/leaves.h"

enum ff__delay_mode {
    FF__DELAY_OFF,
    FF__DELAY_ADAPTIVE, /* the fuller the memory and the more round trips, the later */
    FF__DELAY_ALWAYS,
    FF__DELAY_OVERSUBSCRIBED, /* only once memory has been full */
    FF__DELAY_MODES
};

#define FF__DELAY_COUNT_FULL ((1u << 27) - 1)
#define FF__DELAY_TRIPS_FULL ((1u << 6) - 1)

struct ff__delay_block {
    uint32_t count[FF__BLOCK_LEAVES];
    uint32_t trips; /* the same for all leaves */
    uint32_t count_halvings, trip_halvings;
};

struct ff__delay {
    uint32_t threshold, penalty;            /* UVMSmart's ts and p */
    uint32_t count_halvings, trip_halvings; /* that all blocks have to follow */
};

/* So many accesses to the leaf; returns how many there were. */
uint32_t ff__delay_count(struct ff__delay *delay, struct ff__delay_block *block, uint32_t leaf,
                         uint64_t accesses);

void ff__delay_written_back(struct ff__delay *delay, struct ff__delay_block *block);

/* How many accesses a read needs to migrate. `used` of `capacity` pages of the device are
 * taken; `full`: it has been full. */
uint64_t ff__delay_threshold(const struct ff__delay *delay, enum ff__delay_mode mode,
                             struct ff__delay_block *block, bool full, uint64_t used,
                             uint64_t capacity);

#endif
