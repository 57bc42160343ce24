/* Functions that only have the processor fetch memory: GCC 12 takes them for functions without effect
 * and leaves the calls out, unless they are inlined first. */
#ifndef FF_BASE_FETCH_H
#define FF_BASE_FETCH_H

#define FF__FETCHES static inline __attribute__((always_inline)) void

#endif
