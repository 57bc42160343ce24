/* Jacobi iterations on a plate whose border is hot: each point becomes the mean of its four
 * neighbours. Each iteration goes over all of two arrays. */
#include "common.h"

#include <utility>
#include <vector>

__global__ void relax(float *to, const float *from, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1)
        return;
    const float *row = from + (size_t)y * width + x;
    to[(size_t)y * width + x] = 0.25f * ((row[-1] + row[1]) + (row[-width] + row[width]));
}

static void relax_on_host(float *to, const float *from, int width, int height) {
    for (int y = 1; y < height - 1; y++)
        for (int x = 1; x < width - 1; x++) {
            const float *row = from + (size_t)y * width + x;
            to[(size_t)y * width + x] = 0.25f * ((row[-1] + row[1]) + (row[-width] + row[width]));
        }
}

int main(int argc, char **argv) {
    Work work = read_work(argc, argv, 4);
    int width = 2048, height = (int)(work.bytes / 2 / sizeof(float) / width);
    size_t count = (size_t)width * height;
    std::vector<float> plate(count), other;
    for (size_t i = 0; i < count; i++)
        plate[i] = i < (size_t)width || i % width == 0 ? (float)(i % 97) : 0;

    float *from, *to;
    CHECK(cudaMalloc(&from, count * sizeof(float)));
    CHECK(cudaMalloc(&to, count * sizeof(float)));
    CHECK(cudaMemcpy(from, plate.data(), count * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(to, from, count * sizeof(float), cudaMemcpyDeviceToDevice));
    dim3 block(64, 4), grid((width + 63) / 64, (height + 3) / 4);
    for (int i = 0; i < work.iterations; i++) {
        relax<<<grid, block>>>(to, from, width, height);
        std::swap(from, to);
    }
    std::vector<float> result(count);
    CHECK(cudaMemcpy(result.data(), from, count * sizeof(float), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(from));
    CHECK(cudaFree(to));

    other = plate;
    for (int i = 0; i < work.iterations; i++) {
        relax_on_host(other.data(), plate.data(), width, height);
        std::swap(other, plate);
    }
    return verdict(result == plate);
}
