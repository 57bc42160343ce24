/* Pools that a program makes for managed memory: what they give is its own, and is not
 * substituted. */
#include "preload/cuda/internal.h"

#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* A handle stays after its pool, until another pool has it. */
static struct managed_pool {
    struct managed_pool *next;
    CUmemoryPool pool;
} * pools;

/* Where the pool is in the list, or its end. The lock is held. */
static struct managed_pool **find(CUmemoryPool pool) {
    struct managed_pool **at = &pools;
    while (*at && (*at)->pool != pool)
        at = &(*at)->next;
    return at;
}

bool ff__cuda_pool_is_managed(CUmemoryPool pool) {
    pthread_mutex_lock(&lock);
    bool is_managed = *find(pool) != NULL;
    pthread_mutex_unlock(&lock);
    return is_managed;
}

/* Without memory for it, it is as any other. */
static void note(CUmemoryPool pool, bool is_managed) {
    pthread_mutex_lock(&lock);
    struct managed_pool **at = find(pool), *found = *at;
    if (is_managed && !found && (*at = calloc(1, sizeof **at)) != NULL)
        (*at)->pool = pool;
    if (!is_managed && found) {
        *at = found->next;
        free(found);
    }
    pthread_mutex_unlock(&lock);
}

FF_HOOKED CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *properties) {
    CUresult result = REAL(cuMemPoolCreate)(pool, properties);
    if (result == CUDA_SUCCESS)
        note(*pool, properties->allocType == CU_MEM_ALLOCATION_TYPE_MANAGED);
    return result;
}
