/* By the name of the header that cublas_v2.h of the SDK includes. */
#ifndef FF_CUDA_CUBLAS_API_H
#define FF_CUDA_CUBLAS_API_H

#include "cublas_v2.h"

#endif
