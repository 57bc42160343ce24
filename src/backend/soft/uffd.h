/* The kernel's side of the software device: its userfaultfd descriptors and their ioctls.
 *
 * Functions return 0 or a negative errno, -EAGAIN where the kernel is to be asked again later.
 * Addresses and lengths are multiples of the page size. */
#ifndef FF_SOFT_UFFD_H
#define FF_SOFT_UFFD_H

#include <farfault/farfault.h>

#include "engine/backend.h"

/* Several descriptors, since what the kernel does about a fault is a matter of the descriptor that
 * its memory is registered with. The memory that moves into the managed area and out of it raises
 * no events: dropping registered memory waits until a thread has read of it. */
struct ff__uffd {
    int fd;         /* of the managed area */
    int staging_fd; /* of the areas that pages are moved out to; -1 without MOVE */
    int kernels_fd; /* of what kernels alone use: faults arrive as SIGBUS; -1: of none */
    uint64_t base;  /* of the managed area */
    size_t window_count;
    unsigned char *is_kernels; /* [window] of 2 MiB: whether it is kernels_fd's; atomic */
    bool has_move;
    bool has_thread_id;
    bool sees_drops;     /* messages tell when the program drops content of its own accord */
    bool user_mode_only; /* system calls that meet an absent page fail with EFAULT */
    bool sigbus;         /* faults arrive as SIGBUS in the faulting thread instead of messages */
    bool watches;        /* use of pages that are there can be looked for (soft/accessed.h) */
};

/* What a descriptor is for, or-ed. */
enum {
    FF__UFFD_SIGBUS = 1u << 0, /* faults shall arrive as SIGBUS */
    FF__UFFD_MOVES = 1u << 1,  /* UFFDIO_MOVE will be used if the kernel has it */
    /* Use of pages that are there will be looked for, if the kernel can and has UFFDIO_MOVE, too:
     * then it cannot write-protect managed memory, which is for evictions without MOVE */
    FF__UFFD_WATCHES = 1u << 2,
};

enum ff__uffd_kind {
    FF__UFFD_FAULT,
    FF__UFFD_DROP,  /* the program gives the content of [start, end) up: it reads as zeros */
    FF__UFFD_UNMAP, /* [start, end) is not managed memory any more, but unmapped */
    FF__UFFD_REMAP, /* or moved elsewhere */
};

struct ff__uffd_message {
    enum ff__uffd_kind kind;
    struct ff__fault fault;
    uint64_t start, end;
};

/* -EPERM: no right, with what to do in the message. -ENOSYS: no userfaultfd, or without write
 * protection. */
int ff__uffd_open(struct ff__uffd *uffd, unsigned uses, struct ff_error *error);
void ff__uffd_close(struct ff__uffd *uffd);

/* From now on parts of the managed area can be told to be used by kernels alone; whole windows.
 * -ENOSYS: the kernel has no such signals; -ENOMEM. */
int ff__uffd_open_kernels(struct ff__uffd *uffd, void *managed, size_t size);
void ff__uffd_close_kernels(struct ff__uffd *uffd);

/* Whether the address is in such a part. */
bool ff__uffd_is_kernels(const struct ff__uffd *uffd, const void *address);

/* Makes a part of the managed area one that kernels alone use, or that no more, while nothing uses
 * it. */
int ff__uffd_set_kernels(struct ff__uffd *uffd, void *area, size_t size, bool kernels);

/* Likewise while threads may meet pages there, none of which is present: when kernels alone use it
 * they get SIGBUS, else they wait. Waits until a thread has read a message about it. */
int ff__uffd_change_kernels(struct ff__uffd *uffd, void *area, size_t size, bool kernels);

/* From now on absent and write-protected pages of the area fault to us; or, in a staging area,
 * raise SIGBUS: no thread meets one there. */
int ff__uffd_register(const struct ff__uffd *uffd, void *area, size_t size);
int ff__uffd_register_staging(const struct ff__uffd *uffd, void *area, size_t size);
/* Pages can be moved to where nothing is in the area; nothing else changes there. */
int ff__uffd_register_host(const struct ff__uffd *uffd, void *area, size_t size);
int ff__uffd_unregister(const struct ff__uffd *uffd, void *area, size_t size);

/* From now on pages of the area, which is registered and may be accessed, can be watched. */
int ff__uffd_register_watched(const struct ff__uffd *uffd, void *area, size_t size);

/* Watches the pages that are there: each until its next access, at which the kernel ends that
 * without a word. -ENOENT: a part of the area is not registered so. */
int ff__uffd_watch(const struct ff__uffd *uffd, void *area, size_t size);

/* Moves whole pages to a place where there are none; each page atomically against threads that use
 * it, and threads that wait for the destination go on. *moved: so many bytes, from the first on,
 * even if it fails. -EBUSY: the next page is pinned. -ENOENT: there is none. -EINVAL: the areas are
 * not alike, because the program has locked or protected one. */
int ff__uffd_move_in(const struct ff__uffd *uffd, void *to, void *from, size_t size, size_t *moved);
int ff__uffd_move_out(const struct ff__uffd *uffd, void *to, void *from, size_t size,
                      size_t *moved);

/* Fills absent pages with a copy of `from`; pages that are there are left alone. *copied as *moved.
 */
int ff__uffd_copy(const struct ff__uffd *uffd, void *to, const void *from, size_t size,
                  size_t *copied);

/* Makes a page zero if it is absent. True: it was. */
bool ff__uffd_fill(const struct ff__uffd *uffd, void *page, const void *zeros);

/* Makes writes to present pages wait, or lets them pass again. */
int ff__uffd_protect(const struct ff__uffd *uffd, void *area, size_t size, bool on);

/* Lets every thread that waits for a page of the area try again. */
void ff__uffd_wake(const struct ff__uffd *uffd, void *area, size_t size);

#define FF__UFFD_MESSAGES 256u /* as many as are read at a time */

/* Reads what messages there are, without waiting. The number, 0, or negative errno. */
int ff__uffd_read(const struct ff__uffd *uffd, struct ff__uffd_message *messages,
                  uint32_t capacity);

/* Likewise of what kernels alone use: no faults. */
int ff__uffd_read_kernels(const struct ff__uffd *uffd, struct ff__uffd_message *messages,
                          uint32_t capacity);

#endif
