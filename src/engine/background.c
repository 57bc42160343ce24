#include "engine/background.h"

#include "base/clock.h"
#include "base/thread.h"

static void *run(void *self) {
    struct ff__background *background = self;
    background->work(background->argument);
    __atomic_store_n(&background->finished, true, __ATOMIC_RELEASE);
    return NULL;
}

static bool done(void *self) {
    struct ff__background *background = self;
    if (background->at_work && __atomic_load_n(&background->finished, __ATOMIC_ACQUIRE))
        ff__background_fini(background);
    return !background->at_work;
}

static bool start(void *self, void (*work)(void *argument), void *argument) {
    struct ff__background *background = self;
    if (!done(self))
        return false;
    if (background->at_once) {
        work(argument);
        return true;
    }
    background->work = work;
    background->argument = argument;
    background->finished = false;
    background->at_work = ff__thread_start(&background->thread, run, self, "ff-background") == 0;
    return background->at_work;
}

static uint64_t time_of(void *self, void (*work)(void *argument), void *argument) {
    uint64_t before = ff__clock_ns();
    (void)self;
    work(argument);
    return ff__clock_ns() - before;
}

void ff__background_init(struct ff__background *background, bool at_once) {
    *background = (struct ff__background){
        .verbs = {.self = background, .start = start, .done = done, .time = time_of},
        .at_once = at_once,
    };
}

void ff__background_fini(struct ff__background *background) {
    if (background->at_work)
        pthread_join(background->thread, NULL);
    background->at_work = false;
}
