/* What launches of kernels in OpenCL C access, from their programs' sources: clang makes PTX of
 * them, which is analysed (preload/working_set.h). Of programs from binaries, and linked ones,
 * nothing is known. */
#ifndef FF_PRELOAD_OPENCL_EXTENTS_H
#define FF_PRELOAD_OPENCL_EXTENTS_H

#include "preload/opencl/internal.h"
#include "preload/working_set.h"

struct ff__extents; /* of a kernel, and its arguments */

/* Begins to translate its program, unless that was done. NULL: FARFAULT_EXTENTS is off, there is no
 * source, or no memory. */
struct ff__extents *ff__extents_make(cl_kernel kernel, const char *name, cl_uint argument_count);
/* With the same arguments. NULL: no memory, or there is nothing to copy. */
struct ff__extents *ff__extents_copy(const struct ff__extents *extents);
void ff__extents_free(struct ff__extents *extents);

/* The argument is now this: an address, or bytes. `value` NULL: local memory, or nothing. */
void ff__extents_set(struct ff__extents *extents, cl_uint index, size_t size, const void *value);

/* Waits until the program is translated. It is never forgotten: unlike the kernel, which need not
 * be there any more. */
struct ff__translation *ff__extents_translation(const struct ff__extents *extents);
void ff__translation_wait(struct ff__translation *translation);

/* The same for a launch of this grid with the arguments as they are, once that is done.
 * `launch->parameters` is filled in. False: nothing is known. */
bool ff__extents_find(struct ff__extents *extents, uint32_t device,
                      struct ff__ptx_extent_launch *launch, struct ff__bringing *out);

/* kernel.c: all of this for a launch of the kernel. */
bool ff__kernel_bringing(cl_kernel kernel, uint32_t device, struct ff__ptx_extent_launch *launch,
                         struct ff__bringing *out);

#endif
