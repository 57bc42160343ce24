/* A part of the runtime API, by the name under which programs ask for it alone. */
#include "cuda_runtime_api.h"
