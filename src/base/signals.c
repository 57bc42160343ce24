#include "base/signals.h"

#include <pthread.h>
#include <stddef.h>

/* Handlers use it: as part of each thread from its start, it is there without an allocation. */
static _Thread_local __attribute__((tls_model("initial-exec"))) struct {
    unsigned depth; /* of holds */
    int cancel_state;
    sigset_t mask; /* without them */
} held;

void ff__signals_fill(sigset_t *set) {
    static const int own[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    sigfillset(set);
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        sigdelset(set, own[i]);
}

/* A handler may come until they are masked, with holds of its own. */
void ff__signals_hold(void) {
    sigset_t set;
    if (held.depth == 0) {
        int cancel_state;
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
        ff__signals_fill(&set);
        pthread_sigmask(SIG_BLOCK, &set, &held.mask);
        held.cancel_state = cancel_state;
    }
    held.depth++;
}

void ff__signals_release(void) {
    if (--held.depth > 0)
        return;
    int cancel_state = held.cancel_state;
    pthread_sigmask(SIG_SETMASK, &held.mask, NULL);
    pthread_setcancelstate(cancel_state, NULL);
}

void ff__signals_enter_handler(void) {
    if (held.depth++ == 0)
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &held.cancel_state);
}

void ff__signals_leave_handler(void) {
    if (--held.depth == 0)
        pthread_setcancelstate(held.cancel_state, NULL);
}

void ff__signals_disown(void) {
    held.depth++;
}
