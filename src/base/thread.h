/* Threads of farfault in the user's program. */
#ifndef FF_BASE_THREAD_H
#define FF_BASE_THREAD_H

#include <pthread.h>

/* Starts a thread to which no signal comes: all stay with the application's. `name`: up to 15
 * bytes. 0 or negative errno. */
int ff__thread_start(pthread_t *thread, void *(*run)(void *), void *argument, const char *name);

#endif
