/* Where the things are that belong to this farfault: beside it in a build tree, or where the
 * installation puts them. Nothing is looked for by absolute path, so both can be moved. */
#ifndef FF_STUDY_FIND_H
#define FF_STUDY_FIND_H

#include <limits.h>
#include <stdbool.h>

struct ff__gpu;

/* The folder of our CUDA driver and what belongs to it. False: it was not built. */
bool ff__find_cuda(char out[PATH_MAX]);

/* The CUDA driver of a GPU, as a program would find it: none of ours. False: there is none. */
bool ff__find_gpu_driver(char out[PATH_MAX]);

/* Each returns 0 or, with one line on stderr, an exit status. The preloads, as LD_PRELOAD has them:
 * OpenCL's, and CUDA's if it was built; CUDA's alone. */
int ff__find_preload(char out[PATH_MAX]);
int ff__find_cuda_preload(char out[PATH_MAX]);
int ff__find_mpi(char out[PATH_MAX]); /* the program farfault-mpi */
int ff__find_program(const char *name, char out[PATH_MAX]);
int ff__find_data(const char *name, char out[PATH_MAX]); /* a file or folder of data/ */

/* Reads a device preset (backend/sim/machine/gpu.h): of data/gpus, or a file of the user's, with or
 * without other values (NAME:MEMBER=VALUE). `status` is the exit status where the name is unknown
 * or the preset is not valid. */
int ff__find_gpu(const char *spec, int status, struct ff__gpu *out);

#endif
