#include "base/lock.h"

#include "base/signals.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void ff__lock_init(struct ff__lock *lock) {
    pthread_mutex_init(&lock->mutex, NULL);
}

void ff__lock_fini(struct ff__lock *lock) {
    pthread_mutex_destroy(&lock->mutex);
}

void ff__lock_acquire(struct ff__lock *lock) {
    ff__signals_hold();
    pthread_mutex_lock(&lock->mutex);
}

void ff__lock_release(struct ff__lock *lock) {
    pthread_mutex_unlock(&lock->mutex);
    ff__signals_release();
}

void ff__lock_wait(struct ff__lock *lock, pthread_cond_t *condition) {
    pthread_cond_wait(condition, &lock->mutex);
}

void ff__lock_wait_until(struct ff__lock *lock, pthread_cond_t *condition, uint64_t ns) {
    struct timespec until = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    pthread_cond_timedwait(condition, &lock->mutex, &until);
}

/* ---- events ---- */

/* pthread_cond_wait() takes the mutex before it returns to where signals could be held off. */
void ff__event_wait(struct ff__event *event, struct ff__lock *lock) {
    uint32_t seen = event->count;
    event->waiters++;
    ff__lock_release(lock);
    syscall(SYS_futex, &event->count, FUTEX_WAIT_PRIVATE, seen, NULL);
    ff__lock_acquire(lock);
    event->waiters--;
}

void ff__event_tell(struct ff__event *event) {
    __atomic_fetch_add(&event->count, 1, __ATOMIC_RELAXED);
    if (event->waiters > 0)
        syscall(SYS_futex, &event->count, FUTEX_WAKE_PRIVATE, INT_MAX);
}
