#include "study/find.h"

#include "backend/sim/machine/gpu.h"
#include "report/complain.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PRELOAD      "libfarfault-opencl.so"
#define CUDA_PRELOAD "libfarfault-cuda.so"
#define CUDA_DRIVER  "cuda/libcuda.so.1"

/* The folder this executable is in. */
static int own_folder(char out[PATH_MAX]) {
    ssize_t length = readlink("/proc/self/exe", out, PATH_MAX - 1);
    if (length < 0)
        return ff__complain(FF__EXIT_FAILURE, "cannot tell where farfault is: /proc/self/exe: %s",
                            strerror(errno));
    out[length] = '\0';
    char *slash = strrchr(out, '/');
    if (slash)
        *slash = '\0';
    return 0;
}

/* Whether one of `places` below the folder has `name`: the first. */
static bool look(const char *folder, const char *const places[], const char *name,
                 char out[PATH_MAX]) {
    for (unsigned i = 0; places[i]; i++) {
        int length = snprintf(out, PATH_MAX, "%s/%s%s", folder, places[i], name);
        if (length < PATH_MAX && access(out, R_OK) == 0)
            return true;
    }
    return false;
}

static int find(const char *what, const char *const places[], const char *name,
                char out[PATH_MAX]) {
    char folder[PATH_MAX];
    int status = own_folder(folder);
    if (status || look(folder, places, name, out))
        return status;
    return ff__complain(FF__EXIT_FAILURE,
                        "%s %s is neither beside farfault in %s nor where an installation has it; "
                        "build or install all of farfault",
                        what, name, folder);
}

static const char *const libraries[] = {"", FARFAULT_LIBRARY_FOLDER, NULL};

/* Behind OpenCL's, if there is one and both have room. */
static void add_cuda(char out[PATH_MAX]) {
    char folder[PATH_MAX], found[PATH_MAX];
    size_t used = strlen(out);
    if (own_folder(folder) == 0 && look(folder, libraries, CUDA_PRELOAD, found) &&
        used + 1 + strlen(found) < PATH_MAX) {
        out[used] = ':';
        strcpy(out + used + 1, found);
    }
}

bool ff__find_cuda(char out[PATH_MAX]) {
    char folder[PATH_MAX];
    if (own_folder(folder) != 0 || !look(folder, libraries, CUDA_DRIVER, out))
        return false;
    *strrchr(out, '/') = '\0';
    return true;
}

bool ff__find_gpu_driver(char out[PATH_MAX]) {
    char ours[PATH_MAX], path[PATH_MAX];
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    void *function = driver ? dlsym(driver, "cuInit") : NULL;
    Dl_info info;
    bool found = function && dladdr(function, &info) && realpath(info.dli_fname, out);
    if (driver)
        dlclose(driver);
    return found && !(own_folder(path) == 0 && look(path, libraries, CUDA_DRIVER, path) &&
                      realpath(path, ours) && strcmp(out, ours) == 0);
}

static int check_preload(const char *path) {
    if (!strpbrk(path, " :"))
        return 0;
    return ff__complain(FF__EXIT_FAILURE,
                        "the path %s has a space or a colon, which LD_PRELOAD cannot have; move "
                        "farfault to another folder",
                        path);
}

int ff__find_cuda_preload(char out[PATH_MAX]) {
    int status = find("the library", libraries, CUDA_PRELOAD, out);
    return status ? status : check_preload(out);
}

int ff__find_preload(char out[PATH_MAX]) {
    if (!FARFAULT_HAS_OPENCL)
        return ff__complain(FF__EXIT_FAILURE,
                            "this farfault is built without OpenCL, and runs no programs; build it "
                            "where the headers and the loader of OpenCL are installed");
    int status = find("the library", libraries, PRELOAD, out);
    if (!status)
        status = check_preload(out);
    if (!status)
        add_cuda(out);
    return status;
}

int ff__find_data(const char *name, char out[PATH_MAX]) {
    static const char *const places[] = {"data/", FARFAULT_DATA_FOLDER, NULL};
    return find("the data", places, name, out);
}

int ff__find_gpu(const char *spec, int status, struct ff__gpu *out) {
    char folder[PATH_MAX];
    struct ff_error error;
    int failed = ff__find_data("gpus", folder);
    if (!failed && ff__gpu_read_spec(spec, folder, out, &error))
        failed = ff__complain(status, "%s", error.message);
    return failed;
}

int ff__find_mpi(char out[PATH_MAX]) {
    if (!FARFAULT_HAS_MPI)
        return ff__complain(FF__EXIT_FAILURE,
                            "this farfault is built without MPI, and cannot share its runs among "
                            "ranks; without it: --part K/N");
    return find("the program", libraries, "farfault-mpi", out);
}

int ff__find_program(const char *name, char out[PATH_MAX]) {
    static const char *const places[] = {"programs/", FARFAULT_LIBRARY_FOLDER "programs/", NULL};
    return find("the bundled program", places, name, out);
}
