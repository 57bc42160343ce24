#include "base/file_limit.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

static void do_nothing(int number) {
    (void)number;
}

/* A handler, which exec() takes away; an ignored signal would stay ignored. */
void ff__file_limit_is_error(void) {
    struct sigaction action, before;
    memset(&action, 0, sizeof action);
    action.sa_handler = do_nothing;
    action.sa_flags = SA_RESTART;
    if (sigaction(SIGXFSZ, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(SIGXFSZ, &action, NULL);
}

static sigset_t the_signal(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    return set;
}

void ff__file_limit_hold(struct ff__file_limit *held) {
    sigset_t set = the_signal(), pending;
    sigpending(&pending);
    held->was_pending = sigismember(&pending, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &set, &held->before);
}

/* What has come meanwhile is ours. */
void ff__file_limit_release(const struct ff__file_limit *held) {
    const struct timespec at_once = {0, 0};
    sigset_t set = the_signal();
    int saved_errno = errno;
    if (!held->was_pending)
        while (sigtimedwait(&set, NULL, &at_once) < 0 && errno == EINTR)
            ;
    pthread_sigmask(SIG_SETMASK, &held->before, NULL);
    errno = saved_errno;
}
