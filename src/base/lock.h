/* Locks that threads of farfault share with those of the program. A thread of the program that
 * holds one gets no signals and cannot be cancelled (base/signals.h). */
#ifndef FF_BASE_LOCK_H
#define FF_BASE_LOCK_H

#include "base/assert.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct ff__lock {
    pthread_mutex_t mutex;
#ifdef FF__ASSERTS
    const void *holder; /* atomic: the thread that holds it, by an address of its own */
#endif
};

void ff__lock_init(struct ff__lock *lock);
void ff__lock_fini(struct ff__lock *lock);

void ff__lock_acquire(struct ff__lock *lock);
void ff__lock_release(struct ff__lock *lock);

/* Whether the calling thread holds it. For FF__ASSERT() alone: only those builds know. */
bool ff__lock_is_held(const struct ff__lock *lock);

/* Waits for the condition with the lock given up, and without signals: for what threads of farfault
 * will have done soon. The second waits until then at the longest, on the condition's clock. */
void ff__lock_wait(struct ff__lock *lock, pthread_cond_t *condition);
void ff__lock_wait_until(struct ff__lock *lock, pthread_cond_t *condition, uint64_t ns);

/* ---- waits of any length, in which signals come ---- */

/* The calling thread may leave such a wait by siglongjmp(): it holds nothing then, and only
 * counts as a waiter for ever. All zero at first. */
struct ff__event {
    uint32_t count, waiters;
};

/* Waits until the event is signalled, or a signal has come. The lock is held before and after,
 * not meanwhile. */
void ff__event_wait(struct ff__event *event, struct ff__lock *lock);

/* The lock is held. */
void ff__event_tell(struct ff__event *event);

#endif
