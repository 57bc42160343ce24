/* Types of the runtime API, by the name under which programs ask for them alone. */
#include "cuda_runtime_api.h"
