/* What the CUDA programs share: sizes from the command line, calls that may not fail, and the
 * verdict. `PROGRAM [MIB [ITERATIONS]]`: bytes of device memory in all, in MiB. */
#ifndef CUDA_EXAMPLES_COMMON_H
#define CUDA_EXAMPLES_COMMON_H

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#define CHECK(call) check(call, #call)

static void check(cudaError_t error, const char *call) {
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(error));
    exit(1);
}

struct Work {
    size_t bytes; /* of device memory, in all */
    int iterations;
};

static Work read_work(int argc, char **argv, int iterations) {
    int mib = argc > 1 ? atoi(argv[1]) : 64;
    Work work = {(size_t)mib << 20, argc > 2 ? atoi(argv[2]) : iterations};
    if (mib <= 0 || work.iterations <= 0) {
        fprintf(stderr, "usage: %s [MIB [ITERATIONS]]\n", argv[0]);
        exit(2);
    }
    return work;
}

/* The exit status. */
static int verdict(bool good) {
    printf("verified: %s\n", good ? "yes" : "no");
    return good ? 0 : 1;
}

#endif
