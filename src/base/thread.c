#include "base/thread.h"

#include "base/signals.h"

#include <errno.h>
#include <stdlib.h>

struct beginning {
    void *(*run)(void *);
    void *argument;
};

static void *begin(void *argument) {
    struct beginning beginning = *(struct beginning *)argument;
    free(argument);
    ff__signals_disown();
    return beginning.run(beginning.argument);
}

int ff__thread_start(pthread_t *thread, void *(*run)(void *), void *argument, const char *name) {
    struct beginning *beginning = calloc(1, sizeof *beginning);
    sigset_t all, before;
    if (!beginning)
        return -ENOMEM;
    *beginning = (struct beginning){run, argument};
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int status = pthread_create(thread, NULL, begin, beginning);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (status)
        free(beginning);
    else
        pthread_setname_np(*thread, name);
    return -status;
}
