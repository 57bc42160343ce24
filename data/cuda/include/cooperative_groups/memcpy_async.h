/* Copies that all threads of a group make together; they are done when the group has waited. */
#ifndef FF_CUDA_COOPERATIVE_GROUPS_MEMCPY_ASYNC_H
#define FF_CUDA_COOPERATIVE_GROUPS_MEMCPY_ASYNC_H

#include "../cooperative_groups.h"

#ifdef __CUDA__

namespace cooperative_groups {

template <class Unit, class Group>
__device__ inline void ff_cuda_copy(const Group &group, void *to, const void *from, size_t count) {
    for (size_t i = group.thread_rank(); i < count; i += group.size())
        static_cast<Unit *>(to)[i] = static_cast<const Unit *>(from)[i];
}

template <class Group, class T>
__device__ inline void memcpy_async(const Group &group, T *to, const void *from, size_t size) {
    if ((((size_t)to | (size_t)from | size) & (sizeof(unsigned) - 1)) == 0)
        ff_cuda_copy<unsigned>(group, to, from, size / sizeof(unsigned));
    else
        ff_cuda_copy<unsigned char>(group, to, from, size);
}
/* As many elements as both have. */
template <class Group, class T>
__device__ inline void memcpy_async(const Group &group, T *to, size_t to_count, const T *from,
                                    size_t from_count) {
    memcpy_async(group, to, from, (to_count < from_count ? to_count : from_count) * sizeof(T));
}

template <class Group> __device__ inline void wait(const Group &group) {
    group.sync();
}
/* All copies but the last `Stages`: here each is done at once. */
template <unsigned Stages, class Group> __device__ inline void wait_prior(const Group &group) {
    group.sync();
}

} // namespace cooperative_groups

#endif

#endif
