/* Large products through a BLAS; for programs that link one. */
#ifndef FF_LEARN_BLAS_BLAS_H
#define FF_LEARN_BLAS_BLAS_H

#include <stdbool.h>

/* From now on. False: this farfault is built without one, and the products take much longer. */
bool ff__blas_use(void);

#endif
