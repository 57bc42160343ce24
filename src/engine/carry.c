/* Carrying out jobs: their moves are submitted to the backend, with the lock given up, and once
 * more if they fail. */
#include "engine/pipeline_internal.h"

#include "base/clock.h"
#include "base/signals.h"

#include <errno.h>
#include <string.h>

#define RETRY_NS  1000000u /* between tries of a move that failed */
#define TRIES_MAX 10u      /* of a move that nobody waits for, or that another may replace */

/* ---- the observer ---- */

/* Guests come and go unseen: no device uses them. So do mappings: nothing moves. */
static void tell(struct ff__pipeline *pipeline, const struct ff__move *move, bool arrive) {
    const struct ff__observer *observer = &pipeline->observer;
    if (observer->moves && !move->guest && !move->mapped && !ff_mask_empty(&move->left))
        observer->moves(observer->user, move, &move->left, arrive);
}

static void tell_of_all(struct ff__pipeline *pipeline, const struct ff__submission *submission,
                        bool ended) {
    for (uint32_t i = 0; i < submission->count; i++)
        tell(pipeline, submission->moves[i], ff__move_arrives(submission->moves[i]) != ended);
}

static void tell_of_copies(struct ff__pipeline *pipeline, const struct ff__job *job) {
    const struct ff__observer *observer = &pipeline->observer;
    for (uint32_t i = 0; i < job->out_count && observer->copies; i++)
        if (!job->out[i].guest && !ff_mask_empty(&job->out[i].copied))
            observer->copies(observer->user, &job->out[i], &job->out[i].copied);
}

/* ---- trying again ---- */

/* A fault must be answered, and what is freed must go; advice need not be followed, and another
 * victim may leave instead. */
static bool must_succeed(const struct ff__job *job, const struct ff__move *move) {
    return move == &job->in ? !ff_mask_empty(&job->faulted) : move->freed;
}

/* Whether a move that failed may succeed later, and is worth it. */
static bool is_worth_another(const struct ff__job *job, const struct ff__move *move,
                             uint32_t tries) {
    bool transient = move->status == -EAGAIN || move->status == -ENOMEM;
    return transient && (must_succeed(job, move) || tries < TRIES_MAX);
}

static void complain(struct ff__pipeline *pipeline, const struct ff__move *move) {
    ff__log_line(&pipeline->log, FF_LOG_WARNING, "%s failed (%s), trying again",
                 ff__move_arrives(move) ? "migration to the device" : "eviction",
                 strerror(-move->status));
}

/* Whether some of the moves are to be tried again. Then some time has passed. */
static bool goes_on(struct ff__pipeline *pipeline, const struct ff__job *job,
                    const struct ff__submission *submission, uint32_t tries) {
    bool again = false;
    for (uint32_t i = 0; i < submission->count; i++) {
        const struct ff__move *move = submission->moves[i];
        if (move->status == -EBADF)
            __atomic_store_n(&pipeline->lost_descriptors, true, __ATOMIC_RELAXED);
        if (ff_mask_empty(&move->left) || !is_worth_another(job, move, tries))
            continue;
        if (tries == 0 && move->status == -ENOMEM)
            complain(pipeline, move);
        again = true;
    }
    if (!again || __atomic_load_n(&submission->aborted, __ATOMIC_RELAXED) ||
        __atomic_load_n(&pipeline->stop, __ATOMIC_RELAXED))
        return false;
    ff__clock_sleep(RETRY_NS);
    return true;
}

/* ---- carrying out ---- */

static uint32_t all_moves(struct ff__job *job, struct ff__move *moves[FF__OUTS_MAX + 1]) {
    uint32_t count = 0;
    for (; count < job->out_count; count++)
        moves[count] = &job->out[count];
    if (job->has_in) {
        job->in.after = count > 0;
        moves[count++] = &job->in;
    }
    for (uint32_t i = 0; i < count; i++)
        moves[i]->left = moves[i]->pages;
    return count;
}

static uint32_t keep_unfinished(struct ff__move *moves[], uint32_t count) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!ff_mask_empty(&moves[i]->left))
            moves[kept++] = moves[i];
    return kept;
}

static void carry_all(struct ff__pipeline *pipeline, struct ff__job *job,
                      struct ff__submission *submission) {
    FF__ASSERT(!ff__lock_is_held(&pipeline->lock)); /* others decide while pages move */
    struct ff__move *moves[FF__OUTS_MAX + 1];
    submission->moves = moves;
    submission->count = all_moves(job, moves);
    for (uint32_t tries = 0; submission->count > 0; tries++) {
        tell_of_all(pipeline, submission, false);
        pipeline->backend->submit(pipeline->self, submission);
        pipeline->backend->complete(pipeline->self, submission);
        tell_of_all(pipeline, submission, true);
        if (!goes_on(pipeline, job, submission, tries))
            break;
        submission->count = keep_unfinished(moves, submission->count);
    }
    tell_of_copies(pipeline, job);
}

struct errand {
    struct ff__pipeline *pipeline;
    struct ff__flight *flight;
};

static void carry_for_another(void *argument) {
    struct errand *it = argument;
    carry_all(it->pipeline, it->flight->job, &it->flight->submission);
}

/* A thread of the program that serves itself does so with descriptors that the program can close;
 * then it leaves that to the migration thread, which has its own. */
static void carry(struct ff__pipeline *pipeline, struct ff__flight *flight) {
    struct errand errand = {pipeline, flight};
    if (__atomic_load_n(&pipeline->lost_descriptors, __ATOMIC_RELAXED) &&
        !ff__pipeline_is_inside(pipeline))
        ff__pipeline_call(pipeline, carry_for_another, &errand);
    else
        carry_all(pipeline, flight->job, &flight->submission);
}

/* ---- flights ---- */

static void take_off(struct ff__pipeline *pipeline, struct ff__flight *flight) {
    flight->next = pipeline->flights;
    flight->link = &pipeline->flights;
    if (flight->next)
        flight->next->link = &flight->next;
    pipeline->flights = flight;
}

static void land(struct ff__flight *flight) {
    *flight->link = flight->next;
    if (flight->next)
        flight->next->link = flight->link;
}

void ff__pipeline_carry_out(struct ff__pipeline *pipeline, struct ff__job *job) {
    FF__ASSERT(ff__lock_is_held(&pipeline->lock));
    struct ff__flight flight = {.job = job};
    take_off(pipeline, &flight);
    ff__signals_hold(); /* threads that fault in one of its blocks wait for this one */
    ff__pipeline_unlock(pipeline);
    carry(pipeline, &flight);
    ff__pipeline_lock(pipeline);
    ff__signals_release();
    land(&flight);
}

static bool is_waited_for(const struct ff__job *job) {
    return !ff_mask_empty(&job->faulted) || (!job->has_in && job->out[0].freed);
}

void ff__pipeline_abort(struct ff__pipeline *pipeline) {
    FF__ASSERT(ff__lock_is_held(&pipeline->lock));
    for (struct ff__flight *flight = pipeline->flights; flight; flight = flight->next)
        if (!is_waited_for(flight->job) && !flight->submission.aborted)
            pipeline->backend->abort(pipeline->self, &flight->submission);
}
