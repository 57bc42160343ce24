/* device_program STATUS [FILE]: counts in 12 MiB of device memory, holds it until the file is
 * there, says whose driver has given it, and ends with this status. */
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define COUNT   6u
#define WORDS   (1u << 19)
#define SIZE    ((size_t)4 * WORDS)
#define THREADS 256u
#define ROUNDS  3u

static const char ptx[] =
    ".version 6.4\n.target sm_70\n.address_size 64\n"
    ".visible .entry _Z8increasePjj(.param .u64 words, .param .u32 by) {\n"
    ".reg .b32 %r<6>;\n.reg .b64 %p<3>;\n"
    "ld.param.u64 %p0, [words];\nld.param.u32 %r0, [by];\n"
    "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmov.u32 %r3, %tid.x;\n"
    "mad.lo.u32 %r4, %r1, %r2, %r3;\nmul.wide.u32 %p1, %r4, 4;\nadd.u64 %p2, %p0, %p1;\n"
    "ld.global.u32 %r5, [%p2];\nadd.u32 %r5, %r5, %r0;\nst.global.u32 [%p2], %r5;\nret;\n}\n";

static unsigned *blocks[COUNT];

static CUresult increase(CUfunction kernel, unsigned block) {
    unsigned by = block + 1;
    void *arguments[] = {&blocks[block], &by};
    return cuLaunchKernel(kernel, WORDS / THREADS, 1, 1, THREADS, 1, 1, 0, NULL, arguments, NULL);
}

static CUresult count(void) {
    CUmodule module;
    CUfunction kernel;
    CUresult error = cuModuleLoadData(&module, ptx);
    if (!error)
        error = cuModuleGetFunction(&kernel, module, "_Z8increasePjj");
    for (unsigned i = 0; i < ROUNDS * COUNT && !error; i++)
        error = increase(kernel, i % COUNT);
    return error ? error : cuCtxSynchronize();
}

/* Zeros: every second block's are uploaded. */
static int allocate(void) {
    static const unsigned words[WORDS];
    for (unsigned i = 0; i < COUNT; i++)
        if (cudaMalloc((void **)&blocks[i], SIZE) ||
            (i % 2 ? cudaMemset(blocks[i], 0, SIZE)
                   : cudaMemcpy(blocks[i], words, SIZE, cudaMemcpyHostToDevice)))
            return 1;
    return 0;
}

static int check(void) {
    static unsigned words[WORDS];
    for (unsigned i = 0; i < COUNT; i++) {
        if (cudaMemcpy(words, blocks[i], SIZE, cudaMemcpyDeviceToHost) || cudaFree(blocks[i]))
            return 1;
        for (unsigned w = 0; w < WORDS; w++)
            if (words[w] != ROUNDS * (i + 1))
                return 1;
    }
    return 0;
}

static void wait_for(const char *file) {
    while (file && access(file, F_OK) != 0)
        usleep(10000);
}

static int say_driver(void) {
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY);
    Dl_info info;
    if (!driver || !dladdr(dlsym(driver, "cuDriverGetVersion"), &info))
        return 1;
    printf("%s\n", info.dli_fname);
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 2 || allocate() || count())
        return 1;
    wait_for(argv[2]);
    if (check() || say_driver())
        return 1;
    printf("verified: yes\n");
    return atoi(argv[1]);
}
