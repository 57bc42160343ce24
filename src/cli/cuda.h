/* The parts of farfault cuda. */
#ifndef FF_CLI_CUDA_H
#define FF_CLI_CUDA_H

/* Each gets the words behind its name and returns an exit status. */
int ff__cuda_compile(int count, char **words);

#endif
