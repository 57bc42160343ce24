/* Shared objects in memory of their own, which no other process can change: the loader gives each
 * of them variables of its own, which it does not for one path that is loaded twice. */
#ifndef FF_PTX_OBJECT_H
#define FF_PTX_OBJECT_H

#include "ptx/device/abi.h"
#include <farfault/farfault.h>
#include <stddef.h>

/* A file in memory of `size` bytes, and its content as writable memory (ff__ptx_object_unmap). Its
 * descriptor, or a negative errno. */
int ff__ptx_object_new(size_t size, void **content);

/* Whole pages: of the rest of the last one ThreadSanitizer would remember accesses, and hold the
 * variables of a library that is loaded there next for raced with. */
void ff__ptx_object_unmap(void *content, size_t size);

/* The first `size` bytes of a file, from where it stands. The descriptor; -EIO: it is shorter; or
 * another negative errno. */
int ff__ptx_object_copy(int file, size_t size);

/* Loads a copy, which stays the caller's to close. After ff__ptx_object_unload(*library)
 * *image is no more. -ENOEXEC: it is no translated module, or of another FF_PTX_ABI. */
int ff__ptx_object_load(int object, void **library, const struct ff_ptx_image **image,
                        struct ff_error *error);

void ff__ptx_object_unload(void *library);

#endif
