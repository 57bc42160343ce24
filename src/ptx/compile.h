/* Compilers: the system's for C, which makes shared objects of translated modules, and clang.
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
    const char *const *flags; /* behind "-o FILE", to the first NULL; from the finder, or ours */
    char *temporary;          /* folder for what it writes */
    char **environment;       /* the program's, but for LD_PRELOAD and FARFAULT_* */
    /* Guards the process that runs the compiler, 0: none, until it is waited for. */
    pthread_mutex_t lock;
    pid_t process;
    bool stop; /* atomic */
};

/* `cc`, or what FARFAULT_CC names, in PATH. -ENOEXEC: there is none; -ENOMEM. What the environment
 * says is read here and not later; its texts are not copied. */
int ff__ptx_compiler_find(struct ff__ptx_compiler *compiler, struct ff_error *error);
/* The name of a clang in PATH, or NULL. */
const char *ff__ptx_clang(void);

/* That clang; the caller sets its flags. -ENOEXEC: there is none; -ENOMEM. */
int ff__ptx_clang_find(struct ff__ptx_compiler *compiler, struct ff_error *error);
void ff__ptx_compiler_free(struct ff__ptx_compiler *compiler);

/* Adds to a digest what the compiler is. */
void ff__ptx_compiler_identify(const struct ff__ptx_compiler *compiler,
                               struct ff__ptx_digest *digest);
/* Adds how compilers are called, and the processor they compile for. */
void ff__ptx_compiler_add_target(struct ff__ptx_digest *digest);

/* Compiles a text, for which the flags name standard input. All signals are blocked in the calling
 * thread, which is one of farfault. A copy (object.h) of what it made, which is the caller's to
 * close; -ENOEXEC: the compiler failed, and the message has what it said; -ECANCELED: stopped; or
 * another negative errno. */
int ff__ptx_compile(struct ff__ptx_compiler *compiler, const char *text, size_t size,
                    struct ff_error *error);

/* Ends a compilation that runs in another thread, or any later one. */
void ff__ptx_compile_stop(struct ff__ptx_compiler *compiler);

#endif
