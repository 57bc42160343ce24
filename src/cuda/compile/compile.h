/* Compiling CUDA C++ with clang, as nvcc would be told to. */
#ifndef FF_CUDA_COMPILE_H
#define FF_CUDA_COMPILE_H

#include <stdbool.h>

/* farfault cuda compile, with the words behind that. Returns an exit status. */
int ff__cuda_compile(int count, char **words);

/* The name of a clang in PATH, or NULL. */
const char *ff__cuda_compiler(void);

/* The value of an option that is `name` and then the next word, which it takes, or behind a '=';
 * NULL: it is another option. */
const char *ff__cuda_value_of(const char *name, int count, char **words, int *at);

/* What a word of nvcc's is about, with its value, if it has one, the next word included. */
enum ff__nvcc_kind {
    FF__NVCC_NONE, /* it is none of nvcc's */
    FF__NVCC_ARCH,
    FF__NVCC_PTX,
    FF__NVCC_FOR_HOST,    /* options for the host's compiler, between commas */
    FF__NVCC_RELOCATABLE, /* device code of several files is to be linked */
    FF__NVCC_NOTHING      /* it changes nothing here */
};
enum ff__nvcc_kind ff__nvcc_read(int count, char **words, int *at, const char **value);

/* The number of sm_NUMBER, compute_NUMBER, or arch=compute_NUMBER,code=...; 0: it is none. */
unsigned ff__nvcc_arch(const char *value);

#endif
