/* Structs of callers that were compiled against an older or a newer farfault.h (see there). */
#ifndef FF_BASE_SIZED_H
#define FF_BASE_SIZED_H

#include <stddef.h>

/* Overwrites as much of `to`, ours, as the caller's `from` has. -E2BIG: what it has beyond is not
 * zero. */
int ff__sized_get(void *to, size_t to_size, const void *from, size_t from_size);

/* Fills the caller's `to` with as much of `from`, ours, as fits, and with zeros beyond. */
void ff__sized_put(void *to, size_t to_size, const void *from, size_t from_size);

#endif
