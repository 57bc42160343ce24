/* A modelled device: numbers, each with its source in the preset file it was read from. */
#ifndef FF_BACKEND_SIM_MACHINE_GPU_H
#define FF_BACKEND_SIM_MACHINE_GPU_H

#include <farfault/farfault.h>
#include <farfault/mask.h>
#include <stddef.h>

enum ff__fault_cost {
    FF__FAULT_BATCH, /* the driver's: a cost per batch, block and page, replay after the batch */
    FF__FAULT_FLAT,  /* UVMSmart's: every fault costs the same, added to the time of kernels */
    FF__FAULT_OVERLAPPED, /* every fault waits the same time, together with all others that wait */
};

/* Who sees to it that host and devices see the same data. */
enum ff__host_kind {
    FF__HOST_FAULTS,       /* what the host touches comes home */
    FF__HOST_SYNCHRONIZES, /* UVMSmart: the host moves nothing but in cudaDeviceSynchronize, which
                              writes back what is dirty, and takes all frames for free from then on:
                              clean pages stay where they are, out of reach of any eviction */
};

/* How many pages an allocation has. */
enum ff__ranges_kind {
    FF__RANGES_EXACT,
    FF__RANGES_TREES, /* UVMSmart: those of whole trees: 2 MiB, and 64 KiB x 2^k for what is left */
};

/* What the access time tracker counts. */
enum ff__tracker_sees {
    FF__TRACKER_SEES_ACCESSES,
    FF__TRACKER_SEES_WALKS, /* accesses that the TLB does not answer, which a GMMU sees */
};

#define FF__LINK_POINTS 32

/* Bandwidth by the size of a transfer: pieces of a measured or published curve, linear between them
 * in the logarithm of the size. */
struct ff__link_model {
    double latency_ns;
    uint32_t point_count;
    double bytes[FF__LINK_POINTS], rate[FF__LINK_POINTS]; /* ascending bytes; bytes per second */
};

#define FF__SMS_MAX 1024u

struct ff__gpu {
    char name[32], summary[96];
    uint64_t memory;  /* bytes; what --memory shares are not of, only the default */
    uint64_t granule; /* bytes in which it is allocated: 4 KiB, or of chunks 64 KiB or 2 MiB */
    uint32_t sms, warps_per_sm, ctas_per_sm;
    double clock_hz;
    double instructions_per_cycle; /* of warps, an SM */
    double flops;                  /* operations per second in single precision, whole device */
    double memory_rate;            /* bytes per second of device memory, whole device */
    uint64_t memory_latency_ns;    /* of an access that hits */
    uint32_t tlb_entries;          /* an SM */
    uint64_t tlb_page;             /* bytes one entry covers */
    uint64_t walk_ns;
    uint64_t launch_ns; /* from one kernel's end, or its launch, to its start */
    enum ff__fault_cost fault_cost;
    enum ff__host_kind host;
    enum ff__ranges_kind ranges;
    bool write_back_clean; /* evictions copy clean pages too */
    bool ends_when_idle; /* a warp that has ended keeps its place until nothing moves over links */
    bool copies_empty;   /* pages that have no content yet are copied in like others */
    /* flat, overlapped */
    uint64_t fault_ns; /* one fault */
    /* batch */
    uint32_t batch_faults; /* fault buffer entries taken at a time */
    uint64_t delivery_ns;  /* from the stall of a warp to its entry in the buffer */
    /* The driver falls asleep so long after a batch; to wake up for the next one takes so long */
    uint64_t spin_ns, wake_ns;
    uint32_t reserve_share, reserve_most; /* as of ff__engine_reserve() */
    /* Prefetches and pre-evictions that are under way at a time, 0: as many as the reserve wants;
     * and the part of their time by which SMs are delayed that run meanwhile, because they share
     * processors */
    uint32_t movers;
    double mover_share;
    /* the driver's time for a batch, an entry of the buffer in it, what an entry takes longer if
     * its page has one already, a block, a page */
    uint64_t batch_ns, entry_ns, duplicate_ns, block_ns, page_ns;
    uint64_t evict_ns; /* the driver's time for one eviction */
    /* for an entry that it drops, because it came too late for the batch; for the replay */
    uint64_t flush_ns, replay_ns;
    uint64_t remote_ns;    /* latency of a remote access */
    double remote_link_ns; /* time for which a remote access occupies the link */
    /* the access time tracker, where a policy must see samples: accesses to a range between two
     * interrupts; the driver's time for one, and for each page of the range */
    enum ff__tracker_sees tracker_sees;
    uint32_t sample_interval;
    uint64_t sample_ns, sample_page_ns;
    struct ff__link_model in, out; /* host to device and back, at the same time */
    struct ff__link_model peer;    /* between devices */
};

/* Reads a preset: a name looked for in `folder`, or a path (it has a slash or ends in .json).
 * -ENOENT (the message lists what there is), -EINVAL: what is wrong with which member. */
int ff__gpu_read(const char *name, const char *folder, struct ff__gpu *out, struct ff_error *error);

/* As ff__gpu_read(), for NAME or NAME:MEMBER=VALUE,... with other values than the preset's, as
 * for ff__gpu_change(). */
int ff__gpu_read_spec(const char *spec, const char *folder, struct ff__gpu *out,
                      struct ff_error *error);

/* As ff__gpu_read(), for text that is already in memory; messages call it `file`. */
int ff__gpu_parse(const char *file, const char *text, size_t length, struct ff__gpu *out,
                  struct ff_error *error);

/* Gives a member another value than its preset has: a number (bytes may have a unit), a word, true
 * or false. -EINVAL: what is wrong; `file` is what messages call the device. The costs of a batch
 * and of a flat fault are different members, so fault_cost changes between "flat" and "overlapped"
 * only. */
int ff__gpu_change(struct ff__gpu *gpu, const char *file, const char *name, const char *value,
                   struct ff_error *error);

/* The presets of a folder, in the order of their names, `max` at most. Returns their number. */
unsigned ff__gpu_names(const char *folder, char (*out)[32], unsigned max);

/* Says that a folder of presets, of this `kind`, has none of this name, which ones are nearest, and
 * what shows all. Returns -ENOENT. */
int ff__gpu_missing(const char *name, const char *kind, const char *folder, const char *command,
                    struct ff_error *error);

/* What a fault costs alone, without its transfer; not 0. */
uint64_t ff__gpu_fault_ns(const struct ff__gpu *gpu);

/* A device has a whole number of so many bytes of memory, at least one: chunks, or pages. */
static inline uint64_t ff__gpu_least_memory(const struct ff__gpu *gpu) {
    return gpu->granule == FF_PAGE_SIZE ? FF_PAGE_SIZE : FF_BLOCK_SIZE;
}

/* Time a transfer holds the link; latency comes on top, and overlaps with the next transfer. */
uint64_t ff__link_ns(const struct ff__link_model *link, uint64_t bytes);

#endif
