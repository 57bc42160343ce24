/* Flat arrays that are as large as they could ever become and cost only what is touched: zeroed
 * address space from mmap(2) instead of realloc(3), so that an element's address never changes
 * and readers need no lock. */
#ifndef FF_BASE_LAZY_H
#define FF_BASE_LAZY_H

#include <stddef.h>

/* Zeroed bytes, or NULL when the addresses are not to be had. `size` may be 0. */
void *ff__lazy_map(size_t size);

/* As ff__lazy_map(), for arrays that are soon touched all over: in large pages, where there are
 * any, so that the system is not asked for each small one. */
void *ff__lazy_map_dense(size_t size);
void ff__lazy_unmap(void *array, size_t size);

/* Makes a part of such an array zero again. What is large is given back, and costs nothing until it
 * is touched once more. */
void ff__lazy_clear(void *part, size_t size);

/* Bytes of the array's whole pages (of the system's size) in which anything is not zero. */
size_t ff__lazy_used(const void *array, size_t size);

#endif
