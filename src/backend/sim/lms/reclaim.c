#include "backend/sim/lms/reclaim.h"

#include <errno.h>
#include <stdlib.h>

#define NONE FF__CACHING_NONE

int ff__reclaim_init(struct ff__reclaim *reclaim, uint32_t storages, uint64_t limit) {
    *reclaim = (struct ff__reclaim){.oldest = NONE, .newest = NONE};
    ff__caching_init(&reclaim->pool, limit);
    reclaim->storages = calloc(storages ? storages : 1, sizeof *reclaim->storages);
    return reclaim->storages ? 0 : -ENOMEM;
}

void ff__reclaim_fini(struct ff__reclaim *reclaim) {
    ff__caching_fini(&reclaim->pool);
    free(reclaim->storages);
    reclaim->storages = NULL;
}

/* ---- the list ---- */

void ff__reclaim_list(struct ff__reclaim *reclaim, uint32_t storage) {
    struct ff__inactive *at = &reclaim->storages[storage];
    if (at->listed)
        return;
    at->before = reclaim->newest;
    at->after = NONE;
    *(reclaim->newest == NONE ? &reclaim->oldest : &reclaim->storages[reclaim->newest].after) =
        storage;
    reclaim->newest = storage;
    at->listed = true;
    reclaim->listed++;
}

void ff__reclaim_unlist(struct ff__reclaim *reclaim, uint32_t storage) {
    struct ff__inactive *at = &reclaim->storages[storage];
    if (!at->listed)
        return;
    *(at->before == NONE ? &reclaim->oldest : &reclaim->storages[at->before].after) = at->after;
    *(at->after == NONE ? &reclaim->newest : &reclaim->storages[at->after].before) = at->before;
    at->listed = false;
    reclaim->listed--;
}

/* ---- taking memory from storages ---- */

static void take(struct ff__reclaim *reclaim, uint32_t storage) {
    reclaim->finish(reclaim->self, storage);
    ff__reclaim_unlist(reclaim, storage);
    ff__caching_release(&reclaim->pool, reclaim->storages[storage].block);
}

static bool is_same_pool(const struct ff__reclaim *reclaim, uint32_t storage, uint64_t size) {
    const struct ff__caching_block *block = &reclaim->pool.blocks[reclaim->storages[storage].block];
    return reclaim->pool.segments[block->segment].small == (size <= FF__CACHING_SMALL_MAX);
}

static uint64_t free_bytes(const struct ff__caching *pool, uint32_t block) {
    return block != NONE && pool->blocks[block].free ? pool->blocks[block].size : 0;
}

/* Its block alone, or with its free neighbours if it must be. */
static bool is_enough(const struct ff__reclaim *reclaim, uint32_t storage, uint64_t size) {
    const struct ff__caching *pool = &reclaim->pool;
    const struct ff__caching_block *block = &pool->blocks[reclaim->storages[storage].block];
    return is_same_pool(reclaim, storage, size) &&
           block->size + free_bytes(pool, block->before) + free_bytes(pool, block->after) >= size;
}

static bool is_in_segment(const struct ff__reclaim *reclaim, uint32_t storage, uint64_t size) {
    const struct ff__caching *pool = &reclaim->pool;
    const struct ff__caching_block *block = &pool->blocks[reclaim->storages[storage].block];
    return is_same_pool(reclaim, storage, size) && pool->segments[block->segment].size >= size;
}

static bool is_any(const struct ff__reclaim *reclaim, uint32_t storage, uint64_t size) {
    (void)reclaim, (void)storage, (void)size;
    return true;
}

static bool take_first(struct ff__reclaim *reclaim, uint64_t size) {
    uint32_t storage = reclaim->oldest;
    while (storage != NONE && !is_enough(reclaim, storage, size))
        storage = reclaim->storages[storage].after;
    if (storage == NONE)
        return false;
    reclaim->page_out(reclaim->self, storage);
    take(reclaim, storage);
    return true;
}

/* All copies are queued before the first is waited for. What is chosen follows from segments, which
 * taking does not change, so both passes choose the same. */
static void take_all(struct ff__reclaim *reclaim, uint64_t size,
                     bool (*wants)(const struct ff__reclaim *, uint32_t, uint64_t)) {
    for (uint32_t i = reclaim->oldest; i != NONE; i = reclaim->storages[i].after)
        if (wants(reclaim, i, size))
            reclaim->page_out(reclaim->self, i);
    for (uint32_t i = reclaim->oldest, next; i != NONE; i = next) {
        next = reclaim->storages[i].after;
        if (wants(reclaim, i, size))
            take(reclaim, i);
    }
}

/* ---- allocating ---- */

static int reuse(struct ff__reclaim *reclaim, uint64_t bytes, uint32_t *block,
                 enum ff__reclaim_source source) {
    int status = ff__caching_reuse(&reclaim->pool, bytes, block);
    reclaim->from[source] += status == 0;
    return status;
}

static int extend(struct ff__reclaim *reclaim, uint64_t bytes, uint32_t *block,
                  enum ff__reclaim_source source) {
    int status = ff__caching_extend(&reclaim->pool, bytes, block);
    reclaim->from[source] += status == 0;
    return status;
}

/* reclaim_block() */
static int reclaim_block(struct ff__reclaim *reclaim, uint64_t bytes, uint32_t *block) {
    uint64_t size = ff__caching_round(bytes);
    int status = -ENOSPC;
    while (status == -ENOSPC && take_first(reclaim, size))
        status = reuse(reclaim, bytes, block, FF__FROM_ONE);
    if (status == -ENOSPC) {
        take_all(reclaim, size, is_in_segment);
        status = reuse(reclaim, bytes, block, FF__FROM_FRAGMENTS);
    }
    if (status == -ENOSPC) {
        take_all(reclaim, size, is_any);
        status = reuse(reclaim, bytes, block, FF__FROM_ALL);
    }
    return status;
}

int ff__reclaim_allocate(struct ff__reclaim *reclaim, uint64_t bytes, uint32_t *block) {
    int status = reuse(reclaim, bytes, block, FF__FROM_CACHE);
    if (status == -ENOSPC)
        status = extend(reclaim, bytes, block, FF__FROM_DEVICE);
    if (status == -ENOSPC)
        status = reclaim_block(reclaim, bytes, block);
    if (status == -ENOSPC) {
        ff__caching_empty_cache(&reclaim->pool);
        status = extend(reclaim, bytes, block, FF__FROM_DEVICE_AGAIN);
    }
    return status;
}
