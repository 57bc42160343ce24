/* Textures and surfaces in CUDA C++: what kernels fetch is what the host computes. */
#include <cstdio>
#include <vector>

#define WIDTH  24
#define HEIGHT 10

static int wrong(const char *what, int i) {
    std::printf("%s: wrong at %d\n", what, i);
    return 1;
}

__global__ void fetch(cudaTextureObject_t line, cudaTextureObject_t plane, uchar4 *bytes,
                      float *between) {
    int x = (int)threadIdx.x, y = (int)blockIdx.x;
    bytes[y * WIDTH + x] = tex1Dfetch<uchar4>(line, y * WIDTH + x);
    tex2D(&between[y * WIDTH + x], plane, (float)x + 1.0f, (float)y + 0.5f);
}

__global__ void write(cudaSurfaceObject_t surface) {
    int x = (int)threadIdx.x, y = (int)blockIdx.x;
    float old = surf2Dread<float>(surface, x * 4, y);
    surf2Dwrite(old + 1000, surface, x * 4, y, cudaBoundaryModeTrap);
}

static float value_at(int x, int y) {
    return (float)(x * x + 100 * y);
}

static cudaTextureObject_t make_texture(const cudaResourceDesc &resource, bool linear) {
    cudaTextureDesc how = {};
    cudaTextureObject_t texture = 0;
    how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
    how.filterMode = linear ? cudaFilterModeLinear : cudaFilterModePoint;
    how.readMode = cudaReadModeElementType;
    cudaCreateTextureObject(&texture, &resource, &how, nullptr);
    return texture;
}

static cudaArray_t make_plane() {
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    std::vector<float> values;
    cudaArray_t array = nullptr;
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            values.push_back(value_at(x, y));
    cudaMallocArray(&array, &format, WIDTH, HEIGHT, cudaArraySurfaceLoadStore);
    cudaMemcpy2DToArray(array, 0, 0, values.data(), WIDTH * 4, WIDTH * 4, HEIGHT,
                        cudaMemcpyHostToDevice);
    return array;
}

int main() {
    const int count = WIDTH * HEIGHT;
    uchar4 *line, *bytes;
    float *between, back[count];
    cudaMallocManaged(&line, count * sizeof *line);
    cudaMallocManaged(&bytes, count * sizeof *bytes);
    cudaMallocManaged(&between, count * sizeof *between);
    for (int i = 0; i < count; i++)
        line[i] = make_uchar4((unsigned char)i, (unsigned char)(i + 1), 7, 255);

    cudaArray_t array = make_plane();
    cudaResourceDesc plane = {}, linear = {};
    plane.resType = cudaResourceTypeArray;
    plane.res.array.array = array;
    linear.resType = cudaResourceTypeLinear;
    linear.res.linear.devPtr = line;
    linear.res.linear.desc = cudaCreateChannelDesc<uchar4>();
    linear.res.linear.sizeInBytes = count * sizeof *line;
    fetch<<<HEIGHT, WIDTH>>>(make_texture(linear, false), make_texture(plane, true), bytes,
                             between);
    if (cudaDeviceSynchronize())
        return wrong("fetch", 0);
    for (int i = 0; i < count; i++) {
        int x = i % WIDTH, y = i / WIDTH, next = x + 1 < WIDTH ? x + 1 : x;
        if (bytes[i].x != line[i].x || bytes[i].y != line[i].y || bytes[i].w != 255)
            return wrong("bytes", i);
        if (between[i] != (value_at(x, y) + value_at(next, y)) / 2)
            return wrong("between two elements", i);
    }

    cudaSurfaceObject_t surface = 0;
    cudaCreateSurfaceObject(&surface, &plane);
    write<<<HEIGHT, WIDTH>>>(surface);
    if (cudaMemcpy2DFromArray(back, WIDTH * 4, array, 0, 0, WIDTH * 4, HEIGHT,
                              cudaMemcpyDeviceToHost))
        return wrong("write", 0);
    for (int i = 0; i < count; i++)
        if (back[i] != value_at(i % WIDTH, i / WIDTH) + 1000)
            return wrong("surface", i);
    return 0;
}
