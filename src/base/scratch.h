/* Memory of a thread for what it computes; it is kept from one use to the next. */
#ifndef FF_BASE_SCRATCH_H
#define FF_BASE_SCRATCH_H

#include <stddef.h>

/* At least `size` bytes, aligned to 256, of the calling thread's own. NULL: no memory. It holds
 * until the next call in this thread, or until the thread ends. */
void *ff__scratch(size_t size);

#endif
