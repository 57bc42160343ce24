/* Large products through a BLAS; for programs that link one. */
#ifndef FF_LEARN_BLAS_BLAS_H
#define FF_LEARN_BLAS_BLAS_H

/* From now on. */
void ff__blas_use(void);

#endif
