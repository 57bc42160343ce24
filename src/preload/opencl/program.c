/* Programs, and what their kernels' arguments are.
 *
 * Compilers keep the types of kernels' arguments only if asked to, and the types tell which
 * arguments a launch's identity depends on. Passive mode asks, too, so that what PoCL compiles and
 * keeps in its cache serves both: a first run in either mode is no slower for compiling than a
 * later one in the other. */
#include "preload/opencl/internal.h"

#include "preload/opencl/source/strides.h"

#include <stdlib.h>
#include <string.h>

#define KEEP_TYPES "-cl-kernel-arg-info"

/* The program's options and ours, which comes last even if it is among them, so that it can be
 * told apart; NULL: they are to stay as they are. The caller frees it. */
static char *with_types(const char *options) {
    options = options ? options : "";
    ff__context(); /* which may find that nothing can be managed */
    if (ff__mode() == FF__UNMANAGED)
        return NULL;
    size_t length = strlen(options);
    char *both = malloc(length + sizeof " " KEEP_TYPES);
    if (both) {
        memcpy(both, options, length);
        memcpy(both + length, " " KEEP_TYPES, sizeof " " KEEP_TYPES);
    }
    return both;
}

FF_HOOKED cl_int CL_API_CALL clBuildProgram(cl_program program, cl_uint count,
                                            const cl_device_id *devices, const char *options,
                                            void(CL_CALLBACK *notify)(cl_program, void *),
                                            void *user) {
    char *both = with_types(options);
    cl_int status =
        REAL(clBuildProgram)(program, count, devices, both ? both : options, notify, user);
    if (both && status == CL_INVALID_BUILD_OPTIONS)
        status = REAL(clBuildProgram)(program, count, devices, options, notify, user);
    free(both);
    return status;
}

FF_HOOKED cl_int CL_API_CALL clCompileProgram(cl_program program, cl_uint count,
                                              const cl_device_id *devices, const char *options,
                                              cl_uint header_count, const cl_program *headers,
                                              const char **names,
                                              void(CL_CALLBACK *notify)(cl_program, void *),
                                              void *user) {
    char *both = with_types(options);
    cl_int status = REAL(clCompileProgram)(program, count, devices, both ? both : options,
                                           header_count, headers, names, notify, user);
    if (both && status == CL_INVALID_COMPILER_OPTIONS)
        status = REAL(clCompileProgram)(program, count, devices, options, header_count, headers,
                                        names, notify, user);
    free(both);
    return status;
}

/* The options without ours, which the caller frees; NULL: ours is not among them. */
static char *without_types(cl_program program, cl_device_id device) {
    size_t size = 0, ours = strlen(KEEP_TYPES);
    if (ff__mode() == FF__UNMANAGED ||
        REAL(clGetProgramBuildInfo)(program, device, CL_PROGRAM_BUILD_OPTIONS, 0, NULL, &size) !=
            CL_SUCCESS)
        return NULL;
    char *options = calloc(1, size + 1), *end = options;
    if (options && REAL(clGetProgramBuildInfo)(program, device, CL_PROGRAM_BUILD_OPTIONS, size,
                                               options, NULL) == CL_SUCCESS)
        end += strlen(options);
    if (end < options + ours || strcmp(end - ours, KEEP_TYPES) != 0) {
        free(options);
        return NULL;
    }
    for (end -= ours; end > options && end[-1] == ' ';)
        end--;
    *end = '\0';
    return options;
}

FF_HOOKED cl_int CL_API_CALL clGetProgramBuildInfo(cl_program program, cl_device_id device,
                                                   cl_program_build_info what, size_t size,
                                                   void *value, size_t *size_out) {
    char *options = what == CL_PROGRAM_BUILD_OPTIONS ? without_types(program, device) : NULL;
    if (!options)
        return REAL(clGetProgramBuildInfo)(program, device, what, size, value, size_out);
    size_t needed = strlen(options) + 1;
    bool fits = !value || size >= needed;
    if (value && fits)
        memcpy(value, options, needed);
    if (size_out && fits)
        *size_out = needed;
    free(options);
    return fits ? CL_SUCCESS : CL_INVALID_VALUE;
}

/* ---- sources ---- */

char *ff__program_source(cl_kernel kernel, size_t *size) {
    cl_program program = NULL;
    char *source = NULL;
    *size = 0;
    if (REAL(clGetKernelInfo)(kernel, CL_KERNEL_PROGRAM, sizeof program, &program, NULL) ==
            CL_SUCCESS &&
        REAL(clGetProgramInfo)(program, CL_PROGRAM_SOURCE, 0, NULL, size) == CL_SUCCESS &&
        *size > 1)
        source = malloc(*size);
    if (source &&
        REAL(clGetProgramInfo)(program, CL_PROGRAM_SOURCE, *size, source, NULL) == CL_SUCCESS)
        return source;
    free(source);
    return NULL;
}

char *ff__program_options(cl_kernel kernel) {
    cl_program program = NULL;
    cl_device_id devices[16];
    size_t size = 0;
    if (REAL(clGetKernelInfo)(kernel, CL_KERNEL_PROGRAM, sizeof program, &program, NULL) !=
            CL_SUCCESS ||
        REAL(clGetProgramInfo)(program, CL_PROGRAM_DEVICES, sizeof devices, devices, &size) !=
            CL_SUCCESS ||
        size == 0)
        return NULL;
    char *options = without_types(program, devices[0]);
    return options ? options : strdup("");
}

void ff__program_strides(cl_kernel kernel, bool *fixed, cl_uint count) {
    size_t size;
    char *source = ff__program_source(kernel, &size), *name = ff__kernel_name(kernel);
    memset(fixed, 0, count * sizeof *fixed);
    if (source && name) /* which ends with a zero */
        ff__strides_read(source, size - 1, name, fixed, count);
    free(name);
    free(source);
}
