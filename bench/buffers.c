/* buffers COUNT [BYTES]: makes so many buffers of so many bytes (default: 4096), writes each, has
 * a kernel change each, reads each back and checks it. Prints the seconds that it took and the
 * peak of resident memory in MiB. buffers.sh compares it with and without farfault. */
#include "opencl.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#define PIECE ((size_t)16 << 20) /* of a buffer: what the program has of it */

/* Calls for each piece of a buffer: where it begins and how long it is, in bytes. */
#define FOR_EACH_PIECE(begin, length, bytes)                                                       \
    for (size_t begin = 0, length;                                                                 \
         begin < (bytes) && (length = (bytes)-begin < PIECE ? (bytes)-begin : PIECE, true);        \
         begin += length)

/* One after the other, so that a buffer is not in the cache any more when its turn comes again. */
static void write_all(const struct opencl *opencl, cl_mem *buffers, int count, int *data,
                      size_t bytes) {
    for (int i = 0; i < count; i++) {
        cl_int status = CL_SUCCESS;
        buffers[i] = clCreateBuffer(opencl->context, CL_MEM_READ_WRITE, bytes, NULL, &status);
        require(status, "clCreateBuffer");
        FOR_EACH_PIECE(begin, length, bytes) {
            for (size_t j = 0; j < length / sizeof *data; j++)
                data[j] = i + (int)(begin / PIECE);
            require(clEnqueueWriteBuffer(opencl->queue, buffers[i], CL_TRUE, begin, length, data, 0,
                                         NULL, NULL),
                    "clEnqueueWriteBuffer");
        }
    }
}

static void launch_all(const struct opencl *opencl, const cl_mem *buffers, int count, size_t ints) {
    for (int i = 0; i < count; i++) {
        require(clSetKernelArg(opencl->kernel, 0, sizeof buffers[i], &buffers[i]),
                "clSetKernelArg");
        require(clEnqueueNDRangeKernel(opencl->queue, opencl->kernel, 1, NULL, &ints, NULL, 0, NULL,
                                       NULL),
                "clEnqueueNDRangeKernel");
    }
    require(clFinish(opencl->queue), "clFinish");
}

/* Returns how many ints are wrong. */
static size_t check_all(const struct opencl *opencl, const cl_mem *buffers, int count, int *data,
                        size_t bytes) {
    size_t wrong = 0;
    for (int i = 0; i < count; i++)
        FOR_EACH_PIECE(begin, length, bytes) {
            require(clEnqueueReadBuffer(opencl->queue, buffers[i], CL_TRUE, begin, length, data, 0,
                                        NULL, NULL),
                    "clEnqueueReadBuffer");
            for (size_t j = 0; j < length / sizeof *data; j++)
                wrong += data[j] != i + (int)(begin / PIECE) + 1;
        }
    return wrong;
}

int main(int argc, char **argv) {
    int count = argc > 1 ? atoi(argv[1]) : 0;
    size_t ints = (argc > 2 ? strtoull(argv[2], NULL, 10) : 4096) / sizeof(int);
    size_t bytes = ints * sizeof(int);
    struct rusage usage;
    struct opencl opencl;
    if (count <= 0 || ints == 0) {
        fprintf(stderr, "usage: buffers COUNT [BYTES]\n");
        return 2;
    }
    opencl_open(&opencl);
    cl_mem *buffers = calloc((size_t)count, sizeof *buffers);
    int *data = malloc(bytes < PIECE ? bytes : PIECE);
    if (!buffers || !data)
        return 1;

    double start = seconds();
    write_all(&opencl, buffers, count, data, bytes);
    launch_all(&opencl, buffers, count, ints);
    size_t wrong = check_all(&opencl, buffers, count, data, bytes);
    double taken = seconds() - start;
    getrusage(RUSAGE_SELF, &usage);
    printf("%.3f %ld\n", taken, usage.ru_maxrss / 1024);
    if (wrong > 0)
        fprintf(stderr, "buffers: %zu values are wrong\n", wrong);

    for (int i = 0; i < count; i++)
        clReleaseMemObject(buffers[i]);
    free(buffers);
    free(data);
    opencl_close(&opencl);
    return wrong > 0;
}
