/* Functions whose default stream is the thread's own. */
#include "cuda/runtime/internal.h"

_Thread_local bool ff__rt_own_stream;

#define FF_CUDART(name, parameters)
#define FF_CUDART_FORM(name, symbol, parameters)
#define FF_CUDART_STREAM_FORM(name, symbol, flavour, parameters, arguments)
#define FF_CUDART_OR(value)
#define FF_CUDART_STREAM(name, flavour, parameters, arguments)                                     \
    FF_RT_OWN(name##_##flavour, parameters, name arguments)
#include <farfault/runtime.def>
