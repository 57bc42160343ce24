/* The parts of farfault cuda. */
#ifndef FF_CLI_CUDA_H
#define FF_CLI_CUDA_H

/* Each gets the words behind its name and returns an exit status. */
int ff__cuda_compile(int count, char **words);

/* What there is; what a program needs of it. Return an exit status. */
int ff__cuda_show(void);
int ff__cuda_show_program(const char *program);

/* The name of a clang in PATH, or NULL. */
const char *ff__cuda_compiler(void);

#endif
