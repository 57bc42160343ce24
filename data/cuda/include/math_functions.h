/* A part of CUDA C++, by the name under which programs ask for it alone. */
#include "cuda_runtime.h"
