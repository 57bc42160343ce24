/* What every preload shares: what unmodified programs meet when `farfault run` starts them, of
 * whatever interface their kernels are. It is set by the environment, has one context, watches
 * forks and signals, and reports at exit.
 *
 * Whatever goes wrong in here ends in the real call, is counted and shows in the summary. */
#ifndef FF_PRELOAD_PRELOAD_H
#define FF_PRELOAD_PRELOAD_H

#include "base/map.h"
#include "report/account.h"

#include <farfault/farfault.h>

#include <pthread.h>
#include <signal.h>

/* A function that the program meets instead of its own. */
#define FF_HOOKED __attribute__((visibility("default")))

/* ---- context.c: what is set, and the one context ---- */

enum ff__mode ff__mode(void);
const struct ff_config *ff__config(void);

/* Opened at the first call; NULL where nothing is managed: in passive mode, after a failure to
 * open, and in a forked child. With FARFAULT_REQUIRE=1 a failure to open ends the process. */
struct ff_context *ff__context(void);

/* The context if it is open already; does not open it. */
struct ff_context *ff__context_if_open(void);

/* Ends the process with status 1 if FARFAULT_REQUIRE=1 says that a failure must. */
void ff__leave_if_required(void);

/* There is no managed memory for an allocation, for which `status` is the reason: says so, once. */
void ff__no_memory(size_t size, int status);

/* One line on stderr that begins with "farfault: ". */
__attribute__((format(printf, 1, 2))) void ff__say(const char *format, ...);

/* ---- signals.c, signal_calls.c: handlers of the program's for signals that are ours, too ---- */

/* The calling thread begins to open a context, or has done so: handlers for SIGBUS that it sets
 * meanwhile come before the program's, which is called for what is not theirs. Of all farfaults in
 * a process one library has this, and the program's calls about signals: libfarfault-opencl.so.
 * NULL: it is not there. */
FF_HOOKED __attribute__((weak)) void farfault_sigbus_opens(bool is_opening);

static inline void ff__sigbus_opens(bool is_opening) {
    if (farfault_sigbus_opens)
        farfault_sigbus_opens(is_opening);
}

typedef int ff__sigaction_fn(int number, const struct sigaction *action, struct sigaction *before);

/* A signal that is not ours does what it would have done without us. `action`: what was set for it;
 * `set`: the C library's sigaction(). */
void ff__pass_signal_on(struct sigaction *action, ff__sigaction_fn *set, int number,
                        siginfo_t *info, void *ucontext);

/* ---- fork.c: forked children, which inherit no managed memory ---- */

/* Called once, at the start. */
void ff__watch_forks(void);

/* Whether this process is a forked child. Nothing in here may then touch the
 * context, or a lock: another thread may have held it at the fork. */
bool ff__in_child(void);

/* Managed memory has been given out here: what a child must not touch. */
void ff__note_managed(const void *pointer, size_t size);

/* ---- summary.c: clock, footprint, counters, and the report at exit ---- */

/* Counts a call of this name that should have been managed and was left to the real function. The
 * first one of each name prints `why`, if there is one. */
void ff__fall_back(const char *name, const char *why);

void ff__clock_start(void); /* a command is being enqueued */
void ff__clock_mark(void);  /* a command is complete */
/* A command is complete and the program has observed it: an account of a killed program has it. */
void ff__clock_stop(void);
void ff__count_launch(void);
/* One of which it was known before it began what it accesses. */
void ff__count_known_launch(void);
/* What is counted of a kernel's launches; beyond FF__ACCOUNT_EXTENTS kernels, of all together. One
 * caller at a time. */
struct ff__account_extents *ff__summary_extents(const char *kernel);

void ff__footprint_add(size_t bytes);
void ff__footprint_remove(size_t bytes);

/* Reads FARFAULT_SUMMARY and FARFAULT_ACCOUNTS; from now on the process reports when it exits. */
void ff__summary_start(void);

/* What is to be in the report: settings, the mode and what led to it, the context once it is open.
 */
void ff__summary_configured(const struct ff_config *config);
void ff__summary_mode(enum ff__mode mode, const char *reason);
void ff__summary_opened(struct ff_context *context);

/* Managed memory has been given out. */
void ff__mark_managed(void);

/* No report after all. */
void ff__summary_cancel(void);

/* ---- handles.c: objects by the handle that the program has for them ---- */

struct ff__handles {
    pthread_mutex_t lock;
    struct ff__map places; /* of handles, in `items` */
    struct ff__handle {
        const void *handle;
        void *object; /* the caller's */
    } * items;
    uint32_t count;
};

#define FF__HANDLES_INIT                                                                           \
    { .lock = PTHREAD_MUTEX_INITIALIZER }

/* For all functions below the caller holds handles->lock. */

/* The handle has no object yet. False: no memory. */
bool ff__handles_put(struct ff__handles *handles, const void *handle, void *object);

/* NULL: it has none. */
void *ff__handles_find(const struct ff__handles *handles, const void *handle);
void *ff__handles_take(struct ff__handles *handles, const void *handle);

#endif
