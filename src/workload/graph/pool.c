#include "workload/graph/pool.h"

#include <errno.h>
#include <string.h>

void ff__pool_init(struct ff__pool *pool, uint64_t bytes) {
    *pool = (struct ff__pool){.free = {{0, bytes}}, .free_count = 1};
}

static void remove_free(struct ff__pool *pool, uint32_t at) {
    pool->free_count--;
    memmove(&pool->free[at], &pool->free[at + 1], (pool->free_count - at) * sizeof *pool->free);
}

/* The smallest that is large enough, of these the first; free_count: none. */
static uint32_t best_fit(const struct ff__pool *pool, uint64_t bytes) {
    uint32_t best = pool->free_count;
    for (uint32_t i = 0; i < pool->free_count; i++)
        if (pool->free[i].bytes >= bytes &&
            (best == pool->free_count || pool->free[i].bytes < pool->free[best].bytes))
            best = i;
    return best;
}

int ff__pool_take(struct ff__pool *pool, uint64_t bytes, struct ff__pool_block *out) {
    bytes = (bytes + FF__POOL_ALIGN - 1) / FF__POOL_ALIGN * FF__POOL_ALIGN;
    uint32_t at = best_fit(pool, bytes);
    if (at == pool->free_count)
        return -ENOSPC;
    struct ff__pool_block *from = &pool->free[at];
    *out = (struct ff__pool_block){from->offset, bytes};
    from->offset += bytes;
    from->bytes -= bytes;
    if (from->bytes == 0)
        remove_free(pool, at);
    if (out->offset + bytes > pool->peak)
        pool->peak = out->offset + bytes;
    return 0;
}

static bool join(struct ff__pool_block *low, const struct ff__pool_block *high) {
    if (low->offset + low->bytes != high->offset)
        return false;
    low->bytes += high->bytes;
    return true;
}

int ff__pool_give(struct ff__pool *pool, const struct ff__pool_block *block) {
    uint32_t at = 0;
    if (block->bytes == 0)
        return 0;
    while (at < pool->free_count && pool->free[at].offset < block->offset)
        at++;
    if (at > 0 && join(&pool->free[at - 1], block)) {
        at--;
    } else if (pool->free_count == FF__POOL_BLOCKS) {
        return -ENOSPC;
    } else {
        memmove(&pool->free[at + 1], &pool->free[at], (pool->free_count - at) * sizeof *pool->free);
        pool->free[at] = *block;
        pool->free_count++;
    }
    if (at + 1 < pool->free_count && join(&pool->free[at], &pool->free[at + 1]))
        remove_free(pool, at + 1);
    return 0;
}
