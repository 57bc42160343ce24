/* How fast this machine copies memory: the software device's links are no faster. */
#ifndef FF_STUDY_LIVE_COPY_RATE_H
#define FF_STUDY_LIVE_COPY_RATE_H

#define FF__COPIERS_MAX 64u

/* Bytes per second that so many threads, 1 to FF__COPIERS_MAX, copy together, in pieces of 2 MiB,
 * each from and to memory of its own; the best of several rounds, in about a tenth of a second.
 * Returns 0, -ENOMEM or -EAGAIN. */
int ff__copy_rate(unsigned threads, double *bytes_per_second);

#endif
