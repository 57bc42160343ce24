/* The floor of fault service: the smallest userfaultfd loop that does the same work as a fault
 * of ours, in the same hand-over mode. No budget, no policy, no bookkeeping. */
#ifndef FF_BENCH_BARE_H
#define FF_BENCH_BARE_H

#include <farfault/farfault.h>

/* Seconds for touching `size` bytes every `unit` bytes, each fault served by one UFFDIO_COPY of
 * `unit` bytes from another area. Negative errno on failure. */
double bare_fault_seconds(size_t size, size_t unit, enum ff_handler handler, uint64_t spin_ns);

/* Seconds for filling `size` bytes by UFFDIO_COPY, `unit` at a time, without faults. */
double bare_copy_seconds(size_t size, size_t unit);

/* Seconds for one memcpy of `size` bytes between warm areas. */
double memcpy_seconds(size_t size);

#endif
