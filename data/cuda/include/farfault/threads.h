/* Where a thread is, barriers, fences, clocks, copies of memory, output, assertions. */
#ifndef FF_CUDA_THREADS_H
#define FF_CUDA_THREADS_H

/* Reads of x, y and z become reads of special registers; nothing is stored. */
#define FF_CUDA_PLACE(type, name, whole, reg)                                                      \
    struct type {                                                                                  \
        __declspec(property(get = read_x)) unsigned x;                                             \
        __declspec(property(get = read_y)) unsigned y;                                             \
        __declspec(property(get = read_z)) unsigned z;                                             \
        FF_CUDA_DEVICE unsigned read_x() { return __nvvm_read_ptx_sreg_##reg##_x(); }              \
        FF_CUDA_DEVICE unsigned read_y() { return __nvvm_read_ptx_sreg_##reg##_y(); }              \
        FF_CUDA_DEVICE unsigned read_z() { return __nvvm_read_ptx_sreg_##reg##_z(); }              \
        __device__ operator whole() const { return {read_x(), read_y(), read_z()}; }               \
    };                                                                                             \
    extern const __device__ __attribute__((weak)) type name;

FF_CUDA_PLACE(ff_cuda_thread_index, threadIdx, uint3, tid)
FF_CUDA_PLACE(ff_cuda_block_index, blockIdx, uint3, ctaid)
FF_CUDA_PLACE(ff_cuda_block_size, blockDim, dim3, ntid)
FF_CUDA_PLACE(ff_cuda_grid_size, gridDim, dim3, nctaid)
#undef FF_CUDA_PLACE

static const __device__ int warpSize = 32;

/* LLVM 14 takes it that its intrinsic functions leave alone a __shared__ variable whose address is
 * not taken, and moves accesses of it past a barrier. It does not with assembly. */
FF_CUDA_DEVICE void ff_cuda_barrier() {
    asm volatile("bar.sync 0;" ::: "memory");
}
#define __syncthreads() ff_cuda_barrier()
FF_CUDA_DEVICE void ff_cuda_order() {
    asm volatile("" ::: "memory");
}

#define FF_CUDA_BARRIER(name, operation)                                                           \
    FF_CUDA_DEVICE int name(int predicate) {                                                       \
        ff_cuda_order();                                                                           \
        int result = __nvvm_bar0_##operation(predicate);                                           \
        ff_cuda_order();                                                                           \
        return result;                                                                             \
    }
FF_CUDA_BARRIER(__syncthreads_count, popc)
FF_CUDA_BARRIER(__syncthreads_and, and)
FF_CUDA_BARRIER(__syncthreads_or, or)
#undef FF_CUDA_BARRIER

FF_CUDA_DEVICE void __threadfence_block() {
    asm volatile("membar.cta;" ::: "memory");
}
FF_CUDA_DEVICE void __threadfence() {
    asm volatile("membar.gl;" ::: "memory");
}
FF_CUDA_DEVICE void __threadfence_system() {
    asm volatile("membar.sys;" ::: "memory");
}

FF_CUDA_DEVICE void __nanosleep(unsigned ns) {
    asm volatile("nanosleep.u32 %0;" ::"r"(ns));
}
FF_CUDA_DEVICE void __trap() {
    asm volatile("trap;");
}

FF_CUDA_DEVICE long long clock64() {
    long long ticks;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(ticks));
    return ticks;
}

extern "C" {
/* noexcept, as the C library's functions of the host */
inline __device__ long clock() noexcept {
    return __nvvm_read_ptx_sreg_clock();
}
inline __device__ void *memcpy(void *to, const void *from, size_t size) noexcept {
    for (size_t i = 0; i < size; i++)
        static_cast<char *>(to)[i] = static_cast<const char *>(from)[i];
    return to;
}
inline __device__ void *memset(void *to, int value, size_t size) noexcept {
    for (size_t i = 0; i < size; i++)
        static_cast<char *>(to)[i] = static_cast<char>(value);
    return to;
}
__device__ int vprintf(const char *format, const char *arguments);
__device__ int printf(const char *format, ...); /* clang makes it a call of vprintf */
__device__ __attribute__((noreturn)) void __assertfail(const char *what, const char *file,
                                                       unsigned line, const char *function,
                                                       size_t character_size);
/* what assert() of the C library calls */
inline __device__ __attribute__((noreturn)) void
__assert_fail(const char *what, const char *file, unsigned line, const char *function) noexcept {
    __assertfail(what, file, line, function, 1);
}
}

#endif
