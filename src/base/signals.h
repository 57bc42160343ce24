/* Holding off the signals of a thread of the program while others may have to wait for it.
 *
 * A handler of the program's may touch managed memory at any moment, and then its thread waits for
 * the fault to be served. If that thread holds what is needed to serve it - a lock, a block that is
 * at work - it would wait for itself. So it gets no signals meanwhile, and cannot be cancelled.
 * Signals that say what the thread itself has done (SIGSEGV and the like) still come: SIGBUS may be
 * how faults are told. */
#ifndef FF_BASE_SIGNALS_H
#define FF_BASE_SIGNALS_H

#include <signal.h>

/* All signals but those that say what the thread itself has done. */
void ff__signals_fill(sigset_t *set);

/* The calling thread gets none of these signals until the last of its holds is released. Holds
 * nest: only the outermost costs system calls, and none does in threads of farfault. */
void ff__signals_hold(void);
void ff__signals_release(void);

/* As ff__signals_hold(), within a handler that runs with these signals masked (sa_mask). */
void ff__signals_enter_handler(void);
void ff__signals_leave_handler(void);

/* The calling thread has all of these signals masked for ever. */
void ff__signals_disown(void);

#endif
