/* Holds 48 MiB of device memory, and says whose driver has given it. */
#include <cuda_runtime_api.h>

#include <dlfcn.h>
#include <stdio.h>

#define COUNT 6u
#define SIZE  ((size_t)8 << 20)

int main(void) {
    void *blocks[COUNT];
    char byte;
    for (unsigned i = 0; i < COUNT; i++)
        if (cudaMalloc(&blocks[i], SIZE) || cudaMemset(blocks[i], (int)i, SIZE))
            return 1;
    for (unsigned i = 0; i < COUNT; i++)
        if (cudaMemcpy(&byte, (char *)blocks[i] + SIZE - 1, 1, cudaMemcpyDeviceToHost) ||
            byte != (char)i || cudaFree(blocks[i]))
            return 1;
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY);
    Dl_info info;
    if (!driver || !dladdr(dlsym(driver, "cuDriverGetVersion"), &info))
        return 1;
    printf("%s\n", info.dli_fname);
    return 7;
}
