/* Signals that are not ours. */
#include "preload/preload.h"

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

void ff__pass_signal_on(struct sigaction *action, ff__sigaction_fn *set, int number,
                        siginfo_t *info, void *ucontext) {
    static const struct sigaction by_default; /* SIG_DFL */
    const struct sigaction now = *action;
    bool sent = info->si_code <= 0; /* not met: nothing is repeated */
    if (now.sa_flags & (int)SA_RESETHAND)
        *action = by_default;
    if (now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN) {
        call_handler(&now, number, info, ucontext);
    } else if (now.sa_handler == SIG_DFL || !sent) {
        set(number, &by_default, NULL); /* the access is repeated and ends the process */
        if (sent)
            raise(number);
    }
}
