/* UVMSmart's order of 64 KiB leaves: their 2 MiB blocks by most recent use, and in a block the leaf
 * used longest ago first. Three policies take victims in that order: the whole block, the leaf, or
 * the leaf and then what its tree drains. */
#ifndef FF_POLICY_COMMON_GROUPS_H
#define FF_POLICY_COMMON_GROUPS_H

#include "base/leaves.h"
#include "policy/common/evictor.h"
#include "policy/common/recency.h"

#include <farfault/model.h>

struct ff__group {
    struct ff__recency_link link;
    uint64_t used[FF__BLOCK_LEAVES]; /* when, by `clock` */
};

struct ff__groups {
    struct ff__evictor evictor;
    struct ff__recency list; /* of blocks */
    struct ff__group *group; /* by block */
    uint64_t clock;          /* uses seen */
};

enum ff__victim { FF__VICTIM_BLOCK, FF__VICTIM_LEAF, FF__VICTIM_TREE };

/* Hooks, for states that begin with a struct ff__groups and block states that begin with a struct
 * ff__group of `stride` bytes. */
int ff__groups_start(struct ff__groups *groups, const struct ff_policy_env *env, size_t stride);
void ff__groups_on_arrival(void *state, const struct ff_view *view,
                           const struct ff_arrival *arrival);
void ff__groups_on_leave(void *state, const struct ff_view *view, const struct ff_leave *leave);
void ff__groups_block_freed(void *state, uint32_t block);
extern const struct ff_access_hooks ff__groups_accesses;

void ff__groups_pick(struct ff__groups *groups, enum ff__victim victim, const struct ff_view *view,
                     const struct ff_evict_request *request, struct ff_victim_list *victims);

#endif
