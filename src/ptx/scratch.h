/* Memory in which a thread runs thread blocks; it is kept from one launch to the next. */
#ifndef FF_PTX_SCRATCH_H
#define FF_PTX_SCRATCH_H

#include <stddef.h>

/* At least `size` bytes, aligned to 256, of the calling thread's own. NULL: no memory. It holds
 * until the next call in this thread, or until the thread ends. */
void *ff__ptx_scratch(size_t size);

#endif
