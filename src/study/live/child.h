/* Starts a program and waits for it. */
#ifndef FF_STUDY_LIVE_CHILD_H
#define FF_STUDY_LIVE_CHILD_H

#include <stdbool.h>
#include <stdint.h>

struct ff__child {
    char *const *argv; /* argv[0] is looked up in PATH */
    char *const *environment;
    int output, errors; /* where stdout and stderr go; -1: where ours go */
    bool apart;         /* no input, its own process group: it and what it starts end together */
    uint64_t limit_ns;  /* kill it after that long; 0: never. Only with `apart` */
    uint64_t notice_ns; /* call notice(noticer) once if it runs longer than this; 0: do not */
    void (*notice)(void *noticer);
    void *noticer;
};

struct ff__child_end {
    int wait_status; /* of waitpid(2) */
    bool timed_out;
    int interrupted; /* the signal that asked us to stop, which the child got too; or 0 */
};

/* 0 once it has ended, or the negative errno of the start: -ENOENT, -EACCES, ... */
int ff__child_run(const struct ff__child *child, struct ff__child_end *end);

/* What a shell would report: the exit status, or 128 and the signal. */
int ff__child_exit_status(const struct ff__child_end *end);

/* Says why a program did not start, of the status of ff__child_run(), and returns the exit status
 * that a shell would. */
int ff__child_complain(const char *program, int status);

#endif
