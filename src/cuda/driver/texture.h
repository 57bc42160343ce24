/* Arrays, which are rows of elements in memory, and objects that kernels read them through. */
#ifndef FF_CUDA_TEXTURE_H
#define FF_CUDA_TEXTURE_H

#include "cuda/driver/internal.h"

/* Where its elements lie. False: it has fewer bytes in a row, rows or layers. */
bool ff__cuda_array_block(CUarray array, size_t width, size_t height, size_t depth,
                          struct ff__cuda_block *out);

#endif
