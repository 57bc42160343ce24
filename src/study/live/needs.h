/* What a program or library needs of the system: which interface it is written for. */
#ifndef FF_STUDY_LIVE_NEEDS_H
#define FF_STUDY_LIVE_NEEDS_H

#include "report/file.h"

#include <stdbool.h>

struct ff__needs {
    struct ff__file file;
    const char **libraries; /* DT_NEEDED, in the file's bytes */
    unsigned count;
    bool has_device_code; /* CUDA's fat binaries */
};

/* Reads the file, a path or a name in PATH. A file that is no ELF file, such as a script, needs
 * nothing that is known here. False: it cannot be read. To be freed in both cases. */
bool ff__needs_read(const char *program, struct ff__needs *out);
void ff__needs_free(struct ff__needs *needs);

/* CUDA and not OpenCL. The second: of a program's file, which need not be one. */
bool ff__needs_only_cuda(const struct ff__needs *needs);
bool ff__program_needs_only_cuda(const char *program);
/* CUDA code, and no shared run time: the static one is linked in, which asks for private functions
 * of NVIDIA's driver. */
bool ff__needs_private_driver(const struct ff__needs *needs);

#endif
