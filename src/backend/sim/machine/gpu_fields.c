#include "backend/sim/machine/gpu_fields.h"

#define AT(member) offsetof(struct ff__gpu, member)

#define NUMBER(member, type, min, max, only)                                                       \
    {                                                                                              \
#member, FF__FIELD_##type, AT(member), min, max, FF__ONLY_##only, {                        \
            NULL                                                                                   \
        }                                                                                          \
    }
#define TEXT(member)                                                                               \
    {                                                                                              \
#member, FF__FIELD_TEXT, AT(member), 0, sizeof(((struct ff__gpu *)0)->member),             \
            FF__ONLY_ANY, {                                                                        \
            NULL                                                                                   \
        }                                                                                          \
    }
#define WORD(member, ...)                                                                          \
    {                                                                                              \
#member, FF__FIELD_WORD, AT(member), 0, 0, FF__ONLY_ANY, {                                 \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

#define SECOND 1e9 /* in ns; no one cost of a device takes longer */

/* The ranges keep slips of the finger out, and sums of these numbers far from overflow. */
const struct ff__gpu_field ff__gpu_fields[] = {
    TEXT(name),
    TEXT(summary),
    WORD(fault_cost, "batch", "flat", "overlapped"), /* in the order of enum ff__fault_cost */
    WORD(host, "faults", "synchronizes"),            /* in the order of enum ff__host_kind */
    WORD(ranges, "exact", "trees"),                  /* in the order of enum ff__ranges_kind */
    NUMBER(memory, WHOLE, 0x1p21, 0x1p50, ANY),
    NUMBER(granule, WHOLE, 4096, 0x1p21, ANY),
    NUMBER(sms, COUNT, 1, FF__SMS_MAX, ANY),
    NUMBER(warps_per_sm, COUNT, 1, 256, ANY),
    NUMBER(ctas_per_sm, COUNT, 1, 256, ANY),
    NUMBER(clock_hz, REAL, 1e6, 1e11, ANY),
    NUMBER(instructions_per_cycle, REAL, 0.01, 64, ANY),
    NUMBER(flops, REAL, 1e6, 1e18, ANY),
    NUMBER(memory_rate, REAL, 1e6, 1e15, ANY),
    NUMBER(memory_latency_ns, WHOLE, 0, SECOND, ANY),
    NUMBER(tlb_entries, COUNT, 1, 1 << 24, ANY),
    NUMBER(tlb_page, WHOLE, 4096, 0x1p30, ANY),
    NUMBER(walk_ns, WHOLE, 0, SECOND, ANY),
    NUMBER(launch_ns, WHOLE, 0, SECOND, ANY),
    {"write_back_clean", FF__FIELD_BOOL, AT(write_back_clean), 0, 0, FF__ONLY_ANY, {NULL}},
    {"ends_when_idle", FF__FIELD_BOOL, AT(ends_when_idle), 0, 0, FF__ONLY_ANY, {NULL}},
    {"copies_empty", FF__FIELD_BOOL, AT(copies_empty), 0, 0, FF__ONLY_ANY, {NULL}},
    NUMBER(batch_faults, COUNT, 1, 1 << 20, BATCH),
    NUMBER(fault_ns, WHOLE, 1, SECOND, FLAT),
    NUMBER(delivery_ns, WHOLE, 0, SECOND, BATCH),
    NUMBER(spin_ns, WHOLE, 0, SECOND, BATCH),
    NUMBER(wake_ns, WHOLE, 0, SECOND, BATCH),
    NUMBER(reserve_share, COUNT, 0, 1 << 20, BATCH),
    NUMBER(reserve_most, COUNT, 0, 1 << 20, BATCH),
    NUMBER(movers, COUNT, 0, 1024, BATCH),
    NUMBER(mover_share, REAL, 0, 1, BATCH),
    NUMBER(batch_ns, WHOLE, 0, SECOND, BATCH),
    NUMBER(entry_ns, WHOLE, 0, SECOND, BATCH),
    NUMBER(duplicate_ns, WHOLE, 0, SECOND, BATCH),
    NUMBER(block_ns, WHOLE, 0, SECOND, BATCH),
    NUMBER(page_ns, WHOLE, 0, SECOND, BATCH),
    NUMBER(evict_ns, WHOLE, 0, SECOND, BATCH),
    NUMBER(flush_ns, WHOLE, 0, SECOND, BATCH),
    NUMBER(replay_ns, WHOLE, 0, SECOND, BATCH),
    NUMBER(remote_ns, WHOLE, 0, SECOND, ANY),
    NUMBER(remote_link_ns, REAL, 0, SECOND, ANY),
    WORD(tracker_sees, "accesses", "walks"), /* in the order of enum ff__tracker_sees */
    NUMBER(sample_interval, COUNT, 1, 1 << 24, ANY),
    NUMBER(sample_ns, WHOLE, 0, SECOND, ANY),
    NUMBER(sample_page_ns, WHOLE, 0, SECOND, ANY),
    {0},
};

const struct ff__gpu_field ff__gpu_link_fields[] = {
    {"latency_ns",
     FF__FIELD_REAL,
     offsetof(struct ff__link_model, latency_ns),
     0,
     SECOND,
     FF__ONLY_ANY,
     {NULL}},
    {"curve", FF__FIELD_CURVE, 0, 0, 0, FF__ONLY_ANY, {NULL}},
    {0},
};

const struct ff__gpu_link ff__gpu_links[] = {
    {"in", AT(in)}, {"out", AT(out)}, {"peer", AT(peer)}, {NULL, 0}};
