/* Thrust and CUB, as their packages have them, on a device with less memory than the data: what
 * they sort, sum, scan and select is what the C++ library does. */
#include <cub/device/device_reduce.cuh>
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/transform.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

struct is_odd {
    __host__ __device__ bool operator()(unsigned x) const {
        return x & 1;
    }
};

struct mix {
    __host__ __device__ unsigned operator()(unsigned x) const {
        return x * 2654435761u >> 4;
    }
};

static int failures;

static void check(bool good, const char *what) {
    if (!good)
        printf("wrong: %s\n", what);
    failures += !good;
}

static unsigned sum_by_cub(const thrust::device_vector<unsigned> &from) {
    thrust::device_vector<unsigned> sum(1);
    const unsigned *values = thrust::raw_pointer_cast(from.data());
    unsigned *out = thrust::raw_pointer_cast(sum.data());
    size_t size = 0;
    void *scratch = nullptr;
    cub::DeviceReduce::Sum(nullptr, size, values, out, (int)from.size());
    check(cudaMalloc(&scratch, size) == cudaSuccess, "scratch memory");
    check(cub::DeviceReduce::Sum(scratch, size, values, out, (int)from.size()) == cudaSuccess,
          "cub");
    cudaFree(scratch);
    return sum[0];
}

int main(int argc, char **argv) {
    size_t count = argc > 1 ? strtoul(argv[1], nullptr, 10) : 1 << 20;
    std::vector<unsigned> host(count), back(count);
    std::iota(host.begin(), host.end(), 1u);
    thrust::device_vector<unsigned> device(host.begin(), host.end()), other(count);

    std::transform(host.begin(), host.end(), host.begin(), mix());
    thrust::transform(device.begin(), device.end(), device.begin(), mix());
    unsigned expected = std::accumulate(host.begin(), host.end(), 0u);
    check(thrust::reduce(device.begin(), device.end()) == expected, "reduce");
    check(sum_by_cub(device) == expected, "the sum by CUB");

    std::partial_sum(host.begin(), host.end(), back.begin());
    thrust::inclusive_scan(device.begin(), device.end(), other.begin());
    check(thrust::equal(other.begin(), other.end(),
                        thrust::device_vector<unsigned>(back.begin(), back.end()).begin()),
          "scan");

    auto end = thrust::copy_if(device.begin(), device.end(), other.begin(), is_odd());
    back.erase(std::copy_if(host.begin(), host.end(), back.begin(), is_odd()), back.end());
    check((size_t)(end - other.begin()) == back.size() &&
              thrust::equal(other.begin(), end,
                            thrust::device_vector<unsigned>(back.begin(), back.end()).begin()),
          "copy_if");

    std::sort(host.begin(), host.end());
    thrust::sort(device.begin(), device.end());
    back.assign(count, 0);
    thrust::copy(device.begin(), device.end(), back.begin());
    check(back == host, "sort");
    printf("verified: %s\n", failures ? "no" : "yes");
    return failures != 0;
}
