/* Reads PTX text. */
#ifndef FF_PTX_READ_H
#define FF_PTX_READ_H

#include "ptx/ptx.h"

/* Reads a module of PTX 3.2 to 8.x; it ends at `size` or at a zero byte. What is wrong inside a
 * function makes that one refused (ff__ptx_function.refused), the others can be used. Debugging
 * directives are skipped. -EINVAL: what is wrong lies outside functions, the message has line and
 * reason; -ENOMEM. The caller frees *out. */
int ff__ptx_read(const char *text, size_t size, struct ff__ptx_module **out,
                 struct ff_error *error);
void ff__ptx_module_free(struct ff__ptx_module *module);

/* For tables: values of the enumerations by name. FF__PTX_NONE: no such. */
uint32_t ff__ptx_find_type(const char *name, size_t length);
uint32_t ff__ptx_find_modifier(const char *name, size_t length);
uint32_t ff__ptx_find_opcode(const char *name, size_t length);

#endif
