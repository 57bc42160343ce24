/* Arrays, which are rows of elements in memory, and objects that kernels read them through. */
#ifndef FF_CUDA_TEXTURE_H
#define FF_CUDA_TEXTURE_H

#include "cuda/driver/internal.h"

/* Where its elements lie. False: there is no such array. */
bool ff__cuda_array_block(CUarray array, struct ff__cuda_block *out);

#endif
