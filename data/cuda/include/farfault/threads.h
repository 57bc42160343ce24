/* Where a thread is, barriers, fences, clocks, output, assertions. */
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

/* __syncthreads() is clang's own. */
FF_CUDA_DEVICE int __syncthreads_count(int predicate) {
    return __nvvm_bar0_popc(predicate);
}
FF_CUDA_DEVICE int __syncthreads_and(int predicate) {
    return __nvvm_bar0_and(predicate);
}
FF_CUDA_DEVICE int __syncthreads_or(int predicate) {
    return __nvvm_bar0_or(predicate);
}

FF_CUDA_DEVICE void __threadfence_block() {
    __nvvm_membar_cta();
}
FF_CUDA_DEVICE void __threadfence() {
    __nvvm_membar_gl();
}
FF_CUDA_DEVICE void __threadfence_system() {
    __nvvm_membar_sys();
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
