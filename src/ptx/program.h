/* Loaded modules: what ff__ptx_load() makes, and ff__ptx_launch() uses. */
#ifndef FF_PTX_PROGRAM_H
#define FF_PTX_PROGRAM_H

#include "base/lock.h"
#include "ptx/device/abi.h"
#include "ptx/exec.h"
#include "ptx/ptx.h"
#include "ptx/variables.h"

struct ff__ptx_kernel {
    struct ff__ptx_program *program;
    uint32_t number, unit;          /* of its function; of what it is compiled with (program.c) */
    const struct ff_ptx_code *code; /* with its symbol; NULL: not needed yet, or refused */
    char *name;                     /* as the source has it; of namesakes whole */
    uint32_t parameter_size;        /* bytes of the block of parameters */
    uint32_t max_threads;           /* of a block, as .maxntid says; 0: it says nothing */
};

struct ff__ptx_program {
    struct ff__ptx_module *module;
    struct ff__ptx_build *build; /* program.c's own */

    struct ff__ptx_variables variables;
    struct ff__ptx_kernel *kernels; /* all of the module's */
    uint32_t kernel_count;

    /* The first launch that failed: the executor's, guarded by `lock`. */
    struct ff__lock lock;
    int failure; /* 0: none did */
    struct ff_error failed;
};

/* Waits for the code of all kernels. 0, or why there is none: -ENOEXEC: no shared object came from
 * the compiler; -ENOMEM, -ENOSPC and others. */
int ff__ptx_wait(struct ff__ptx_program *program, struct ff_error *error);

#endif
