/* Which process this is: a forked child has its parent's data, but none of its threads. */
#ifndef FF_BASE_PROCESS_H
#define FF_BASE_PROCESS_H

#include <stdint.h>

/* Another number than any process had from which this one was forked: by fork(), or by a clone()
 * that calls no handler of pthread_atfork(). Processes that share memory (vfork, posix_spawn before
 * it executes) have one number. 0: no memory to tell. Costs a load or two; safe in signal handlers
 * after the first call. */
uint32_t ff__process_number(void);

#endif
