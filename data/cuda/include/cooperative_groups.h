/* Cooperative groups: blocks, tiles of a warp or of several, the threads that are together, the
 * grid, and any of these; with reductions by shuffles. */
#ifndef FF_CUDA_COOPERATIVE_GROUPS_H
#define FF_CUDA_COOPERATIVE_GROUPS_H

#include "cuda_runtime.h"

#ifdef __CUDA__

namespace cooperative_groups {

#define FF_CUDA_MEMBER __device__ inline

/* ---- the block ---- */

/* What tiles of more than a warp need of a block's shared memory: a counter for each, and values of
 * up to 8 bytes of their threads. */
struct ff_cuda_tile_memory {
    unsigned arrived[1024 / 64];
};
template <unsigned Threads = 1024> struct block_tile_memory : ff_cuda_tile_memory {
    unsigned long long values[Threads];
};

class thread_block {
    ff_cuda_tile_memory *memory; /* of its tiles; or NULL */

  public:
    FF_CUDA_MEMBER explicit thread_block(ff_cuda_tile_memory *of = nullptr) : memory(of) {}
    FF_CUDA_MEMBER ff_cuda_tile_memory *ff_cuda_memory() const { return memory; }
    FF_CUDA_MEMBER static void sync() { __syncthreads(); }
    FF_CUDA_MEMBER static dim3 group_index() { return dim3(blockIdx); }
    FF_CUDA_MEMBER static dim3 thread_index() { return dim3(threadIdx); }
    FF_CUDA_MEMBER static dim3 dim_threads() { return blockDim; }
    FF_CUDA_MEMBER static dim3 group_dim() { return blockDim; }
    FF_CUDA_MEMBER static unsigned num_threads() { return blockDim.x * blockDim.y * blockDim.z; }
    FF_CUDA_MEMBER static unsigned size() { return num_threads(); }
    FF_CUDA_MEMBER static unsigned thread_rank() {
        return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    }
};

FF_CUDA_MEMBER thread_block this_thread_block() {
    return thread_block();
}
template <unsigned Threads>
FF_CUDA_MEMBER thread_block this_thread_block(block_tile_memory<Threads> &memory) {
    if (thread_block::thread_rank() == 0)
        for (unsigned &arrived : memory.arrived)
            arrived = 0;
    thread_block::sync();
    return thread_block(&memory);
}

/* ---- the grid ---- */

/* `count` threads meet, one of which is the first one. All together add 2^31, so that the last to
 * come turns the highest bit over, for which the others wait, and other bits are zeros again. */
FF_CUDA_MEMBER void ff_cuda_meet(volatile unsigned *arrived, unsigned count, bool is_first) {
    unsigned before = atomicAdd((unsigned *)arrived, is_first ? 0x80000000u - (count - 1) : 1u);
    while (((*arrived ^ before) & 0x80000000u) == 0) {
    }
}

/* Memory of a cooperative launch, zeros at first, whose second word counts at the barrier of its
 * grid; NULL in others. Drivers put its address into these registers. */
FF_CUDA_MEMBER volatile unsigned *ff_cuda_grid_memory() {
    unsigned high, low;
    asm("mov.u32 %0, %%envreg1;" : "=r"(high));
    asm("mov.u32 %0, %%envreg2;" : "=r"(low));
    return (volatile unsigned *)((unsigned long long)high << 32 | low);
}

/* Of a cooperative launch, in which all blocks run at the same time. */
class grid_group {
    FF_CUDA_MEMBER static void meet() {
        __threadfence();
        ff_cuda_meet(ff_cuda_grid_memory() + 1, (unsigned)num_blocks(), block_rank() == 0);
        __threadfence();
    }

  public:
    FF_CUDA_MEMBER static bool is_valid() { return ff_cuda_grid_memory() != 0; }
    /* Of a grid that was not launched together, it ends the launch with an error. */
    FF_CUDA_MEMBER static void sync() {
        if (!is_valid())
            __trap();
        __syncthreads();
        if (thread_block::thread_rank() == 0)
            meet();
        __syncthreads();
    }
    FF_CUDA_MEMBER static unsigned long long num_blocks() {
        return (unsigned long long)gridDim.x * gridDim.y * gridDim.z;
    }
    FF_CUDA_MEMBER static unsigned long long block_rank() {
        return ((unsigned long long)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    }
    FF_CUDA_MEMBER static unsigned long long num_threads() {
        return num_blocks() * thread_block::num_threads();
    }
    FF_CUDA_MEMBER static unsigned long long size() { return num_threads(); }
    FF_CUDA_MEMBER static unsigned long long thread_rank() {
        return block_rank() * thread_block::num_threads() + thread_block::thread_rank();
    }
    FF_CUDA_MEMBER static dim3 dim_blocks() { return gridDim; }
    FF_CUDA_MEMBER static dim3 group_dim() { return gridDim; }
};

FF_CUDA_MEMBER grid_group this_grid() {
    return grid_group();
}

/* ---- threads of a warp ---- */

FF_CUDA_MEMBER unsigned ff_cuda_lane() {
    return (unsigned)__nvvm_read_ptx_sreg_laneid();
}

/* `Group` has lanes(), the mask of its threads; size(); and lane_of(rank). */
template <class Group> class ff_cuda_warp_part {
    FF_CUDA_MEMBER const Group &self() const { return *static_cast<const Group *>(this); }

  public:
    FF_CUDA_MEMBER void sync() const { __syncwarp(self().lanes()); }
    FF_CUDA_MEMBER unsigned thread_rank() const {
        return (unsigned)__popc(self().lanes() & ((1u << ff_cuda_lane()) - 1));
    }
    FF_CUDA_MEMBER unsigned num_threads() const { return self().size(); }
    /* Values of any type that is bytes go in words. */
    template <class T> FF_CUDA_MEMBER T shfl(T value, unsigned rank) const {
        unsigned words[(sizeof(T) + 3) / 4] = {};
        int lane = (int)self().lane_of(rank % self().size());
        __builtin_memcpy(words, &value, sizeof value);
        for (unsigned &word : words)
            word = __shfl_sync(self().lanes(), word, lane);
        __builtin_memcpy(&value, words, sizeof value);
        return value;
    }
    /* Past the end a thread keeps its own. */
    template <class T> FF_CUDA_MEMBER T shfl_down(T value, unsigned delta) const {
        unsigned from = thread_rank() + delta;
        return shfl(value, from < self().size() ? from : thread_rank());
    }
    template <class T> FF_CUDA_MEMBER T shfl_up(T value, unsigned delta) const {
        unsigned rank = thread_rank();
        return shfl(value, rank >= delta ? rank - delta : rank);
    }
    template <class T> FF_CUDA_MEMBER T shfl_xor(T value, unsigned mask) const {
        unsigned from = thread_rank() ^ mask;
        return shfl(value, from < self().size() ? from : thread_rank());
    }
    FF_CUDA_MEMBER int any(int predicate) const { return __any_sync(self().lanes(), predicate); }
    FF_CUDA_MEMBER int all(int predicate) const { return __all_sync(self().lanes(), predicate); }
    /* Bit r: of the thread of rank r */
    FF_CUDA_MEMBER unsigned ballot(int predicate) const {
        return self().ranks(__ballot_sync(self().lanes(), predicate));
    }
    template <class T> FF_CUDA_MEMBER unsigned match_any(T value) const {
        return self().ranks(__match_any_sync(self().lanes(), value));
    }
};

template <unsigned Size> struct ff_cuda_tile_place {
    FF_CUDA_MEMBER static unsigned size() { return Size; }
    FF_CUDA_MEMBER static unsigned meta_group_size() {
        return (thread_block::num_threads() + Size - 1) / Size;
    }
    FF_CUDA_MEMBER static unsigned meta_group_rank() { return thread_block::thread_rank() / Size; }
};

template <unsigned Size, class Parent = void, bool IsLarge = (Size > 32)>
class thread_block_tile : public ff_cuda_warp_part<thread_block_tile<Size, Parent>>,
                          public ff_cuda_tile_place<Size> {
    static_assert(Size > 0 && (Size & (Size - 1)) == 0, "a tile has a power of two of threads");

    FF_CUDA_MEMBER static unsigned first() { return ff_cuda_lane() / Size * Size; }

  public:
    FF_CUDA_MEMBER thread_block_tile() {}
    template <class Group> FF_CUDA_MEMBER explicit thread_block_tile(const Group &) {}
    template <class Other>
    FF_CUDA_MEMBER thread_block_tile(const thread_block_tile<Size, Other> &) {}
    using ff_cuda_tile_place<Size>::size;
    FF_CUDA_MEMBER static unsigned lanes() { return (0xffffffffu >> (32 - Size)) << first(); }
    FF_CUDA_MEMBER static unsigned lane_of(unsigned rank) { return first() + rank; }
    FF_CUDA_MEMBER static unsigned ranks(unsigned mask) { return (mask & lanes()) >> first(); }
};

/* Of several warps: its threads meet, and give each other values, in a block_tile_memory. */
template <unsigned Size, class Parent>
class thread_block_tile<Size, Parent, true> : public ff_cuda_tile_place<Size> {
    static_assert(Size <= 1024 && (Size & (Size - 1)) == 0, "a tile has a power of two of threads");

    template <unsigned, class, bool> friend class thread_block_tile;
    ff_cuda_tile_memory *memory;

    FF_CUDA_MEMBER static unsigned first() { return thread_block::thread_rank() / Size * Size; }
    FF_CUDA_MEMBER unsigned long long *value_of(unsigned rank) const {
        return static_cast<block_tile_memory<> *>(memory)->values + first() + rank;
    }

  public:
    FF_CUDA_MEMBER explicit thread_block_tile(const thread_block &block)
        : memory(block.ff_cuda_memory()) {
        if (!memory)
            __trap();
    }
    template <class Other>
    FF_CUDA_MEMBER thread_block_tile(const thread_block_tile<Size, Other, true> &other)
        : memory(other.memory) {}
    FF_CUDA_MEMBER static unsigned thread_rank() { return thread_block::thread_rank() % Size; }
    FF_CUDA_MEMBER static unsigned num_threads() { return Size; }
    FF_CUDA_MEMBER void sync() const {
        __syncwarp();
        __threadfence_block();
        if (ff_cuda_lane() == 0)
            ff_cuda_meet(&memory->arrived[first() / Size], Size / 32, thread_rank() == 0);
        __threadfence_block();
        __syncwarp();
    }
    template <class T> FF_CUDA_MEMBER T shfl(T value, unsigned rank) const {
        static_assert(sizeof(T) <= 8, "values in tiles of several warps have up to 8 bytes");
        __builtin_memcpy(value_of(thread_rank()), &value, sizeof value);
        sync();
        __builtin_memcpy(&value, value_of(rank % Size), sizeof value);
        sync();
        return value;
    }
    template <class T> FF_CUDA_MEMBER T shfl_down(T value, unsigned delta) const {
        unsigned from = thread_rank() + delta;
        return shfl(value, from < Size ? from : thread_rank());
    }
    template <class T> FF_CUDA_MEMBER T shfl_up(T value, unsigned delta) const {
        return shfl(value, thread_rank() >= delta ? thread_rank() - delta : thread_rank());
    }
    template <class T> FF_CUDA_MEMBER T shfl_xor(T value, unsigned mask) const {
        unsigned from = thread_rank() ^ mask;
        return shfl(value, from < Size ? from : thread_rank());
    }
};

template <unsigned Size, class Parent>
FF_CUDA_MEMBER thread_block_tile<Size, Parent> tiled_partition(const Parent &parent) {
    return thread_block_tile<Size, Parent>(parent);
}

/* The threads of a warp that are at the same place when the group is made. */
class coalesced_group : public ff_cuda_warp_part<coalesced_group> {
    unsigned mask;

  public:
    FF_CUDA_MEMBER explicit coalesced_group(unsigned lanes) : mask(lanes) {}
    FF_CUDA_MEMBER unsigned size() const { return (unsigned)__popc(mask); }
    FF_CUDA_MEMBER unsigned lanes() const { return mask; }
    FF_CUDA_MEMBER unsigned lane_of(unsigned rank) const {
        unsigned rest = mask;
        while (rank--)
            rest &= rest - 1;
        return (unsigned)__ffs((int)rest) - 1;
    }
    FF_CUDA_MEMBER unsigned ranks(unsigned lanes) const {
        unsigned out = 0;
        for (unsigned rest = mask, bit = 1; rest; rest &= rest - 1, bit <<= 1)
            if (lanes & rest & (0u - rest))
                out |= bit;
        return out;
    }
};

FF_CUDA_MEMBER coalesced_group coalesced_threads() {
    return coalesced_group(__activemask());
}

/* Those of a tile, or of threads that are together, that give the same. */
template <class Group, class T>
FF_CUDA_MEMBER coalesced_group labeled_partition(const Group &group, T label) {
    return coalesced_group(__match_any_sync(group.lanes(), label));
}
template <class Group>
FF_CUDA_MEMBER coalesced_group binary_partition(const Group &group, bool predicate) {
    unsigned with = __ballot_sync(group.lanes(), predicate);
    return coalesced_group(predicate ? with : group.lanes() & ~with);
}

/* ---- any group ---- */

class thread_group {
    enum { grid, block, part_of_warp } kind;
    unsigned mask; /* of a part of a warp */

  public:
    FF_CUDA_MEMBER thread_group(const grid_group &) : kind(grid), mask(0) {}
    FF_CUDA_MEMBER thread_group(const thread_block &) : kind(block), mask(0) {}
    FF_CUDA_MEMBER thread_group(const coalesced_group &group)
        : kind(part_of_warp), mask(group.lanes()) {}
    template <unsigned Size, class Parent>
    FF_CUDA_MEMBER thread_group(const thread_block_tile<Size, Parent> &group)
        : kind(part_of_warp), mask(group.lanes()) {}

    FF_CUDA_MEMBER void sync() const {
        if (kind == grid)
            grid_group::sync();
        else if (kind == block)
            thread_block::sync();
        else
            __syncwarp(mask);
    }
    FF_CUDA_MEMBER unsigned long long size() const {
        return kind == grid    ? grid_group::size()
               : kind == block ? thread_block::size()
                               : (unsigned)__popc(mask);
    }
    FF_CUDA_MEMBER unsigned long long num_threads() const { return size(); }
    FF_CUDA_MEMBER unsigned long long thread_rank() const {
        return kind == grid    ? grid_group::thread_rank()
               : kind == block ? thread_block::thread_rank()
                               : coalesced_group(mask).thread_rank();
    }
    /* Threads of a warp, by their ranks. */
    FF_CUDA_MEMBER coalesced_group tile(unsigned size) const {
        coalesced_group all(kind == part_of_warp ? mask : 0xffffffffu);
        unsigned first = all.thread_rank() / size * size, lanes = 0;
        for (unsigned rank = first; rank < first + size && rank < all.size(); rank++)
            lanes |= 1u << all.lane_of(rank);
        return coalesced_group(lanes);
    }
};

/* Tiles of 1, 2, 4, 8, 16 or 32 threads. */
FF_CUDA_MEMBER thread_group tiled_partition(const thread_group &parent, unsigned size) {
    return parent.tile(size);
}
FF_CUDA_MEMBER coalesced_group tiled_partition(const coalesced_group &parent, unsigned size) {
    return thread_group(parent).tile(size);
}

template <class Group> FF_CUDA_MEMBER void sync(const Group &group) {
    group.sync();
}

/* ---- reductions ---- */

template <class T> struct plus {
    __host__ __device__ T operator()(T a, T b) const { return a + b; }
};
template <class T> struct less {
    __host__ __device__ T operator()(T a, T b) const { return b < a ? b : a; }
};
template <class T> struct greater {
    __host__ __device__ T operator()(T a, T b) const { return a < b ? b : a; }
};
template <class T> struct bit_and {
    __host__ __device__ T operator()(T a, T b) const { return a & b; }
};
template <class T> struct bit_or {
    __host__ __device__ T operator()(T a, T b) const { return a | b; }
};
template <class T> struct bit_xor {
    __host__ __device__ T operator()(T a, T b) const { return a ^ b; }
};

/* Every thread gets the result. */
template <class Group, class T, class Operation>
FF_CUDA_MEMBER T reduce(const Group &group, T value, Operation operation) {
    for (unsigned delta = 1; delta < group.size(); delta *= 2) {
        T other = group.shfl_down(value, delta);
        if (group.thread_rank() + delta < group.size())
            value = operation(value, other);
    }
    return group.shfl(value, 0);
}

#undef FF_CUDA_MEMBER

} // namespace cooperative_groups

#endif

#endif
