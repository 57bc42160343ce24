/* farfault cuda: what there is for CUDA programs, and what one of them needs and lacks. */
#include "cli/cuda.h"

#include "cli/cli.h"
#include "cli/needs.h"
#include "study/find.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The names of shared libraries in our folder, in order. */
static int is_library(const struct dirent *entry) {
    return strstr(entry->d_name, ".so.") != NULL;
}

static void show_ours(const char *folder) {
    struct dirent **names;
    int count = scandir(folder, &names, is_library, alphasort);
    for (int i = 0; i < count; i++) {
        printf("%-10s %s\n", i == 0 ? "libraries" : "", names[i]->d_name);
        free(names[i]);
    }
    if (count >= 0)
        free(names);
    printf("%-10s %s\n", "in", folder);
}

static void show_gpu_driver(void) {
    char path[PATH_MAX];
    printf("%-10s %s\n", "GPU driver", ff__find_gpu_driver(path) ? path : "none");
}

static void show_compilers(void) {
    const char *cc = getenv("FARFAULT_CC");
    const char *clang = ff__cuda_compiler();
    printf("%-10s %s\n", "clang", clang ? clang : "none: farfault cuda compile needs one");
    printf("%-10s %s\n", "C compiler", cc && *cc ? cc : "cc");
}

int ff__cuda_show(void) {
    char folder[PATH_MAX];
    if (!ff__find_cuda(folder))
        return ff__complain(FF__EXIT_FAILURE, "libcuda.so.1 is neither beside farfault nor where "
                                              "an installation has it");
    show_ours(folder);
    show_gpu_driver();
    show_compilers();
    return 0;
}

/* ---- a program ---- */

/* Whether the program would find it: ours, or one of the system's. */
static const char *where_is(const char *folder, const char *library) {
    char path[2 * PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, library);
    if (access(path, R_OK) == 0)
        return "farfault's";
    void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    if (handle)
        dlclose(handle);
    return handle ? "the system's" : "MISSING";
}

static void show_libraries(const struct ff__needs *needs, const char *folder) {
    for (unsigned i = 0; i < needs->count; i++)
        printf("%-24s %s\n", needs->libraries[i], where_is(folder, needs->libraries[i]));
}

int ff__cuda_show_program(const char *program) {
    struct ff__needs needs;
    char folder[PATH_MAX] = "";
    ff__find_cuda(folder);
    int status = 0;
    if (!ff__needs_read(program, &needs))
        status = ff__complain(FF__EXIT_FAILURE, "%s: no such file, or it cannot be read", program);
    else
        show_libraries(&needs, folder);
    if (status == 0 && ff__needs_private_driver(&needs))
        printf("NVIDIA's run time is linked in, which runs on NVIDIA's driver alone: build it with "
               "nvcc -cudart shared\n");
    else if (status == 0 && needs.has_device_code)
        printf("It has device code: farfault ptx %s\n", program);
    ff__needs_free(&needs);
    return status;
}
