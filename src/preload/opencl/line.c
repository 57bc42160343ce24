/* Launches behind others, which need no gate.
 *
 * The user event that a gate is made of costs about as much as a launch does. A launch of an
 * in-order queue cannot begin before those that were enqueued before it, so that one of these, if
 * it has not begun, can stand in for the gate: its callback, which comes before any of its work,
 * waits until the callbacks of the launch behind it are set.
 *
 * One that fails never begins, and is taken for a gate that it is not until another one of the line
 * begins. farfault may hear too late of a launch behind it, which costs time and no data. Commands
 * for which that is not so have gates. */
#include "preload/opencl/internal.h"

#define LINES 16u

/* The launches of a queue, which is there as long as one of them has not begun. Then the line may
 * become another queue's. */
struct ff__line {
    pthread_mutex_t lock; /* held while a launch is put at its end */
    cl_command_queue queue;
    uint64_t last;  /* the number of the launch at its end; atomic, written with the lock held */
    uint64_t begun; /* that of the latest one that has begun; atomic. Numbers grow */
};

/* A callback may come in the thread that is enqueueing, which must not wait for itself. */
static struct ff__line lines[LINES] = {
    [0 ... LINES - 1] = {PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP, NULL, 0, 0}};

static bool can_have_line(cl_command_queue queue) {
    cl_command_queue_properties properties = 0;
    return ff__callbacks_come_first() &&
           REAL(clGetCommandQueueInfo)(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties,
                                       NULL) == CL_SUCCESS &&
           !(properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
}

bool ff__line_enter(struct ff__line_place *place, cl_command_queue queue) {
    struct ff__line *line = &lines[ff__hash_word((uintptr_t)queue) % LINES];
    *place = (struct ff__line_place){NULL, 0};
    if (pthread_mutex_trylock(&line->lock))
        return false;
    bool all_begun = __atomic_load_n(&line->begun, __ATOMIC_ACQUIRE) >= line->last;
    if (all_begun ? !can_have_line(queue) : line->queue != queue) {
        pthread_mutex_unlock(&line->lock);
        return false;
    }
    line->queue = queue;
    *place = (struct ff__line_place){line, line->last + 1};
    return !all_begun;
}

void ff__line_leave(const struct ff__line_place *place, bool enqueued) {
    if (!place->line)
        return;
    if (enqueued)
        __atomic_store_n(&place->line->last, place->number, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&place->line->lock);
}

void ff__line_begin(const struct ff__line_place *place) {
    struct ff__line *line = place->line;
    if (!line)
        return;
    if (place->number > __atomic_load_n(&line->begun, __ATOMIC_RELAXED))
        __atomic_store_n(&line->begun, place->number, __ATOMIC_RELEASE);
    if (__atomic_load_n(&line->last, __ATOMIC_ACQUIRE) == place->number &&
        pthread_mutex_lock(&line->lock) == 0)
        pthread_mutex_unlock(&line->lock);
}
