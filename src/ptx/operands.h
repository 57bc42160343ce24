/* What a kernel's parameters name. */
#ifndef FF_PTX_OPERANDS_H
#define FF_PTX_OPERANDS_H

#include <farfault/farfault.h>

#define FF__PTX_OPERANDS 64u

/* The managed allocations, by their first byte, that words of a block of parameters point into:
 * also words inside structs. At most FF__PTX_OPERANDS; returns how many there are. */
uint32_t ff__ptx_find_operands(struct ff_context *context, const void *parameters, size_t size,
                               const void **operands);

#endif
