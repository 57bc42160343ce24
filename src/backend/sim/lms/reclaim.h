/* The allocator of IBM's Large Model Support for PyTorch (patch for 1.5.0, malloc() and
 * reclaim_block()): PyTorch's caching allocator with a limit, and a list of the storages that no
 * operation holds, the one that was let go of first at its head. Where memory comes from, in this
 * order: a cached block; the device, below the limit; the first storage of the list whose block,
 * with its free neighbours, is large enough; all storages in segments that are large enough; all
 * storages; the device again, after what is cached has gone back. A storage that never was an
 * argument of an operation is not on the list. */
#ifndef FF_BACKEND_SIM_LMS_RECLAIM_H
#define FF_BACKEND_SIM_LMS_RECLAIM_H

#include "workload/dnn/allocator.h"

enum ff__reclaim_source {
    FF__FROM_CACHE,
    FF__FROM_DEVICE,
    FF__FROM_ONE,
    FF__FROM_FRAGMENTS,
    FF__FROM_ALL,
    FF__FROM_DEVICE_AGAIN,
    FF__SOURCES,
};

/* A storage as the list sees it. */
struct ff__inactive {
    uint32_t block; /* of the pool */
    uint32_t before, after;
    bool listed;
};

struct ff__reclaim {
    struct ff__caching pool;
    struct ff__inactive *storages; /* [storage]; whose blocks the user sets */
    uint32_t oldest, newest, listed;
    uint64_t from[FF__SOURCES]; /* how many blocks came from where */
    /* Begins the copy to the host of a storage on the list, unless it has begun; waits for its end,
     * when the storage's data are on the host alone. In between, copies of several storages are
     * queued. */
    void (*page_out)(void *self, uint32_t storage);
    void (*finish)(void *self, uint32_t storage);
    void *self;
};

/* `limit`: bytes of segments, 0: none. -ENOMEM. The caller sets what is told. */
int ff__reclaim_init(struct ff__reclaim *reclaim, uint32_t storages, uint64_t limit);
void ff__reclaim_fini(struct ff__reclaim *reclaim);

/* The storage has no holder any more; it has one again, or is freed. No-ops if that is so already.
 */
void ff__reclaim_list(struct ff__reclaim *reclaim, uint32_t storage);
void ff__reclaim_unlist(struct ff__reclaim *reclaim, uint32_t storage);

/* A block of at least `bytes` > 0. -ENOSPC: not even with all storages of the list gone; -ENOMEM.
 */
int ff__reclaim_allocate(struct ff__reclaim *reclaim, uint64_t bytes, uint32_t *block);

#endif
