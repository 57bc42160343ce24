/* The limit of a file's size (RLIMIT_FSIZE, ulimit -f). Linux sends SIGXFSZ to who exceeds it,
 * which ends the process, beside the error EFBIG, which is enough. */
#ifndef FF_BASE_FILE_LIMIT_H
#define FF_BASE_FILE_LIMIT_H

#include <signal.h>
#include <stdbool.h>

/* For programs of ours: from here on there is the error alone. What they execute gets the signal as
 * ever. */
void ff__file_limit_is_error(void);

/* For threads of other programs: the same between the two calls. Keeps errno. */
struct ff__file_limit {
    sigset_t before;
    bool was_pending;
};
void ff__file_limit_hold(struct ff__file_limit *held);
void ff__file_limit_release(const struct ff__file_limit *held);

#endif
