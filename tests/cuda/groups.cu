/* Cooperative groups and numbers of 16 bits, compiled by `farfault cuda compile`: each result is
 * compared with the host's. Prints nothing and returns 0 if all are right. */
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cstdio>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace cg = cooperative_groups;

#define THREADS 96

__constant__ float scale;
__device__ int met;

template <unsigned Size> __device__ int tiles(const cg::thread_block &block, int value) {
    auto tile = cg::tiled_partition<Size>(block);
    int sum = cg::reduce(tile, value, cg::plus<int>());
    int most = cg::reduce(tile, value, cg::greater<int>());
    unsigned odd = tile.ballot(tile.thread_rank() & 1);
    tile.sync();
    return sum * 1000 + most + (odd == (0xaaaaaaaau >> (32 - Size)) && tile.size() == Size ? 0 : 1);
}

__global__ void groups(int *out) {
    cg::thread_block block = cg::this_thread_block();
    __shared__ int last;
    int rank = (int)block.thread_rank();
    out[rank] = tiles<8>(block, rank);
    out[THREADS + rank] = tiles<32>(block, rank);
    out[2 * THREADS + rank] = 0;
    if (rank % 3 == 0) {
        cg::coalesced_group few = cg::coalesced_threads();
        out[2 * THREADS + rank] = cg::reduce(few, 1, cg::plus<int>()) * 100 +
                                  (int)few.thread_rank();
    }
    if (rank == THREADS - 1)
        last = (int)cg::this_grid().size();
    block.sync();
    if (last != THREADS)
        atomicAdd(&met, 1000);
    atomicAdd(&met, 1);
}

/* Of any group: through memory that its threads share. */
__device__ int sum_of(cg::thread_group group, int *shared, int value) {
    int rank = (int)group.thread_rank();
    for (int i = (int)group.size() / 2; i > 0; i /= 2) {
        shared[rank] = value;
        group.sync();
        if (rank < i)
            value += shared[rank + i];
        group.sync();
    }
    return value;
}

/* Its parent does not matter. */
template <int Size> __device__ int sum_of_tile(cg::thread_block_tile<Size> tile, int value) {
    for (int i = (int)tile.size() / 2; i > 0; i /= 2)
        value += tile.shfl_down(value, i);
    return tile.shfl(value, 0);
}

#define ROWS 7 /* of results, of 64 threads each */

__global__ void any_groups(int *out, const int *in) {
    __shared__ int shared[64], copy[64];
    cg::thread_block block = cg::this_thread_block();
    int rank = (int)block.thread_rank(), *row = out + rank;
    row[0] = sum_of(block, shared, rank);
    cg::thread_group eight = cg::tiled_partition(block, 8);
    row[64] = sum_of(eight, shared + rank / 8 * 8, rank);
    cg::thread_group two = cg::tiled_partition(eight, 2);
    row[2 * 64] = sum_of(two, shared + rank / 2 * 2, rank) + 1000 * (int)two.size();
    auto tile = cg::tiled_partition<16>(block);
    row[3 * 64] = sum_of_tile<16>(tile, rank);
    row[4 * 64] = cg::inclusive_scan(tile, rank) * 1000 + cg::exclusive_scan(tile, 1);
    cg::coalesced_group third = cg::labeled_partition(tile, rank % 3);
    cg::coalesced_group odd = cg::binary_partition(tile, rank % 2);
    row[5 * 64] = (int)(third.size() * 100 + odd.size() * 10 + odd.thread_rank());
    cg::memcpy_async(block, copy, in, sizeof copy);
    cg::wait(block);
    row[6 * 64] = copy[63 - rank];
}

/* Each block tells the others of its round, by turns in one of two rows, and comes later than the
 * one before it. */
__global__ void rounds(int *rows, int *sums, int count) {
    cg::grid_group grid = cg::this_grid();
    int block = (int)grid.block_rank(), blocks = (int)grid.num_blocks();
    for (int round = 0; round < count; round++) {
        int *row = rows + round % 2 * blocks;
        for (int i = 0; i < block; i++)
            __syncthreads();
        if (threadIdx.x == blockDim.x - 1)
            row[block] = round * block;
        grid.sync();
        if (threadIdx.x == 0)
            for (int i = 0; i < blocks; i++)
                sums[block] += row[i];
    }
}

__global__ void alone(int *valid) {
    *valid = cg::this_grid().is_valid();
}

__global__ void waits() {
    cg::this_grid().sync();
}

__global__ void halves(const float *in, unsigned short *out, float *sums, int count) {
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= count)
        return;
    half x = __float2half(in[i]);
    out[i] = __half_as_ushort(x);
    half2 pair = __halves2half2(x, __float2half(1.0f));
    pair = __hfma2(pair, pair, __float2half2_rn(0.5f));
    sums[i] = __low2float(pair) + __high2float(pair) * scale;
}

__global__ void bfloats(const float *in, __nv_bfloat16 *out, int count) {
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < count)
        out[i] = __float2bfloat16(in[i]) * __nv_bfloat16(3);
}

static int wrong(const char *what, int i) {
    std::printf("%s: wrong at %d\n", what, i);
    return 1;
}

static int check_groups() {
    int *out, count = 0;
    if (cudaMallocManaged(&out, 3 * THREADS * sizeof *out))
        return wrong("cudaMallocManaged", 0);
    groups<<<1, THREADS>>>(out);
    if (cudaMemcpyFromSymbol(&count, met, sizeof count) || count != THREADS)
        return wrong("threads", count);
    for (int i = 0; i < THREADS; i++) {
        int eight = i / 8 * 8, warp = i / 32 * 32, few = (warp + 32 + 2) / 3 - (warp + 2) / 3;
        if (out[i] != (eight * 8 + 28) * 1000 + eight + 7)
            return wrong("tiles of 8", i);
        if (out[THREADS + i] != (warp * 32 + 496) * 1000 + warp + 31)
            return wrong("tiles of 32", i);
        if (out[2 * THREADS + i] != (i % 3 ? 0 : few * 100 + (i - warp) / 3))
            return wrong("coalesced threads", i);
    }
    return cudaFree(out) != cudaSuccess;
}

static int check_any_groups() {
    int *out, *in;
    cudaMallocManaged(&out, ROWS * 64 * sizeof *out);
    cudaMallocManaged(&in, 64 * sizeof *in);
    for (int i = 0; i < 64; i++)
        in[i] = 3 * i;
    any_groups<<<1, 64>>>(out, in);
    if (cudaDeviceSynchronize())
        return wrong("any groups", 0);
    for (int i = 0; i < 64; i++) {
        int first = i / 16 * 16, at = i % 16, third = 0;
        for (int k = first; k < first + 16; k++)
            third += k % 3 == i % 3;
        if (i == 0 && out[i] != 63 * 32)
            return wrong("the sum of a block", i);
        if (i % 8 == 0 && out[64 + i] != 8 * i + 28)
            return wrong("the sum of 8", i);
        if (i % 2 == 0 && out[2 * 64 + i] != 2001 + 2 * i)
            return wrong("the sum of 2", i);
        if (out[3 * 64 + i] != 16 * first + 120)
            return wrong("the sum of a tile", i);
        if (out[4 * 64 + i] != (first * (at + 1) + at * (at + 1) / 2) * 1000 + at)
            return wrong("scans", i);
        if (out[5 * 64 + i] != third * 100 + 80 + at / 2)
            return wrong("partitions", i);
        if (out[6 * 64 + i] != 3 * (63 - i))
            return wrong("a copy", i);
    }
    return 0;
}

static int check_grid() {
    int *rows, *sums, *valid, blocks = 23, count = 6;
    cudaMallocManaged(&rows, 2 * (size_t)blocks * sizeof *rows);
    cudaMallocManaged(&sums, (size_t)blocks * sizeof *sums);
    cudaMallocManaged(&valid, sizeof *valid);
    void *arguments[] = {&rows, &sums, &count};
    for (int launch = 1; launch <= 3; launch++) {
        if (cudaLaunchCooperativeKernel(rounds, dim3(blocks), dim3(THREADS), arguments, 0, NULL) ||
            cudaDeviceSynchronize())
            return wrong("a cooperative launch", launch);
        for (int i = 0; i < blocks; i++)
            if (sums[i] != launch * (count * (count - 1) / 2) * (blocks * (blocks - 1) / 2))
                return wrong("rounds", i);
    }
    *valid = 1;
    alone<<<2, 1>>>(valid);
    if (cudaDeviceSynchronize() || *valid)
        return wrong("a grid by itself", *valid);
    return 0;
}

/* The last: no launch works after it. */
static int check_no_grid() {
    waits<<<2, THREADS>>>();
    return cudaDeviceSynchronize() ? 0 : wrong("a barrier of no cooperative launch", 0);
}

static int check_halves() {
    const int count = 4096;
    const float two = 2;
    float *in, *sums;
    unsigned short *out;
    cudaMallocManaged(&in, count * sizeof *in);
    cudaMallocManaged(&sums, count * sizeof *sums);
    cudaMallocManaged(&out, count * sizeof *out);
    for (int i = 0; i < count; i++) { /* all sizes, also too small and too large ones */
        unsigned bits = (unsigned)i * 2654435761u;
        in[i] = i == 0 ? 0 : (1 + (float)(bits >> 8) * 0x1p-24f) * __builtin_ldexpf(1, i % 48 - 28);
    }
    cudaMemcpyToSymbol(scale, &two, sizeof two);
    halves<<<(count + 255) / 256, 256>>>(in, out, sums, count);
    if (cudaDeviceSynchronize())
        return wrong("halves", 0);
    for (int i = 0; i < count; i++) {
        half x = in[i];
        float square = __half2float(__hfma(x, x, __half(0.5f)));
        if (out[i] != __half_as_ushort(x))
            return wrong("conversion", i);
        if (!(sums[i] == square + 3.0f))
            return wrong("arithmetic", i);
    }
    return 0;
}

/* Of the two that a number lies between, the nearer one, or the even one. */
static float nearest_bfloat(float x) {
    float down = __builtin_bit_cast(float, __builtin_bit_cast(unsigned, x) & 0xffff0000);
    float up = __builtin_bit_cast(float, (__builtin_bit_cast(unsigned, x) & 0xffff0000) + 0x10000);
    double below = (double)x - down, above = (double)up - x;
    bool is_even = !(__builtin_bit_cast(unsigned, down) & 0x10000);
    return below < above || (below == above && is_even) ? down : up;
}

static int check_bfloats() {
    const int count = 4096;
    float *in;
    __nv_bfloat16 *out;
    cudaMallocManaged(&in, count * sizeof *in);
    cudaMallocManaged(&out, count * sizeof *out);
    for (int i = 0; i < count; i++)
        in[i] = __builtin_bit_cast(float, 0x3f800000 + (unsigned)i * 0x2800); /* also halfway */
    bfloats<<<(count + 255) / 256, 256>>>(in, out, count);
    if (cudaDeviceSynchronize())
        return wrong("bfloats", 0);
    for (int i = 0; i < count; i++) {
        float rounded = nearest_bfloat(in[i]), product = nearest_bfloat(rounded * 3);
        if (__bfloat162float(__nv_bfloat16(in[i])) != rounded || (float)out[i] != product)
            return wrong("bfloats", i);
    }
    return !(__nv_bfloat16(1.0f) < __nv_bfloat16(2) && -__nv_bfloat16(1) == __nv_bfloat16(-1.0));
}

int main() {
    return check_groups() || check_any_groups() || check_grid() || check_halves() ||
           check_bfloats() || check_no_grid();
}
