/* Kernels in OpenCL C as PTX, for the analysis of extents: clang makes it. They are not run.
 *
 * The language's functions (exp(), barrier()) stay calls of declarations. Of those that are given
 * no pointer it is known that they access no memory. */
#ifndef FF_PTX_OPENCL_H
#define FF_PTX_OPENCL_H

#include "ptx/ptx.h"

/* A module with functions copied into kernels (inline.h); the caller frees it. `options`: those of
 * clBuildProgram(), of which macros, folders of headers and -cl-... count. All signals are blocked
 * in the calling thread, which is one of farfault. -ENOEXEC: there is no clang in PATH, or it does
 * not take the source, and the message says why; -EINVAL: what it made cannot be read; -ENOMEM or
 * another negative errno. */
int ff__ptx_from_opencl(const char *source, size_t size, const char *options,
                        struct ff__ptx_module **out, struct ff_error *error);

#endif
