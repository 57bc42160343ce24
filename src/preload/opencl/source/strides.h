/* Which arrays a kernel indexes with a fixed stride, read off its source (SpecForest's static
 * detection; Lin et al., ISCA 2025, have a compiler for it).
 *
 * An index has a fixed stride if it is a sum of work-item IDs and loop counters, each times a
 * factor that is the same for the whole launch: a number, a scalar argument, a size of the launch,
 * or a product of these. Loop counters are variables that nothing but heads of for loops changes,
 * in equal steps. Neighbours in dimension 0 must be a number of elements apart that the source
 * names: work-items that go through a row each, with rows as long as an argument says, touch a page
 * of each row in turn, which is no stride.
 *
 * The reader is conservative: it knows neither macros nor helper functions, pointers other than
 * arguments, nor data that is read from memory. Where an argument or an index has to do with any of
 * these, it says nothing. It may be wrong only about what a compiler's options define anew, and its
 * finding is only a hint. */
#ifndef FF_PRELOAD_OPENCL_SOURCE_STRIDES_H
#define FF_PRELOAD_OPENCL_SOURCE_STRIDES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The source is `length` bytes, without an end mark. `fixed`: by argument of the kernel of this
 * name, whether it is memory that is indexed with a fixed stride wherever it is used, and is used
 * so. All false where the source cannot be read, or has no such kernel with `count` arguments. */
void ff__strides_read(const char *source, size_t length, const char *kernel, bool *fixed,
                      uint32_t count);

#endif
