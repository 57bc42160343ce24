/* What compilers call: clang and nvcc, for programs in CUDA C++. No header of the interface has it;
 * these are the declarations that compilers expect. */
#ifndef FF_CUDA_RUNTIME_REGISTRATION_H
#define FF_CUDA_RUNTIME_REGISTRATION_H

#include <cuda_runtime_api.h>

/* ---- before main() and after it ---- */

/* `fat_binary`: a wrapper, which stays where it is until the image is unregistered. Returns a
 * handle; NULL: no memory, and nothing of the image can be used. */
void **__cudaRegisterFatBinary(void *fat_binary);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);

/* `host` stands for `name` in the image, from then on. */
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int thread_limit, uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid,
                            int *warp_size);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int is_extern,
                       size_t size, int is_constant, int is_global);
void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name,
                              int is_extern, size_t size, int is_constant, int is_global);

/* Before the host uses managed variables; 0: it failed. */
char __cudaInitModule(void **handle);

/* ---- launches, which are kernel<<<...>>>(...) in the source ---- */

/* Keeps the configuration until the arguments are there; not 0: it could not, so that no launch
 * follows. */
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);

/* A handle of a kernel for __cudaLaunchKernel() alone. */
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments,
                               size_t shared, cudaStream_t stream);
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments,
                                    size_t shared, cudaStream_t stream);

#endif
