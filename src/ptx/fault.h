/* Accesses of kernels to what is no memory: with ff__ptx_catch_faults() (exec.h) they end the
 * launch, with one line, instead of the process. */
#ifndef FF_PTX_FAULT_H
#define FF_PTX_FAULT_H

/* From now on an access of the calling thread to what is no memory calls this instead of ending the
 * process, in the handler of the signal; it does not return. NULL: none is expected any more. */
void ff__ptx_fault_may_come(void (*told)(void *self, const void *address), void *self);

#endif
