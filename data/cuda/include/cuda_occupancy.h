/* Libraries include it for the occupancy of kernels, which is the runtime's to compute here. */
#include "cuda_runtime_api.h"
