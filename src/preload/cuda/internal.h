/* What unmodified CUDA programs meet: device memory that they allocate becomes managed memory of
 * the driver's, whoever's driver that is. Everything that is called is the public driver API; what
 * farfault's driver has beside it is asked for by cuGetExportTable(). */
#ifndef FF_PRELOAD_CUDA_INTERNAL_H
#define FF_PRELOAD_CUDA_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FF_CUDA_EXACT_NAMES
#include <cuda.h>

#include "preload/preload.h"

/* ---- lookup.c: the driver's functions ---- */

struct ff__cuda_real {
#define FF_HOOK(name, version, since) __typeof__(name##version) *name##version;
#define FF_HOOK_STREAM(name, version, since, from)                                                 \
    __typeof__(name##version) *name##version, *name##version##_ptsz;
#define FF_REAL(name, version) __typeof__(name##version) *name##version;
#include "preload/cuda/hooks.def"
};

/* Looked up at the first call. */
const struct ff__cuda_real *ff__cuda_real(void);
#define REAL(name) (ff__cuda_real()->name)

/* ---- memory.c: what became managed instead of plain ---- */

/* Whether the address lies in such an allocation. */
bool ff__cuda_is_substituted(CUdeviceptr address);
size_t ff__cuda_substituted_bytes(void);      /* now */
size_t ff__cuda_most_substituted_bytes(void); /* at a time */
/* Whether anything is substituted at all, on a device or on the thread's: not in a passive run, and
 * not where managed memory can be no larger than the device. */
bool ff__cuda_substitutes_on(CUdevice device);
bool ff__cuda_substitutes(void);
/* Whether so much more becomes managed memory. */
bool ff__cuda_would_substitute(size_t size);
CUresult ff__cuda_allocate_managed(CUdeviceptr *address, size_t size);
/* A graph has the memory from now on, or has ended: a program that frees it meanwhile only says
 * that it needs it no more. */
void ff__cuda_lend(CUdeviceptr address);
void ff__cuda_take_back(CUdeviceptr address);

/* ---- pool.c ---- */

/* Whether the program has made it for managed memory. */
bool ff__cuda_pool_is_managed(CUmemoryPool pool);

/* ---- graph.c ---- */

/* The graph that a capture of the stream is making; NULL: none. */
CUgraph ff__cuda_captured_graph(CUstream stream);
/* Memory that the graph keeps. */
CUresult ff__cuda_allocate_for(CUgraph graph, CUdeviceptr *address, size_t size);

#endif
