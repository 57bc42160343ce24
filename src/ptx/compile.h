/* The system's C compiler, which makes shared objects of translated modules.
 *
 * The program does not see that it runs: there is no SIGCHLD, and no wait() returns it. It ends
 * with the program. */
#ifndef FF_PTX_COMPILE_H
#define FF_PTX_COMPILE_H

#include "ptx/digest.h"
#include <farfault/farfault.h>
#include <pthread.h>
#include <sys/types.h>

struct ff__ptx_compiler {
    char *path;
    char *temporary;    /* folder for what it writes */
    char **environment; /* the program's, but for LD_PRELOAD and FARFAULT_* */
    /* Guards the process that runs the compiler, 0: none, until it is waited for. */
    pthread_mutex_t lock;
    pid_t process;
    bool stop; /* atomic */
};

/* `cc`, or what FARFAULT_CC names, in PATH. -ENOEXEC: there is none; -ENOMEM. What the environment
 * says is read here and not later; its texts are not copied. */
int ff__ptx_compiler_find(struct ff__ptx_compiler *compiler, struct ff_error *error);
void ff__ptx_compiler_free(struct ff__ptx_compiler *compiler);

/* Adds to a digest what the compiler is. */
void ff__ptx_compiler_identify(const struct ff__ptx_compiler *compiler,
                               struct ff__ptx_digest *digest);
/* Adds how compilers are called, and the processor they compile for. */
void ff__ptx_compiler_add_target(struct ff__ptx_digest *digest);

/* Compiles a text. All signals are blocked in the calling thread, which is one of farfault. A copy
 * (object.h), which is the caller's to close; -ENOEXEC: the compiler failed, and the message has
 * what it said; -ECANCELED: stopped; or another negative errno. */
int ff__ptx_compile(struct ff__ptx_compiler *compiler, const char *text, size_t size,
                    struct ff_error *error);

/* Ends a compilation that runs in another thread, or any later one. */
void ff__ptx_compile_stop(struct ff__ptx_compiler *compiler);

#endif
