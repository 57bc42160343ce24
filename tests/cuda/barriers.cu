/* cuda::barrier, tiles of several warps, and shuffles of values of any type. Prints what is wrong,
 * and returns 0 if nothing is. */
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cstdio>
#include <cuda/barrier>

namespace cg = cooperative_groups;

#define THREADS 256
#define STEPS   5

using block_barrier = cuda::barrier<cuda::thread_scope_block>;

/* Each thread reads what the next one has written in the step before. */
__global__ void step(int *out) {
    __shared__ block_barrier barrier;
    __shared__ int numbers[2][THREADS];
    int i = (int)threadIdx.x;
    if (i == 0)
        init(&barrier, THREADS);
    __syncthreads();
    numbers[0][i] = i;
    for (int k = 0; k < STEPS; k++) {
        if (k % 2)
            barrier.arrive_and_wait();
        else
            barrier.wait(barrier.arrive());
        numbers[(k + 1) % 2][i] = numbers[k % 2][(i + 1) % THREADS] + 1000;
    }
    out[i] = numbers[STEPS % 2][i];
}

/* Half of the threads leave; the last to come in each phase counts. */
struct counting {
    int *count;
    __device__ void operator()() { ++*count; }
};
__global__ void leave(int *out) {
    __shared__ cuda::barrier<cuda::thread_scope_block, counting> barrier;
    __shared__ int values[8];
    if (threadIdx.x == 0)
        init(&barrier, blockDim.x, counting{out});
    __syncthreads();
    if (threadIdx.x % 2) {
        barrier.arrive_and_drop();
        return;
    }
    cuda::memcpy_async(&values[threadIdx.x / 2 % 8], &out[1], sizeof(int), barrier);
    barrier.arrive_and_wait();
    barrier.arrive_and_wait();
    barrier.wait_parity(true);
    if (threadIdx.x == 0)
        out[2] = values[0] + values[7];
}

template <unsigned Size> __device__ int sum_in_tiles(const cg::thread_block &block) {
    cg::thread_block_tile<Size> tile = cg::tiled_partition<Size>(block);
    int sum = cg::reduce(tile, (int)block.thread_rank(), cg::plus<int>());
    long long next = tile.shfl((long long)block.thread_rank() << 32, tile.thread_rank() + 1);
    return sum * 1000 + (int)(next >> 32) + (int)tile.meta_group_rank();
}
__global__ void tiles(int *out) {
    __shared__ cg::block_tile_memory<THREADS> memory;
    auto block = cg::this_thread_block(memory);
    int i = (int)threadIdx.x;
    out[i] = sum_in_tiles<64>(block);
    out[THREADS + i] = sum_in_tiles<256>(block);
}

struct wide {
    double real;
    short number;
};
__global__ void shuffles(int *out) {
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    int i = (int)threadIdx.x;
    wide from = tile.shfl_xor(wide{i * 0.5, (short)(3 * i)}, 1);
    out[i] = (int)(from.real * 2) * 1000 + from.number;
}

static int failures;

static void check(const char *what, int i, int got, int expected) {
    if (got != expected)
        std::printf("%s %d: %d instead of %d\n", what, i, got, expected);
    failures += got != expected;
}

static void check_tiles(const int *out, int size, const char *what) {
    for (int i = 0; i < THREADS; i++) {
        int first = i / size * size, sum = size * first + size * (size - 1) / 2;
        check(what, i, out[i], sum * 1000 + first + (i + 1) % size + i / size);
    }
}

int main() {
    int *out;
    if (cudaMallocManaged(&out, 2 * THREADS * sizeof *out))
        return 1;
    step<<<1, THREADS>>>(out);
    check("step", -1, cudaDeviceSynchronize(), cudaSuccess);
    for (int i = 0; i < THREADS; i++)
        check("step", i, out[i], (i + STEPS) % THREADS + 1000 * STEPS);
    out[0] = 0, out[1] = 21;
    leave<<<1, THREADS>>>(out);
    check("leave", -1, cudaDeviceSynchronize(), cudaSuccess);
    check("phases", 0, out[0], 2);
    check("a copy", 0, out[2], 42);
    tiles<<<1, THREADS>>>(out);
    check("tiles", -1, cudaDeviceSynchronize(), cudaSuccess);
    check_tiles(out, 64, "tiles of 64");
    check_tiles(out + THREADS, 256, "tiles of 256");
    shuffles<<<1, 32>>>(out);
    check("shuffles", -1, cudaDeviceSynchronize(), cudaSuccess);
    for (int i = 0; i < 32; i++)
        check("shuffles", i, out[i], (i ^ 1) * 1003);
    cudaFree(out);
    return failures != 0;
}
