/* The lower bound of a fault's cost: the smallest userfaultfd loop that does the same work as a
 * fault of ours, in the same hand-over mode. No budget, no policy, no bookkeeping. */
#ifndef FF_BENCH_BARE_H
#define FF_BENCH_BARE_H

#include <farfault/farfault.h>

/* As many threads as farfault has to read of faults and serve them, on two processors: its fault
 * workers. */
#define BARE_HANDLERS_MAX 2u

/* `size` bytes that are faulted in by `unit`, each fault served by one UFFDIO_COPY of `unit` bytes
 * from another area, by one of `handlers` threads, unless signals tell of it. NULL on failure. */
struct bare *bare_open(size_t size, size_t unit, enum ff_handler handler, uint64_t spin_ns,
                       unsigned handlers);

/* Drops what is there, then seconds for so many threads to touch every unit. */
double bare_fault_seconds(struct bare *bare, unsigned threads);
void bare_close(struct bare *bare);

/* Seconds for filling `size` bytes by UFFDIO_COPY, `unit` at a time, without faults. Negative
 * errno. */
int bare_copy_seconds(size_t size, size_t unit, double *seconds);

/* Seconds for one memcpy of `size` bytes between warm areas. */
double memcpy_seconds(size_t size);

#endif
