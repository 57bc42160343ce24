/* In place of blas.c, where farfault is built without a BLAS. */
#include "learn/blas/blas.h"

bool ff__blas_use(void) {
    return false;
}
