/* The text that stands before every translated module: the headers in device/. */
#ifndef FF_PTX_PRELUDE_H
#define FF_PTX_PRELUDE_H

#include <stddef.h>

extern const char *const ff__ptx_prelude[]; /* lines */
extern const size_t ff__ptx_prelude_count;

#endif
