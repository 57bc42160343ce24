/* Carrying out jobs: the backend's verbs, with the lock given up, and what to do when they fail. */
#include "engine/pipeline.h"

#include "base/clock.h"

#include <errno.h>
#include <string.h>

#define RETRY_NS  1000000u /* between tries of a move that failed */
#define TRIES_MAX 10u      /* of a move that nobody waits for, or that another may replace */

/* Whether what failed may succeed later, and is worth it. Then some time has passed. */
static bool is_worth_another(struct ff__pipeline *pipeline, const char *what, int status,
                             uint32_t tries, bool must) {
    bool transient = status == -EAGAIN || status == -ENOMEM;
    if (status == -EBADF)
        __atomic_store_n(&pipeline->lost_descriptors, true, __ATOMIC_RELAXED);
    if (!transient || (!must && tries >= TRIES_MAX) ||
        __atomic_load_n(&pipeline->stop, __ATOMIC_RELAXED))
        return false;
    if (tries == 0 && status == -ENOMEM)
        ff__log_line(&pipeline->log, FF_LOG_WARNING, "%s failed (%s), trying again", what,
                     strerror(-status));
    ff__clock_sleep(RETRY_NS);
    return true;
}

static void tell(struct ff__pipeline *pipeline, const struct ff__move *move,
                 const struct ff_mask *pages, bool arrive) {
    const struct ff__observer *observer = &pipeline->observer;
    if (observer->moves && !ff_mask_empty(pages))
        observer->moves(observer->user, move, pages, arrive);
}

static int send_out(struct ff__pipeline *pipeline, const struct ff__move *move,
                    struct ff_mask *stayed, struct ff_mask *copied) {
    tell(pipeline, move, &move->pages, false);
    int status = pipeline->backend->out(pipeline->self, move, stayed, copied);
    tell(pipeline, move, stayed, true);
    return status;
}

static int bring_in(struct ff__pipeline *pipeline, const struct ff__move *move,
                    struct ff_mask *missed) {
    tell(pipeline, move, &move->pages, true);
    int status = pipeline->backend->in(pipeline->self, move, missed);
    tell(pipeline, move, missed, false);
    return status;
}

/* Sends away what can leave. Another victim may go instead, unless the range is freed. */
static void carry_out_of_device(struct ff__pipeline *pipeline, struct ff__job *job,
                                uint32_t index) {
    struct ff__move rest = job->out[index];
    struct ff_mask copied;
    int status;
    ff_mask_clear(&job->copied[index]);
    for (uint32_t tries = 0;; tries++) {
        status = send_out(pipeline, &rest, &job->stayed[index], &copied);
        job->copied[index] = ff_mask_or(&job->copied[index], &copied);
        rest.pages = job->stayed[index];
        rest.held = ff_mask_and(&rest.held, &rest.pages);
        if (ff_mask_empty(&rest.pages) ||
            !is_worth_another(pipeline, "eviction", status, tries, rest.freed))
            return;
    }
}

/* A fault must be answered; advice need not be followed. */
static void carry_in(struct ff__pipeline *pipeline, struct ff__job *job) {
    struct ff__move rest = job->in;
    bool must = !ff_mask_empty(&job->faulted);
    for (uint32_t tries = 0;; tries++) {
        job->failure = bring_in(pipeline, &rest, &job->missed);
        rest.whole = rest.whole && ff_mask_equal(&rest.pages, &job->missed);
        rest.pages = job->missed;
        rest.held = ff_mask_and(&rest.held, &rest.pages);
        if (ff_mask_empty(&rest.pages) ||
            !is_worth_another(pipeline, "migration to the device", job->failure, tries, must))
            return;
    }
}

static void carry_all(struct ff__pipeline *pipeline, struct ff__job *job) {
    bool all_left = true;
    for (uint32_t i = 0; i < job->out_count; i++) {
        carry_out_of_device(pipeline, job, i);
        all_left = all_left && ff_mask_empty(&job->stayed[i]);
    }
    if (!job->has_in)
        return;
    if (all_left)
        carry_in(pipeline, job);
    else /* the memory is not there */
        job->missed = job->in.pages;
}

struct errand {
    struct ff__pipeline *pipeline;
    struct ff__job *job;
};

static void carry_for_another(void *argument) {
    struct errand *it = argument;
    carry_all(it->pipeline, it->job);
}

/* A thread of the program that serves itself does so with descriptors that the program can close; then
 * it leaves that to the migration thread, which has its own. */
void ff__pipeline_carry_out(struct ff__pipeline *pipeline, struct ff__job *job) {
    struct errand errand = {pipeline, job};
    if (__atomic_load_n(&pipeline->lost_descriptors, __ATOMIC_RELAXED) &&
        !ff__pipeline_is_inside(pipeline))
        ff__pipeline_call(pipeline, carry_for_another, &errand);
    else
        carry_all(pipeline, job);
}
