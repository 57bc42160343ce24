/* Kernels of libraries on this driver: functions of the processor instead of PTX. */
#include "cuda/driver/internal.h"

#include "base/error.h"
#include "preload/preload.h"
#include "ptx/fault.h"
#include "ptx/operands.h"
#include "ptx/program.h"

#include <errno.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

/* What a launch finds. Name and arguments make its identity. */
struct native_arguments {
    struct ff__cuda_native kernel;
    CUcontext context;
    _Alignas(16) char argument[];
};

/* ---- running ---- */

struct native_running {
    const void *address; /* of an access to what is no memory */
    jmp_buf leave;
};

static void faulted(void *self, const void *address) {
    struct native_running *running = self;
    running->address = address;
    longjmp(running->leave, 1);
}

/* The first error of a context stays. */
static void fail(const struct native_arguments *arguments, int code, const struct ff_error *error) {
    CUresult none = CUDA_SUCCESS;
    __atomic_compare_exchange_n(&arguments->context->error, &none, ff__cuda_result(code, error),
                                false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static int run_caught(struct native_arguments *arguments, struct ff_error *error) {
    struct native_running running;
    if (setjmp(running.leave) == 0) {
        ff__ptx_fault_may_come(faulted, &running);
        int code = arguments->kernel.run(arguments->argument);
        ff__ptx_fault_may_come(NULL, NULL);
        return code == 0 ? 0
                         : ff__fail(error, code, "kernel '%s': %s", arguments->kernel.name,
                                    strerror(-code));
    }
    return ff__fail(error, -EFAULT, "kernel '%s': an access to %p, which is no memory",
                    arguments->kernel.name, running.address);
}

/* After a failure what is left of the context's launches does nothing. */
static void run(const struct ff_work *work, void *argument) {
    struct native_arguments *arguments = argument;
    struct ff_error error;
    (void)work;
    if (__atomic_load_n(&arguments->context->error, __ATOMIC_RELAXED) != CUDA_SUCCESS)
        return;
    int code = run_caught(arguments, &error);
    if (code != 0)
        fail(arguments, code, &error);
}

CUresult ff__cuda_native_start(CUstream stream, const struct ff__cuda_native *kernel) {
    const void *operands[FF__PTX_OPERANDS];
    size_t size = sizeof(struct native_arguments) + kernel->size;
    struct native_arguments *arguments = calloc(1, size);
    if (arguments == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    arguments->kernel = *kernel;
    arguments->kernel.argument = NULL; /* another one in each launch */
    arguments->context = stream->context;
    memcpy(arguments->argument, kernel->argument, kernel->size);
    const struct ff_launch launch = {
        .name = kernel->name,
        .kernel = run,
        .grid = 1,
        .arguments = arguments,
        .argument_size = size,
        .operands = operands,
        .operand_count = ff__ptx_find_operands(ff__cuda_farfault(), arguments->argument,
                                               kernel->size, operands)};
    int code = ff_kernel_launch(stream->queue, &launch);
    free(arguments);
    return ff__cuda_result(code, NULL);
}

/* ---- as functions ---- */

struct native_function {
    struct CUfunc_st function; /* the first: its address is the handle */
    struct native_function *next;
    struct ff__ptx_variable argument;
    struct ff__ptx_function code;
    struct ff__ptx_kernel kernel;
    uint32_t offset;
};

static const struct ff_ptx_code no_code;
static struct native_function *functions; /* by `next`; they are never freed */

static bool is_of(const struct native_function *function, const struct ff__cuda_native *kernel) {
    return function->function.native == kernel->run && function->argument.size == kernel->size &&
           strcmp(function->function.name, kernel->name) == 0;
}

static struct native_function *make_function(const struct ff__cuda_native *kernel) {
    struct native_function *made = calloc(1, sizeof *made);
    if (made == NULL)
        return NULL;
    made->argument.size = kernel->size;
    made->code = (struct ff__ptx_function){.name = kernel->name,
                                           .parameters = &made->argument,
                                           .parameter_count = 1,
                                           .parameter_offsets = &made->offset};
    made->kernel = (struct ff__ptx_kernel){
        .code = &no_code, .parameter_size = (uint32_t)kernel->size, .max_threads = 1};
    made->function = (struct CUfunc_st){.code = &made->code,
                                        .kernel = &made->kernel,
                                        .name = kernel->name,
                                        .native = kernel->run,
                                        .dynamic_shared = 0};
    return made;
}

CUresult ff__cuda_native_function(const struct ff__cuda_native *kernel, CUfunction *out) {
    ff__lock_acquire(&ff__cuda_lock);
    struct native_function *function = functions;
    while (function != NULL && !is_of(function, kernel))
        function = function->next;
    if (function == NULL && (function = make_function(kernel)) != NULL) {
        function->next = functions;
        functions = function;
    }
    ff__lock_release(&ff__cuda_lock);
    *out = (CUfunction)function;
    return function != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* ---- the table ---- */

static CUresult launch(CUstream stream, const struct ff__cuda_native *kernel) {
    const struct ff__cuda_command command = {.kind = FF_CUDA_NATIVE, .native = *kernel};
    CUresult result = ff__cuda_enqueue(stream, &command);
    if (result == CUDA_SUCCESS)
        ff__count_launch();
    return result;
}

CUresult cuGetExportTable(const void **table, const CUuuid *id) {
    static const CUuuid name = FF_CUDA_NATIVE_TABLE;
    static const struct ff__cuda_native_table natives = {sizeof natives, launch,
                                                         ff__cuda_alloc_for_kernels};
    if (table == NULL || id == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *table = memcmp(id, &name, sizeof name) == 0 ? &natives : NULL;
    return *table != NULL ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
