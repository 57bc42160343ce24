#include "base/thread.h"

#include <signal.h>

int ff__thread_start(pthread_t *thread, void *(*run)(void *), void *argument, const char *name) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int status = pthread_create(thread, NULL, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (status == 0)
        pthread_setname_np(*thread, name);
    return -status;
}
