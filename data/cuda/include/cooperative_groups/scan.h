/* Prefix sums of the threads of a tile, or of those that are together. */
#ifndef FF_CUDA_COOPERATIVE_GROUPS_SCAN_H
#define FF_CUDA_COOPERATIVE_GROUPS_SCAN_H

#include "../cooperative_groups.h"

#ifdef __CUDA__

namespace cooperative_groups {

template <class Group, class T, class Operation>
__device__ inline T inclusive_scan(const Group &group, T value, Operation operation) {
    for (unsigned delta = 1; delta < group.size(); delta *= 2) {
        T other = group.shfl_up(value, delta);
        if (group.thread_rank() >= delta)
            value = operation(other, value);
    }
    return value;
}
template <class Group, class T> __device__ inline T inclusive_scan(const Group &group, T value) {
    return inclusive_scan(group, value, plus<T>());
}

/* The first thread gets a 0. */
template <class Group, class T, class Operation>
__device__ inline T exclusive_scan(const Group &group, T value, Operation operation) {
    T before = group.shfl_up(inclusive_scan(group, value, operation), 1);
    return group.thread_rank() == 0 ? T() : before;
}
template <class Group, class T> __device__ inline T exclusive_scan(const Group &group, T value) {
    return exclusive_scan(group, value, plus<T>());
}

} // namespace cooperative_groups

#endif

#endif
