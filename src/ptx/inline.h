/* Calls of functions in which threads wait for each other. A device function is a C function, which
 * no thread can leave in its middle: so each call of such a function becomes a copy of its body. */
#ifndef FF_PTX_INLINE_H
#define FF_PTX_INLINE_H

#include "ptx/ptx.h"

/* Expands these calls in all functions of the module, and marks what they called as `inlined`. A
 * function in which a call can not be expanded is refused: it calls itself, the parameters do not
 * fit, it would be too long. Calls through registers stay as they are. Once for each module:
 * later calls do nothing. 0 or -ENOMEM. */
int ff__ptx_inline(struct ff__ptx_module *module);

#endif
