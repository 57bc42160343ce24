/*
 * What each version of the program has in a way of its own, and what the network is trained with:
 * memory, launches of kernels, and products of matrices. Each version defines these functions.
 */
#ifndef EXAMPLES_HOST_LM_DEVICE_H
#define EXAMPLES_HOST_LM_DEVICE_H

#include "../argument.h"
#include "../data.h"
#include "shape.h"

#include <stdbool.h>

HOST_BEGIN

struct device; /* defined by each version */

/* Where device memory is: a cl_mem, or a pointer. */
typedef void *memory;

/* Each version has kernels with these names, parameters and results; opencl/lm/kernels.c. */
#define LM_KERNELS(KERNEL)                                                                         \
    KERNEL(embed)                                                                                  \
    KERNEL(normalize_rows)                                                                         \
    KERNEL(start_linear)                                                                           \
    KERNEL(start_residual)                                                                         \
    KERNEL(attend)                                                                                 \
    KERNEL(gather_values)                                                                          \
    KERNEL(activate)                                                                               \
    KERNEL(cross_entropy)                                                                          \
    KERNEL(normalize_backward)                                                                     \
    KERNEL(normalize_gradients)                                                                    \
    KERNEL(bias_gradient)                                                                          \
    KERNEL(activate_backward)                                                                      \
    KERNEL(attend_backward)                                                                        \
    KERNEL(gather_backward)                                                                        \
    KERNEL(token_gradients)                                                                        \
    KERNEL(position_gradients)                                                                     \
    KERNEL(adamw)

enum lm_kernel {
#define KERNEL(name) LM_##name,
    LM_KERNELS(KERNEL)
#undef KERNEL
        LM_KERNEL_COUNT,
};

/* c = a b, or c += a b, where c is m x n and either operand may be stored transposed; all are
 * stored row by row, without gaps. */
struct product {
    bool turn_a, turn_b;
    size_t m, n, k;
};

/* Before all others: what depends on the shape. */
void device_prepare(struct device *device, const struct shape *shape);

/* Memory that is not released before the device is; it counts for the footprint. */
memory device_memory(struct device *device, size_t bytes);
void device_write(struct device *device, memory to, size_t bytes, const void *from);
void device_read(struct device *device, memory from, size_t bytes, void *to);
void device_clear(struct device *device, memory to, size_t bytes);

/* columns x rows work-items or threads, and some more that the kernels let go. */
void device_launch(struct device *device, enum lm_kernel kernel, size_t columns, size_t rows,
                   const struct argument *arguments, size_t count);
void device_multiply(struct device *device, struct product product, memory a, memory b, bool add,
                     memory c);

/* Until all of this is done. */
void device_wait(struct device *device);

HOST_END

#endif
