/* The long work of one instance of a policy, on a thread of its own: struct ff_background. */
#ifndef FF_ENGINE_BACKGROUND_H
#define FF_ENGINE_BACKGROUND_H

#include <farfault/policy.h>
#include <pthread.h>

struct ff__background {
    struct ff_background verbs;
    bool at_once; /* time is modelled */
    bool at_work, finished;
    pthread_t thread; /* while at work */
    void (*work)(void *argument);
    void *argument;
};

void ff__background_init(struct ff__background *background, bool at_once);

/* Waits until what it does is done. */
void ff__background_fini(struct ff__background *background);

#endif
