#include "study/jobs/pool.h"

#include "report/complain.h"
#include "report/progress.h"
#include "report/text.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct ff__jobs {
    const struct ff__job_pool *pool;
    pthread_mutex_t lock;
    pthread_cond_t change;
    unsigned begun, ended;
    bool *done; /* [job] */
};

void ff__pool_help(struct ff__jobs *state, bool (*job)(void *helper, unsigned index),
                   void *helper) {
    bool more = true;
    pthread_mutex_lock(&state->lock);
    while (more && state->begun < state->pool->count) {
        unsigned index = state->begun++;
        pthread_cond_signal(&state->change);
        pthread_mutex_unlock(&state->lock);
        more = job(helper, index);
        pthread_mutex_lock(&state->lock);
        state->done[index] = true;
        state->ended++;
        pthread_cond_signal(&state->change);
    }
    pthread_mutex_unlock(&state->lock);
}

static bool do_job(void *state, unsigned index) {
    const struct ff__job_pool *pool = ((struct ff__jobs *)state)->pool;
    pool->job(pool->self, index);
    return true;
}

static void *work(void *state) {
    ff__pool_help(state, do_job, state);
    return NULL;
}

static void show(const struct ff__job_pool *pool, const struct ff__progress *progress,
                 unsigned index) {
    char *name = pool->name(pool->self, index);
    ff__progress_show(progress, "%s", name);
    free(name);
}

static void hand_over(const struct ff__job_pool *pool, const struct ff__progress *progress,
                      unsigned index) {
    ff__progress_hide(progress);
    if (pool->done)
        pool->done(pool->self, index);
}

/* Hands over what is next in order; callbacks run without the lock. */
static void follow(struct ff__jobs *state) {
    unsigned next = 0;
    const struct ff__job_pool *pool = state->pool;
    struct ff__progress progress;
    ff__progress_start(&progress, pool->count);
    pthread_mutex_lock(&state->lock);
    while (next < pool->count) {
        unsigned begun = state->begun;
        progress.done = state->ended;
        bool ready = state->done[next];
        if (!ready && begun > 0) {
            pthread_mutex_unlock(&state->lock);
            show(pool, &progress, begun - 1);
            pthread_mutex_lock(&state->lock);
        }
        while (!state->done[next] && state->ended == progress.done && state->begun == begun)
            pthread_cond_wait(&state->change, &state->lock);
        if (!state->done[next])
            continue;
        pthread_mutex_unlock(&state->lock);
        hand_over(pool, &progress, next++);
        pthread_mutex_lock(&state->lock);
    }
    pthread_mutex_unlock(&state->lock);
}

/* One after the other, on this thread: what a job does with signals and children is the process's.
 */
static int run_here(const struct ff__job_pool *pool) {
    struct ff__progress progress;
    ff__progress_start(&progress, pool->count);
    for (unsigned i = 0; i < pool->count; i++) {
        progress.done = i;
        show(pool, &progress, i);
        pool->job(pool->self, i);
        hand_over(pool, &progress, i);
    }
    return 0;
}

int ff__pool_run(const struct ff__job_pool *pool) {
    if (pool->threads == 1 && !pool->begin)
        return run_here(pool);
    struct ff__jobs state = {
        .pool = pool,
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .change = PTHREAD_COND_INITIALIZER,
        .done = ff__must(calloc(pool->count + 1, sizeof(bool))),
    };
    unsigned wanted = pool->threads < pool->count ? pool->threads : pool->count, started = 0;
    pthread_t *threads = ff__must(calloc(wanted + 1, sizeof *threads));
    int status = 0;
    while (started < wanted && !status) {
        status = pthread_create(&threads[started], NULL, work, &state);
        started += status == 0;
    }
    if (started > 0 || wanted == 0) {
        status = 0; /* fewer threads do the same work */
        if (pool->begin)
            pool->begin(pool->self, &state);
        follow(&state);
        if (pool->end)
            pool->end(pool->self);
    }
    for (unsigned i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    free(state.done);
    return status ? ff__complain(FF__EXIT_FAILURE, "cannot start a thread: %s", strerror(status))
                  : 0;
}

unsigned ff__pool_threads(void) {
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return count > 0 ? (unsigned)count : 1;
}
