/* Includes farfault/blas_typed.def for each type of elements, with these macros:
 *   FF_CUBLAS_TYPED(name)  of the type: cublasCgemm; FF_CUBLAS_REAL(name)  with a real result, or
 *   a real factor: cublasScnrm2; FF_CUBLAS_FIND(name)  with a place as its result: cublasIcamax
 *   FF_CUBLAS_T, FF_CUBLAS_R  the type, and that of its parts; FF_CUBLAS_COMPLEX  whether they are
 *   two */

#define FF_CUBLAS_TYPED(name) cublasS##name
#define FF_CUBLAS_REAL(name)  cublasS##name
#define FF_CUBLAS_FIND(name)  cublasIs##name
#define FF_CUBLAS_T           float
#define FF_CUBLAS_R           float
#define FF_CUBLAS_COMPLEX     0
#include "farfault/blas_typed.def"
#undef FF_CUBLAS_TYPED
#undef FF_CUBLAS_REAL
#undef FF_CUBLAS_FIND
#undef FF_CUBLAS_T
#undef FF_CUBLAS_R
#undef FF_CUBLAS_COMPLEX

#define FF_CUBLAS_TYPED(name) cublasD##name
#define FF_CUBLAS_REAL(name)  cublasD##name
#define FF_CUBLAS_FIND(name)  cublasId##name
#define FF_CUBLAS_T           double
#define FF_CUBLAS_R           double
#define FF_CUBLAS_COMPLEX     0
#include "farfault/blas_typed.def"
#undef FF_CUBLAS_TYPED
#undef FF_CUBLAS_REAL
#undef FF_CUBLAS_FIND
#undef FF_CUBLAS_T
#undef FF_CUBLAS_R
#undef FF_CUBLAS_COMPLEX

#define FF_CUBLAS_TYPED(name) cublasC##name
#define FF_CUBLAS_REAL(name)  cublasSc##name
#define FF_CUBLAS_FIND(name)  cublasIc##name
#define FF_CUBLAS_T           cuComplex
#define FF_CUBLAS_R           float
#define FF_CUBLAS_COMPLEX     1
#include "farfault/blas_typed.def"
#undef FF_CUBLAS_TYPED
#undef FF_CUBLAS_REAL
#undef FF_CUBLAS_FIND
#undef FF_CUBLAS_T
#undef FF_CUBLAS_R
#undef FF_CUBLAS_COMPLEX

#define FF_CUBLAS_TYPED(name) cublasZ##name
#define FF_CUBLAS_REAL(name)  cublasDz##name
#define FF_CUBLAS_FIND(name)  cublasIz##name
#define FF_CUBLAS_T           cuDoubleComplex
#define FF_CUBLAS_R           double
#define FF_CUBLAS_COMPLEX     1
#include "farfault/blas_typed.def"
#undef FF_CUBLAS_TYPED
#undef FF_CUBLAS_REAL
#undef FF_CUBLAS_FIND
#undef FF_CUBLAS_T
#undef FF_CUBLAS_R
#undef FF_CUBLAS_COMPLEX
