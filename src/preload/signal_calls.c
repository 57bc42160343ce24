/* The program's own calls about SIGBUS, where that is how faults are told, of all managed memory or
 * of what kernels alone use (handler=sigbus, and handler=kernels, the default): a
 * handler of the program's gets those that are not farfault's, and SIGBUS is never blocked,
 * because the kernel ends a process that faults with it blocked. */
#include "preload/preload.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define REAL_CALL(name) ((__typeof__(name) *)real_call(&real_##name, #name))

static void *real_sigaction, *real_signal, *real_sigprocmask, *real_pthread_sigmask;
static bool told_by_sigbus;
static bool taken;                /* the library has a handler, in front of ours */
static struct sigaction programs; /* what the program has set for SIGBUS */

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

/* With what it wants masked meanwhile. */
static void call_handler(const struct sigaction *action, int number, siginfo_t *info,
                         void *ucontext) {
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, &action->sa_mask, &before);
    if (action->sa_flags & SA_SIGINFO)
        action->sa_sigaction(number, info, ucontext);
    else
        action->sa_handler(number);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void ff__pass_signal_on(struct sigaction *action, int number, siginfo_t *info, void *ucontext) {
    static const struct sigaction by_default; /* SIG_DFL */
    const struct sigaction now = *action;
    bool sent = info->si_code <= 0; /* not met: nothing is repeated */
    if (now.sa_flags & (int)SA_RESETHAND)
        *action = by_default;
    if (now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN) {
        call_handler(&now, number, info, ucontext);
    } else if (now.sa_handler == SIG_DFL || !sent) {
        REAL_CALL(sigaction)
        (number, &by_default, NULL); /* the access is repeated and ends the process */
        if (sent)
            raise(number);
    }
}

static void on_other_sigbus(int number, siginfo_t *info, void *ucontext) {
    ff__pass_signal_on(&programs, number, info, ucontext);
}

void ff__sigbus_prepare(void) {
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART | SA_ONSTACK};
    action.sa_sigaction = on_other_sigbus;
    if (told_by_sigbus)
        REAL_CALL(sigaction)(SIGBUS, &action, &programs);
}

void ff__sigbus_prepared(bool opened) {
    if (told_by_sigbus && !opened)
        REAL_CALL(sigaction)(SIGBUS, &programs, NULL);
    taken = told_by_sigbus && opened;
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
    if (number != SIGBUS || !taken)
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
    if (number != SIGBUS || !taken)
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
