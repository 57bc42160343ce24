/* Writes a module as C: the prelude's text, device functions, and one function for each region of
 * each kernel (device/abi.h). Variables lie elsewhere (variables.h). */
#ifndef FF_PTX_EMIT_H
#define FF_PTX_EMIT_H

#include "ptx/ptx.h"

struct ff__ptx_emit_options {
    bool record; /* report each access of global memory; loops are cut at their back edges */
    bool yields; /* cut every loop, so that other threads get a turn */
    /* Only kernels from the function with this number on, among so many functions, and what they
     * need; 0: all */
    uint32_t first, count;
};

/* Kernels that can not be translated get ff__ptx_function.refused, and do not appear. 0, -ENOMEM.
 * The caller frees *out, of *size bytes with a zero behind them. */
int ff__ptx_emit(struct ff__ptx_module *module, const struct ff__ptx_emit_options *options,
                 char **out, size_t *size, struct ff_error *error);

#endif
