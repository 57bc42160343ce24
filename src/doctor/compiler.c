/* The C compiler that kernels in PTX are translated for. */
#include "doctor/doctor.h"

#include "ptx/compile.h"
#include "report/text.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

/* Headers of the C library, too, and the mathematics that kernels call. */
static const char trial[] = "#include <math.h>\n"
                            "double trial(double x) { return fma(x, x, exp(x)); }\n";

/* In a thread without signals, as it must be. */
static int compile(struct ff__ptx_compiler *compiler, struct ff_error *error) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int object = ff__ptx_compile(compiler, trial, strlen(trial), error);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (object >= 0)
        close(object);
    return object < 0 ? object : 0;
}

void ff__doctor_compiler(struct ff__checks *checks) {
    static const char name[] = "C compiler";
    struct ff__ptx_compiler compiler;
    struct ff_error error;
    if (ff__ptx_compiler_find(&compiler, &error)) {
        ff__checks_message(checks, name, FF__HEALTH_MISSING, error.message);
        return;
    }
    if (compile(&compiler, &error))
        ff__checks_add(checks, name, FF__HEALTH_MISSING,
                       ff__text("%s does not compile: %s", compiler.path, error.message),
                       ff__text("apt install gcc libc6-dev, or name another with FARFAULT_CC"));
    else
        ff__checks_add(checks, name, FF__HEALTH_GOOD,
                       ff__text("%s compiles, for kernels in PTX", compiler.path), NULL);
    ff__ptx_compiler_free(&compiler);
}
