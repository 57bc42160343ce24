/*
 * RandomAccess, the GUPS benchmark: words all over one table are combined with random numbers by
 * exclusive or, whose order does not matter, so that the check can do it again in its own.
 */
#include "common.h"

#include "host/ra.h"

/* random_bits() of the host */
__device__ static unsigned long long bits_of(unsigned long long key, unsigned long long index) {
    unsigned long long bits = key + (index + 1) * 0x9e3779b97f4a7c15ULL;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ULL;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebULL;
    return bits ^ (bits >> 31);
}

__global__ void update(unsigned *table, size_t words, uint64_t key, size_t items) {
    const size_t item = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (item >= items)
        return;
    for (size_t i = item * UPDATES; i < (item + 1) * UPDATES; i++) {
        const unsigned long long bits = bits_of(key, i);
        atomicXor(&table[(bits >> 32) % words], (unsigned)bits);
    }
}

int main(int argc, char **argv) {
    struct work work;
    work_open(&work, &ra_problem, &ra_extras, argc, argv);
    const size_t words = work.size / sizeof(uint32_t);
    const size_t items = ra_updates / UPDATES;
    uint32_t *table = device_array<uint32_t>(&work, words);

    work_start_clock(&work);
    CHECK(cudaMemset(table, 0, words * sizeof(uint32_t)));
    for (size_t i = 0; i < work.iterations; i++) {
        update<<<blocks(items), THREADS>>>(table, words, random_key(work.seed, i), items);
        end_iteration(&work);
    }
    uint32_t *got = download(table, words);
    stop_clock(&work);

    if (work.check)
        ra_check(&work, got);
    free(got);
    CHECK(cudaFree(table));
    return work_close(&work);
}
