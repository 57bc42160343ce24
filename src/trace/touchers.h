/* Threads whose first touches of pages are recorded: their numbers, and the CPU time each has used
 * between two touches. While a thread waits for a page it uses none, so that this is the time of
 * its own work. What the kernel takes for the fault on the thread's account is in it, too; the
 * least that was seen so far is taken for that.
 *
 * Threads that have touched something while a launch ran are taken for those that run kernels. What
 * another one does during a launch, such as the program's own that waits for it, is no part of it.
 */
#ifndef FF_TRACE_TOUCHERS_H
#define FF_TRACE_TOUCHERS_H

#include <stdbool.h>
#include <stdint.h>

#define FF__TOUCHERS_MAX 256u /* threads that come later share the last number */

struct ff__touchers {
    struct ff__toucher {
        int32_t thread;  /* the kernel's number */
        bool touched;    /* a touch was the last that was asked about */
        bool computes;   /* it has touched something while a launch ran */
        uint64_t cpu_ns; /* its CPU time when it was last asked about */
    } of[FF__TOUCHERS_MAX];
    uint32_t count;
    uint32_t launches; /* that run */
    uint64_t cost_ns;  /* of a fault, to the thread; 0: none was seen so far */
};

/* The number of a thread of this process that has just met an absent page, and the nanoseconds of
 * its work since it was last asked about or since ff__touchers_begin(); at least 1. Safe in a
 * signal handler. */
uint32_t ff__touchers_touch(struct ff__touchers *touchers, int32_t thread, uint32_t *work_ns);

/* A launch begins: what the threads have done so far is forgotten. */
void ff__touchers_begin(struct ff__touchers *touchers);

/* A launch has ended. */
void ff__touchers_end(struct ff__touchers *touchers);

/* The work of one thread since its last touch; 0: none, or the thread runs no kernels. It is told
 * once. */
uint32_t ff__touchers_rest(struct ff__touchers *touchers, uint32_t number);

#endif
