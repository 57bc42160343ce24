#include "base/lock.h"

#include "base/signals.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef FF__ASSERTS
static _Thread_local __attribute__((tls_model("initial-exec"))) char self;

static void set_held(struct ff__lock *lock, bool held) {
    __atomic_store_n(&lock->holder, held ? &self : NULL, __ATOMIC_RELAXED);
}

bool ff__lock_is_held(const struct ff__lock *lock) {
    return __atomic_load_n(&lock->holder, __ATOMIC_RELAXED) == &self;
}
#else
static void set_held(struct ff__lock *lock, bool held) {
    (void)lock, (void)held;
}
#endif

void ff__lock_init(struct ff__lock *lock) {
    pthread_mutexattr_t spins; /* for a while: most are held for less than a wake-up takes */
    pthread_mutexattr_init(&spins);
    pthread_mutexattr_settype(&spins, PTHREAD_MUTEX_ADAPTIVE_NP);
    pthread_mutex_init(&lock->mutex, &spins);
    pthread_mutexattr_destroy(&spins);
    set_held(lock, false);
}

void ff__lock_fini(struct ff__lock *lock) {
    pthread_mutex_destroy(&lock->mutex);
}

void ff__lock_acquire(struct ff__lock *lock) {
    FF__ASSERT(!ff__lock_is_held(lock)); /* it would wait for itself */
    ff__signals_hold();
    pthread_mutex_lock(&lock->mutex);
    set_held(lock, true);
}

void ff__lock_release(struct ff__lock *lock) {
    FF__ASSERT(ff__lock_is_held(lock));
    set_held(lock, false);
    pthread_mutex_unlock(&lock->mutex);
    ff__signals_release();
}

void ff__lock_wait(struct ff__lock *lock, pthread_cond_t *condition) {
    FF__ASSERT(ff__lock_is_held(lock));
    set_held(lock, false);
    pthread_cond_wait(condition, &lock->mutex);
    set_held(lock, true);
}

void ff__lock_wait_until(struct ff__lock *lock, pthread_cond_t *condition, uint64_t ns) {
    struct timespec until = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    FF__ASSERT(ff__lock_is_held(lock));
    set_held(lock, false);
    pthread_cond_timedwait(condition, &lock->mutex, &until);
    set_held(lock, true);
}

/* ---- events ---- */

/* pthread_cond_wait() takes the mutex before it returns to where signals could be held off. */
void ff__event_wait(struct ff__event *event, struct ff__lock *lock) {
    FF__ASSERT(ff__lock_is_held(lock));
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
