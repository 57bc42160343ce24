/* Programs: compilers keep the types of kernels' arguments only if asked to, and the types tell which
 * arguments a launch's identity depends on. Passive mode asks, too, so that what PoCL compiles and keeps in its cache
 * serves both: a first run in either mode is no slower for compiling than a later one in the other. */
#include "opencl_internal.h"

#include <stdlib.h>
#include <string.h>

#define KEEP_TYPES "-cl-kernel-arg-info"

/* The program's options and ours; NULL: they are to stay as they are. The caller frees it. */
static char *with_types(const char *options) {
    options = options ? options : "";
    if ((!ff__context() && ff__mode() != FF__PASSIVE) || strstr(options, KEEP_TYPES))
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
