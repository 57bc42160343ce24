#ifndef FF_PTX_SOURCE_NAME_H
#define FF_PTX_SOURCE_NAME_H

#include <stdbool.h>

/* The name that the source gives a kernel or function, of its symbol: `scale<float>`, or whole,
 * with namespaces and parameters, `blas::scale<float>(float*, int)`. What is no symbol of C++ stays
 * as it is, and so does everything where there is no C++ run time. The caller frees it; NULL: no
 * memory. */
char *ff__ptx_source_name(const char *symbol, bool whole);

#endif
