/* Units (pages, blocks) by last use, coldest first, in an intrusive list.
 *
 * A share of the list's cold end can be kept apart, "reserved": the edge, the coldest unit that is
 * not in it, is maintained along with the list.
 *
 * The structures in which eviction policies keep what is on a device are a set. All lie in the
 * policy's block state, so that nothing is allocated and memory that is never used costs nothing. A
 * policy takes the cheapest that answers its question:
 *
 *   recency.h            Which unit was used longest ago? A use writes the links of up to four
 *                        units.
 *   migration_order.h    Which block was migrated longest ago, and was one discarded before? Two
 *                        recency lists, as in the NVIDIA driver.
 *   groups.h             Which leaf of which block was used longest ago? A recency list of blocks,
 *                        and a time by leaf.
 *   base/heap.h          Which unit has the greatest key? For keys that are not times of last uses:
 *                        next uses, and counts.
 *   lot.h                Any unit, at random. A use costs nothing. */
#ifndef FF_POLICY_COMMON_RECENCY_H
#define FF_POLICY_COMMON_RECENCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Both are id + 1, and 0 is none; the top bit of `prev` says that the unit is reserved. */
struct ff__recency_link {
    uint32_t next, prev;
};

struct ff__recency {
    unsigned char *links; /* of unit 0 */
    size_t stride;
    uint32_t head, tail, edge; /* id + 1 */
    uint32_t count, reserved;
    uint32_t percent; /* of `count`, to reserve */
};

#define FF__RECENCY_RESERVED 0x80000000u
#define FF__RECENCY_UNITS    0x7ffffffeu /* more cannot be told apart */

static inline struct ff__recency_link *ff__recency_link(const struct ff__recency *list,
                                                        uint32_t id) {
    return (struct ff__recency_link *)(list->links + (size_t)id * list->stride);
}

static inline bool ff__recency_has(const struct ff__recency *list, uint32_t id) {
    return (ff__recency_link(list, id)->prev & ~FF__RECENCY_RESERVED) != 0 || list->head == id + 1;
}

/* The unit is now the last used one, whether it was in the list or not. */
void ff__recency_touch(struct ff__recency *list, uint32_t id);

/* Nothing if it is not in the list. */
void ff__recency_remove(struct ff__recency *list, uint32_t id);

#endif
