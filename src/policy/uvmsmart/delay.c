#include "policy/uvmsmart/delay.h"

static void catch_up_counts(const struct ff__delay *delay, struct ff__delay_block *block) {
    uint32_t lag = delay->count_halvings - block->count_halvings;
    if (lag == 0)
        return;
    for (uint32_t leaf = 0; leaf < FF__BLOCK_LEAVES; leaf++)
        block->count[leaf] = lag < 32 ? block->count[leaf] >> lag : 0;
    block->count_halvings = delay->count_halvings;
}

static void catch_up_trips(const struct ff__delay *delay, struct ff__delay_block *block) {
    uint32_t lag = delay->trip_halvings - block->trip_halvings;
    block->trips = lag < 32 ? block->trips >> lag : 0;
    block->trip_halvings = delay->trip_halvings;
}

uint32_t ff__delay_count(struct ff__delay *delay, struct ff__delay_block *block, uint32_t leaf,
                         uint64_t accesses) {
    catch_up_counts(delay, block);
    uint32_t left = FF__DELAY_COUNT_FULL - block->count[leaf];
    block->count[leaf] += accesses < left ? (uint32_t)accesses : left;
    if (block->count[leaf] == FF__DELAY_COUNT_FULL) {
        delay->count_halvings++;
        catch_up_counts(delay, block);
    }
    return block->count[leaf];
}

void ff__delay_written_back(struct ff__delay *delay, struct ff__delay_block *block) {
    catch_up_trips(delay, block);
    if (++block->trips == FF__DELAY_TRIPS_FULL)
        delay->trip_halvings++;
}

uint64_t ff__delay_threshold(const struct ff__delay *delay, enum ff__delay_mode mode,
                             struct ff__delay_block *block, bool full, uint64_t used,
                             uint64_t capacity) {
    if (mode == FF__DELAY_OFF || (mode == FF__DELAY_OVERSUBSCRIBED && !full))
        return 0;
    if (mode != FF__DELAY_ADAPTIVE)
        return delay->threshold;
    if (!full)
        return 1 + (capacity ? delay->threshold * used / capacity : 0);
    catch_up_trips(delay, block);
    return (uint64_t)delay->threshold * delay->penalty * (block->trips + 1);
}
