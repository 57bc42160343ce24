/* malloc() and free() of device code: a heap of a fixed size. What it knows of its memory lies
 * elsewhere, so that only kernels touch that memory. */
#ifndef FF_PTX_HEAP_H
#define FF_PTX_HEAP_H

#include <stdbool.h>
#include <stddef.h>

struct ff__ptx_heap;

/* `memory` is aligned to 32 bytes and stays the caller's; kernels get it in pieces. NULL: no
 * memory for what is known of it. */
struct ff__ptx_heap *ff__ptx_heap_make(void *memory, size_t size);
void ff__ptx_heap_free(struct ff__ptx_heap *heap); /* NULL: nothing */

/* Aligned to 32 bytes; NULL: it is full. Any thread may call these. */
void *ff__ptx_heap_take(struct ff__ptx_heap *heap, size_t size);
/* False: no piece that is taken begins there. NULL: nothing. */
bool ff__ptx_heap_give(struct ff__ptx_heap *heap, void *piece);

#endif
