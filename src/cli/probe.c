#include "cli/probe.h"

#include "cli/cli.h"
#include "policy/registry.h"

#if FARFAULT_HAS_OPENCL
#include <CL/cl.h>
#endif
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- devices ---- */

/* What the user asked for is wrong, or this machine cannot do it. */
static int exit_status_of(int status) {
    switch (-status) {
    case EPERM:
    case ENOSYS:
    case ENOMEM:
    case ENOSPC:
    case EIO:
    case EAGAIN:
    case EMFILE:
    case EBUSY:
    case EPROTO:
    case ECONNREFUSED:
        return FF__EXIT_FAILURE;
    default:
        return FF__EXIT_USAGE;
    }
}

int ff__probe_system(const struct ff_config *config) {
    struct ff_error error;
    struct ff__system system;
    int status = config->policy_file ? ff__policy_load(config->policy_file, &error) : 0;
    if (!status)
        status = ff__system_parse(config->system, &system, &error);
    return status ? ff__complain(FF__EXIT_USAGE, "%s", error.message) : 0;
}

int ff__probe_device(const struct ff__options *options, const struct ff_config *config,
                     char description[FF__PROBE_TEXT]) {
    struct ff_error error;
    struct ff_context *context;
    int status = ff_open(config, &context, &error);
    if (status)
        return ff__options_translate(options, exit_status_of(status), error.message);
    snprintf(description, FF__PROBE_TEXT, "%s%s", ff_context_describe(context),
             config->link.bytes_per_second > 0 ? "" : ", link as fast as memory copies");
    ff_close(context);
    return 0;
}

/* ---- OpenCL ---- */

#define PLATFORMS_MAX 16
#define FEW_FILES     64 /* a runtime opens some */

#if FARFAULT_HAS_OPENCL
/* Writes the version of PoCL; false without it. */
static bool look_for_pocl(char version[FF__PROBE_TEXT]) {
    void *loader = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!loader)
        return false;
    __typeof__(&clGetPlatformIDs) get_platforms;
    __typeof__(&clGetPlatformInfo) get_info;
    *(void **)&get_platforms = dlsym(loader, "clGetPlatformIDs");
    *(void **)&get_info = dlsym(loader, "clGetPlatformInfo");
    cl_platform_id platforms[PLATFORMS_MAX];
    cl_uint count = 0;
    if (!get_platforms || !get_info || get_platforms(PLATFORMS_MAX, platforms, &count))
        return false;
    for (cl_uint i = 0; i < count && i < PLATFORMS_MAX; i++) {
        char name[FF__PROBE_TEXT] = "";
        get_info(platforms[i], CL_PLATFORM_NAME, sizeof name, name, NULL);
        if (strcmp(name, "Portable Computing Language") == 0)
            return get_info(platforms[i], CL_PLATFORM_VERSION, FF__PROBE_TEXT, version, NULL) == 0;
    }
    return false;
}
#else
static bool look_for_pocl(char version[FF__PROBE_TEXT]) {
    (void)version;
    return false;
}
#endif

/* What is to be done about it is another thing if the runtime may be there and could not be opened.
 */
static int complain_opencl(void) {
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < FEW_FILES)
        return ff__complain(FF__EXIT_FAILURE,
                            "cannot look for an OpenCL runtime with at most %llu open files; allow "
                            "more, as with ulimit -n 1024",
                            (unsigned long long)files.rlim_cur);
    return ff__complain(FF__EXIT_FAILURE,
                        "there is no OpenCL runtime with a PoCL platform on this machine; install "
                        "the package pocl-opencl-icd");
}

/* In a child, because a runtime is much code of others: it may crash, and would stay loaded. */
int ff__probe_opencl(char version[FF__PROBE_TEXT]) {
    int ends[2];
    version[0] = '\0';
    if (pipe2(ends, O_CLOEXEC))
        return ff__complain(FF__EXIT_FAILURE, "cannot make a pipe: %s", strerror(errno));
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        char found[FF__PROBE_TEXT] = "";
        bool good = look_for_pocl(found) && write(ends[1], found, sizeof found) > 0;
        _exit(good ? 0 : 1);
    }
    close(ends[1]);
    int wait_status = 1;
    if (pid > 0) {
        if (read(ends[0], version, FF__PROBE_TEXT) < 0)
            version[0] = '\0';
        while (waitpid(pid, &wait_status, 0) < 0 && errno == EINTR)
            continue;
    }
    close(ends[0]);
    version[FF__PROBE_TEXT - 1] = '\0';
    return pid > 0 && wait_status == 0 ? 0 : complain_opencl();
}
