/* What is said at exit on a GPU, whose driver has no summary of its own. */
#include "preload/cuda/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pid_t started; /* forked children have allocated nothing */

__attribute__((constructor)) static void start(void) {
    started = getpid();
}

static bool is_set(const char *variable, const char *value) {
    const char *text = getenv(variable);
    return text && strcmp(text, value) == 0;
}

__attribute__((destructor)) static void report_at_exit(void) {
    size_t most = ff__cuda_most_substituted_bytes();
    if (most && started == getpid() && is_set("FARFAULT_DEVICE", "gpu") &&
        !is_set("FARFAULT_SUMMARY", "none"))
        fprintf(stderr,
                "farfault: the GPU's driver managed at most %.1f MiB at a time that the program "
                "has allocated as device memory\n",
                (double)most / (1 << 20));
}
