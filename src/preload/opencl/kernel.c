/* Kernels' arguments as the program has set them: what makes two launches the same, and which
 * managed memory a launch uses. Nothing is kept in passive mode or where nothing is managed. */
#include "preload/opencl/extents.h"

#include <stdlib.h>
#include <string.h>

struct argument {
    uint64_t hash;       /* of its value: memory by address, local memory by size */
    const void *operand; /* the managed allocation it points into, or NULL */
    bool is_amount;      /* a number that says how much, not where: not in the identity */
    bool is_strided; /* memory that the kernel indexes with a fixed stride, as its source says */
};

struct kernel {
    char *name;          /* of its function; NULL: no memory for it */
    unsigned references; /* the program's */
    cl_uint argument_count;
    const void **pointers; /* CL_KERNEL_EXEC_INFO_SVM_PTRS */
    size_t pointer_count;
    struct ff__extents *extents; /* NULL: nothing of it is known before its launches */
    struct argument arguments[];
};

static struct ff__handles kernels = FF__HANDLES_INIT;

/* ---- from creation to release ---- */

static void destroy(struct kernel *kernel) {
    ff__extents_free(kernel->extents);
    free(kernel->name);
    free(kernel->pointers);
    free(kernel);
}

char *ff__kernel_name(cl_kernel handle) {
    size_t length = 0;
    REAL(clGetKernelInfo)(handle, CL_KERNEL_FUNCTION_NAME, 0, NULL, &length);
    char *name = calloc(1, length + 1);
    if (name)
        REAL(clGetKernelInfo)(handle, CL_KERNEL_FUNCTION_NAME, length, name, NULL);
    return name;
}

/* DeepUM hashes all arguments. A factor that is another one in each iteration, as the step of a
 * solver is, would make each of its launches a new one; floating-point numbers do not say which
 * memory a kernel uses. Types are there because program.c asks for them; of kernels without, as
 * those of some binaries, all arguments are hashed. */
static bool is_amount(cl_kernel handle, cl_uint index) {
    char type[64] = "";
    if (REAL(clGetKernelArgInfo)(handle, index, CL_KERNEL_ARG_TYPE_NAME, sizeof type - 1, type,
                                 NULL) != CL_SUCCESS ||
        strchr(type, '*'))
        return false;
    return strncmp(type, "float", 5) == 0 || strncmp(type, "double", 6) == 0;
}

static void find_strides(struct kernel *kernel, cl_kernel handle) {
    bool *fixed = calloc(kernel->argument_count + 1, sizeof *fixed);
    if (fixed)
        ff__program_strides(handle, fixed, kernel->argument_count);
    for (cl_uint i = 0; fixed && i < kernel->argument_count; i++)
        kernel->arguments[i].is_strided = fixed[i];
    free(fixed);
}

static struct kernel *make(cl_kernel handle) {
    cl_uint count = 0;
    REAL(clGetKernelInfo)(handle, CL_KERNEL_NUM_ARGS, sizeof count, &count, NULL);
    struct kernel *kernel = calloc(1, sizeof *kernel + count * sizeof kernel->arguments[0]);
    if (!kernel)
        return NULL;
    kernel->name = ff__kernel_name(handle);
    kernel->references = 1;
    kernel->argument_count = count;
    for (cl_uint i = 0; i < count; i++)
        kernel->arguments[i].is_amount = is_amount(handle, i);
    find_strides(kernel, handle);
    kernel->extents = ff__extents_make(handle, kernel->name, count);
    return kernel;
}

/* A kernel that cannot be entered is launched with operands unknown. */
static void enter(struct kernel *kernel, cl_kernel handle) {
    pthread_mutex_lock(&kernels.lock);
    bool put = kernel && ff__handles_put(&kernels, handle, kernel);
    pthread_mutex_unlock(&kernels.lock);
    if (kernel && !put)
        destroy(kernel);
}

static void track(cl_kernel handle) {
    if (handle && ff__context())
        enter(make(handle), handle);
}

/* Found with the lock held, which the caller gives up; NULL with no lock. */
static struct kernel *find_locked(cl_kernel handle) {
    if (!ff__context_if_open())
        return NULL;
    pthread_mutex_lock(&kernels.lock);
    struct kernel *kernel = ff__handles_find(&kernels, handle);
    if (!kernel)
        pthread_mutex_unlock(&kernels.lock);
    return kernel;
}

FF_HOOKED cl_kernel CL_API_CALL clCreateKernel(cl_program program, const char *name,
                                               cl_int *status) {
    cl_kernel handle = REAL(clCreateKernel)(program, name, status);
    track(handle);
    return handle;
}

FF_HOOKED cl_int CL_API_CALL clCreateKernelsInProgram(cl_program program, cl_uint capacity,
                                                      cl_kernel *handles, cl_uint *count) {
    cl_uint made = 0;
    cl_int status = REAL(clCreateKernelsInProgram)(program, capacity, handles, &made);
    for (cl_uint i = 0; status == CL_SUCCESS && handles && i < made && i < capacity; i++)
        track(handles[i]);
    if (status == CL_SUCCESS && count)
        *count = made;
    return status;
}

static struct kernel *copy_of(const struct kernel *from) {
    size_t size = sizeof *from + from->argument_count * sizeof from->arguments[0];
    struct kernel *kernel = malloc(size);
    if (!kernel)
        return NULL;
    memcpy(kernel, from, size);
    kernel->references = 1;
    kernel->name = from->name ? strdup(from->name) : NULL;
    /* OpenCL copies arguments, and nothing that clSetKernelExecInfo has set */
    kernel->pointers = NULL;
    kernel->pointer_count = 0;
    kernel->extents = ff__extents_copy(from->extents);
    return kernel;
}

FF_HOOKED cl_kernel CL_API_CALL clCloneKernel(cl_kernel source, cl_int *status) {
    cl_kernel handle = REAL(clCloneKernel)(source, status);
    struct kernel *from = handle ? find_locked(source) : NULL;
    if (from) {
        struct kernel *kernel = copy_of(from);
        pthread_mutex_unlock(&kernels.lock);
        enter(kernel, handle);
    }
    return handle;
}

FF_HOOKED cl_int CL_API_CALL clRetainKernel(cl_kernel handle) {
    cl_int status = REAL(clRetainKernel)(handle);
    struct kernel *kernel = status == CL_SUCCESS ? find_locked(handle) : NULL;
    if (kernel) {
        kernel->references++;
        pthread_mutex_unlock(&kernels.lock);
    }
    return status;
}

/* Forgotten before the real call, after which the handle may be another kernel's. */
FF_HOOKED cl_int CL_API_CALL clReleaseKernel(cl_kernel handle) {
    struct kernel *kernel = find_locked(handle);
    if (kernel) {
        bool last = --kernel->references == 0;
        if (last)
            ff__handles_take(&kernels, handle);
        pthread_mutex_unlock(&kernels.lock);
        if (last)
            destroy(kernel);
    }
    return REAL(clReleaseKernel)(handle);
}

/* ---- arguments ---- */

static const void *allocation_of(const void *pointer) {
    void *base = NULL;
    if (!pointer || !ff_mem_lookup(ff__context_if_open(), pointer, &base, NULL))
        return NULL;
    return base;
}

static struct argument argument_of_pointer(const void *pointer) {
    return (struct argument){.hash = ff__hash_word(1 ^ (uintptr_t)pointer),
                             .operand = allocation_of(pointer)};
}

static struct argument argument_of_value(size_t size, const void *value) {
    if (!value)
        return (struct argument){.hash = ff__hash_word(2 ^ (uint64_t)size)};
    return (struct argument){.hash = ff__hash_bytes(3, value, size)};
}

/* Of the buffer that the value is the handle of; NULL: it is none, or not managed. */
static const void *memory_of(size_t size, const void *value) {
    struct ff__buffer buffer;
    cl_mem handle = NULL;
    if (!value || size != sizeof handle)
        return NULL;
    memcpy(&handle, value, sizeof handle);
    return ff__buffer_find(handle, &buffer) ? buffer.memory : NULL;
}

static void set_argument(cl_kernel handle, cl_uint index, struct argument argument, size_t size,
                         const void *value) {
    struct kernel *kernel = find_locked(handle);
    if (!kernel)
        return;
    ff__extents_set(kernel->extents, index, size, value);
    if (index < kernel->argument_count && !kernel->arguments[index].is_amount) {
        argument.is_strided = kernel->arguments[index].is_strided;
        kernel->arguments[index] = argument;
    }
    pthread_mutex_unlock(&kernels.lock);
}

static void set_pointer(cl_kernel handle, cl_uint index, const void *pointer) {
    set_argument(handle, index, argument_of_pointer(pointer), sizeof pointer, &pointer);
}

FF_HOOKED cl_int CL_API_CALL clSetKernelArg(cl_kernel handle, cl_uint index, size_t size,
                                            const void *value) {
    cl_int status = REAL(clSetKernelArg)(handle, index, size, value);
    if (status != CL_SUCCESS || !ff__context_if_open())
        return status;
    const void *memory = memory_of(size, value);
    if (memory)
        set_pointer(handle, index, memory);
    else
        set_argument(handle, index, argument_of_value(size, value), size, value);
    return status;
}

FF_HOOKED cl_int CL_API_CALL clSetKernelArgSVMPointer(cl_kernel handle, cl_uint index,
                                                      const void *pointer) {
    cl_int status = REAL(clSetKernelArgSVMPointer)(handle, index, pointer);
    if (status == CL_SUCCESS && ff__context_if_open())
        set_pointer(handle, index, pointer);
    return status;
}

/* Each call replaces what the one before has set. */
static void set_pointers(cl_kernel handle, size_t size, const void *value) {
    const void **pointers = size ? malloc(size) : NULL;
    struct kernel *kernel = size && !pointers ? NULL : find_locked(handle);
    if (!kernel) {
        free(pointers);
        return;
    }
    if (size)
        memcpy(pointers, value, size);
    free(kernel->pointers);
    kernel->pointers = pointers;
    kernel->pointer_count = size / sizeof *pointers;
    pthread_mutex_unlock(&kernels.lock);
}

FF_HOOKED cl_int CL_API_CALL clSetKernelExecInfo(cl_kernel handle, cl_kernel_exec_info what,
                                                 size_t size, const void *value) {
    cl_int status = REAL(clSetKernelExecInfo)(handle, what, size, value);
    if (status == CL_SUCCESS && what == CL_KERNEL_EXEC_INFO_SVM_PTRS && (value || size == 0))
        set_pointers(handle, size, value);
    return status;
}

/* ---- for a launch ---- */

/* Of an allocation that is used in several places at once, no stride is known. */
static void add_operand(struct ff__kernel_uses *uses, const void *operand, bool is_strided) {
    for (size_t i = 0; i < uses->count; i++)
        if (uses->operands[i] == operand) {
            uses->strides[i] = FF_STRIDE_UNKNOWN;
            return;
        }
    if (!operand)
        return;
    uses->operands[uses->count] = operand;
    uses->strides[uses->count++] = is_strided ? FF_STRIDE_SOURCE : FF_STRIDE_UNKNOWN;
}

static uint64_t identify(const struct kernel *kernel) {
    uint64_t hash = kernel->name ? ff__hash_bytes(0, kernel->name, strlen(kernel->name) + 1) : 0;
    for (cl_uint i = 0; i < kernel->argument_count; i++)
        hash = ff__hash_word(hash ^ kernel->arguments[i].hash);
    return ff__hash_bytes(hash, kernel->pointers, kernel->pointer_count * sizeof(void *));
}

/* The caller's bytes, the operands, their strides, the name. */
static char *make_room(const struct kernel *kernel, size_t size, struct ff__kernel_uses *uses) {
    size_t most = kernel->argument_count + kernel->pointer_count;
    size_t name_size = kernel->name ? strlen(kernel->name) + 1 : 0;
    char *room = malloc(size + most * (sizeof *uses->operands + sizeof *uses->strides) + name_size);
    if (!room)
        return NULL;
    *uses = (struct ff__kernel_uses){.operands = (const void **)(void *)(room + size)};
    uses->strides = (uint8_t *)(void *)(uses->operands + most);
    if (kernel->name)
        uses->name = memcpy(uses->strides + most, kernel->name, name_size);
    return room;
}

void *ff__kernel_snapshot(cl_kernel handle, size_t size, struct ff__kernel_uses *uses) {
    struct kernel *kernel = find_locked(handle);
    if (!kernel)
        return NULL;
    char *room = make_room(kernel, size, uses);
    if (room)
        uses->identity = identify(kernel);
    for (cl_uint i = 0; room && i < kernel->argument_count; i++)
        add_operand(uses, kernel->arguments[i].operand, kernel->arguments[i].is_strided);
    for (size_t i = 0; room && i < kernel->pointer_count; i++)
        add_operand(uses, allocation_of(kernel->pointers[i]), false);
    pthread_mutex_unlock(&kernels.lock);
    return room;
}

bool ff__kernel_bringing(cl_kernel handle, uint32_t device, struct ff__ptx_extent_launch *launch,
                         struct ff__bringing *out) {
    struct kernel *kernel = find_locked(handle);
    if (!kernel)
        return false;
    struct ff__translation *translation = ff__extents_translation(kernel->extents);
    pthread_mutex_unlock(&kernels.lock);
    if (!translation)
        return false;
    ff__translation_wait(translation);
    if (!(kernel = find_locked(handle)))
        return false;
    bool found = kernel->extents && ff__extents_find(kernel->extents, device, launch, out);
    pthread_mutex_unlock(&kernels.lock);
    return found;
}
