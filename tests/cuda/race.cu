/* One kernel whose threads all write to one place, twice, and one whose threads have places of
 * their own. */
#include <cuda_runtime.h>

__global__ void last(int *place) {
    *place = (int)threadIdx.x;
}

__global__ void own(int *places) {
    places[threadIdx.x] = (int)threadIdx.x;
}

int main() {
    int *places;
    if (cudaMalloc(&places, 256 * sizeof(int)) != cudaSuccess)
        return 1;
    own<<<1, 256>>>(places);
    last<<<1, 256>>>(places);
    last<<<1, 256>>>(places);
    return cudaDeviceSynchronize() != cudaSuccess;
}
