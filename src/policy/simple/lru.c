/* Least recently used: three policies that keep the same order of leaves and differ in what they
 * take from its cold end. By the block, the whole block whose last use is longest ago (UVMSmart's
 * LRU 2MB). By the leaf, the coldest 64 KiB leaf of that block (UVMSmart's sequential-local). By
 * the tree, that leaf, and then any node of the block's tree that is less than half valid loses the
 * rest of its whole leaves (Ganguly's tree pre-eviction, ISCA 2019). */
#include "policy/common/groups.h"
#include "policy/registry.h"

static int init(void *state, const struct ff_policy_env *env) {
    return ff__groups_start(state, env, sizeof(struct ff__group));
}

#define LRU_POLICY(id, called, victim, says)                                                       \
    static void pick_##id(void *state, const struct ff_view *view,                                 \
                          const struct ff_evict_request *request,                                  \
                          struct ff_victim_list *victims) {                                        \
        ff__groups_pick(state, victim, view, request, victims);                                    \
    }                                                                                              \
    const struct ff_evict_policy ff__evict_##id = {                                                \
        .base =                                                                                    \
            {                                                                                      \
                .name = called,                                                                    \
                .summary = says,                                                                   \
                .api = FF_POLICY_API,                                                              \
                .sees = FF_SEES_FAULTS,                                                            \
                .controls = FF_CONTROLS_VICTIMS,                                                   \
                .state_size = sizeof(struct ff__groups),                                           \
                .block_state_size = sizeof(struct ff__group),                                      \
                .params = ff__evictor_params,                                                      \
                .init = init,                                                                      \
                .block_freed = ff__groups_block_freed,                                             \
                .on_arrival = ff__groups_on_arrival,                                               \
                .on_leave = ff__groups_on_leave,                                                   \
                .accesses = &ff__groups_accesses,                                                  \
            },                                                                                     \
        .reserve = ff__evictor_reserve,                                                            \
        .pick = pick_##id,                                                                         \
    };

LRU_POLICY(lru_2m, "lru-2m", FF__VICTIM_BLOCK, "the least recently used block (UVMSmart)")
LRU_POLICY(lru_64k, "lru-64k", FF__VICTIM_LEAF,
           "the least recently used 64 KiB leaf of the least recently used block (UVMSmart)")
LRU_POLICY(tree_half, "tree-half", FF__VICTIM_TREE,
           "as lru-64k, then tree nodes that are less than half valid (Ganguly's pre-eviction)")
