/* Accesses of kernels to what is no memory: with ff__ptx_catch_faults() (exec.h) they end the
 * launch, with one line, instead of the process. */
#ifndef FF_PTX_FAULT_H
#define FF_PTX_FAULT_H

#include "ptx/block.h"

/* The calling thread runs this block from now on; NULL: none. */
void ff__ptx_fault_may_come(struct ff__ptx_running *running);

#endif
