/* The program's own calls about SIGBUS, where that is how faults are told, of all managed memory or
 * of what kernels alone use (handler=sigbus, and handler=kernels, the default): a
 * handler of the program's gets those that are not farfault's, and SIGBUS is never blocked,
 * because the kernel ends a process that faults with it blocked. */
#include "preload/preload.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define REAL_CALL(name) ((__typeof__(name) *)real_call(&real_##name, #name))

static void *real_sigaction, *real_signal, *real_sigprocmask, *real_pthread_sigmask;
static bool told_by_sigbus;
static bool taken;                /* our handler is there, behind those of contexts; atomic */
static struct sigaction programs; /* what the program has set for SIGBUS */
/* The calling thread's calls are those of a context, not of the program. */
static _Thread_local __attribute__((tls_model("initial-exec"))) bool opening;

/* Looked up once: these may be called by handlers. A library that comes behind the C library, as a
 * dependency of another, is the last that has these. */
static void *real_call(void **call, const char *name) {
    if (!*call)
        *call = dlsym(RTLD_NEXT, name);
    if (!*call)
        *call = dlsym(RTLD_DEFAULT, name);
    return *call;
}

__attribute__((constructor)) static void look(void) {
    const char *handler = getenv("FARFAULT_HANDLER");
    told_by_sigbus =
        !handler || strcasecmp(handler, "kernels") == 0 || strcasecmp(handler, "sigbus") == 0;
    real_call(&real_sigaction, "sigaction");
    real_call(&real_signal, "signal");
    real_call(&real_sigprocmask, "sigprocmask");
    real_call(&real_pthread_sigmask, "pthread_sigmask");
}

/* ---- what the program has set ---- */

static void on_other_sigbus(int number, siginfo_t *info, void *ucontext) {
    ff__pass_signal_on(&programs, REAL_CALL(sigaction), number, info, ucontext);
}

/* It stays after a failure, too: then everything is the program's. */
FF_HOOKED void farfault_sigbus_opens(bool is_opening) {
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART | SA_ONSTACK};
    action.sa_sigaction = on_other_sigbus;
    if (told_by_sigbus && !__atomic_exchange_n(&taken, true, __ATOMIC_RELAXED))
        REAL_CALL(sigaction)(SIGBUS, &action, &programs);
    opening = is_opening;
}

/* Whether a call is about the program's handler for SIGBUS, which is behind ours. */
static bool is_behind(int number) {
    return number == SIGBUS && __atomic_load_n(&taken, __ATOMIC_RELAXED) && !opening;
}

/* ---- its calls ---- */

static sigset_t without_sigbus(const sigset_t *set) {
    sigset_t rest = *set;
    sigdelset(&rest, SIGBUS);
    return rest;
}

FF_HOOKED int sigaction(int number, const struct sigaction *action, struct sigaction *before) {
    struct sigaction changed;
    if (told_by_sigbus && action) {
        changed = *action;
        changed.sa_mask = without_sigbus(&action->sa_mask);
        action = &changed;
    }
    if (!is_behind(number))
        return REAL_CALL(sigaction)(number, action, before);
    const struct sigaction last = programs;
    if (action)
        programs = *action;
    if (before)
        *before = last;
    return 0;
}

FF_HOOKED sighandler_t signal(int number, sighandler_t handler) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, before;
    if (!is_behind(number))
        return REAL_CALL(signal)(number, handler);
    sigaction(number, &action, &before);
    return before.sa_handler;
}

FF_HOOKED int sigprocmask(int how, const sigset_t *set, sigset_t *before) {
    sigset_t rest;
    if (told_by_sigbus && set && how != SIG_UNBLOCK) {
        rest = without_sigbus(set);
        set = &rest;
    }
    return REAL_CALL(sigprocmask)(how, set, before);
}

FF_HOOKED int pthread_sigmask(int how, const sigset_t *set, sigset_t *before) {
    sigset_t rest;
    if (told_by_sigbus && set && how != SIG_UNBLOCK) {
        rest = without_sigbus(set);
        set = &rest;
    }
    return REAL_CALL(pthread_sigmask)(how, set, before);
}
