/* The kernel's side of the software device: one userfaultfd and its ioctls, each with its
 * retries.
 *
 * All functions return 0 or a negative errno. Addresses and lengths are multiples of the page
 * size. */
#ifndef FF_SOFT_UFFD_H
#define FF_SOFT_UFFD_H

#include <farfault/farfault.h>

#include "engine/backend.h"

struct ff__uffd {
    int fd;
    bool has_move;
    bool has_thread_id;
    bool user_mode_only; /* system calls that meet an absent page fail with EFAULT */
    bool sigbus;         /* faults arrive as SIGBUS in the faulting thread instead of messages */
};

/* -EPERM: no right, with what to do in the message. -ENOSYS: no userfaultfd, or without write
 * protection. */
int ff__uffd_open(struct ff__uffd *uffd, bool sigbus, struct ff_error *error);
void ff__uffd_close(struct ff__uffd *uffd);

/* From now on absent and write-protected pages of the area fault to us. */
int ff__uffd_register(const struct ff__uffd *uffd, void *area, size_t size);

/* Moves whole pages to a place where there are none; atomic against anybody who uses them.
 * -EBUSY: some are pinned. `wake`: let the threads that wait for the destination go on. */
int ff__uffd_move(const struct ff__uffd *uffd, void *to, void *from, size_t size);

/* Fills absent pages with a copy of `from`; pages that are there are left alone. */
int ff__uffd_copy(const struct ff__uffd *uffd, void *to, const void *from, size_t size);

/* Makes writes to present pages wait, or lets them pass again. */
int ff__uffd_protect(const struct ff__uffd *uffd, void *area, size_t size, bool on);

/* Lets every thread that waits for a page of the area try again. */
void ff__uffd_wake(const struct ff__uffd *uffd, void *area, size_t size);

/* Reads what faults there are, without waiting. The number, 0, or negative errno. */
int ff__uffd_read(const struct ff__uffd *uffd, struct ff__fault *faults, uint32_t capacity);

#endif
