#include "backend/soft/uffd.h"

#include "backend/soft/area.h"
#include "base/descriptors.h"
#include "base/error.h"
#include "base/lazy.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Debian 12's headers are older than UFFDIO_MOVE (Linux 6.8). */
#ifndef UFFDIO_MOVE
#define UFFD_FEATURE_MOVE (1 << 16)
struct uffdio_move {
    __u64 dst, src, len, mode;
    __s64 move;
};
#define UFFDIO_MOVE _IOWR(UFFDIO, 0x05, struct uffdio_move)
#endif

/* Nor does any distribution's header have read-write protection (RWP). */
#ifndef UFFDIO_RWPROTECT
#define UFFD_FEATURE_RWP         (1 << 17)
#define UFFD_FEATURE_RWP_ASYNC   (1 << 18)
#define UFFDIO_REGISTER_MODE_RWP ((__u64)1 << 3)
struct uffdio_rwprotect {
    struct uffdio_range range;
    __u64 mode;
};
#define UFFDIO_RWPROTECT_MODE_RWP ((__u64)1 << 0)
#define UFFDIO_RWPROTECT          _IOWR(UFFDIO, 0x09, struct uffdio_rwprotect)
#endif

#define WATCHING  (UFFD_FEATURE_RWP | UFFD_FEATURE_RWP_ASYNC)

#define AGAIN_MAX 64 /* the kernel is asked so often in a row before that counts as an answer */

/* ---- opening ---- */

static int open_descriptor(bool *user_mode_only) {
    int device = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
    if (device >= 0) {
        int fd = ioctl(device, USERFAULTFD_IOC_NEW, O_CLOEXEC | O_NONBLOCK);
        close(device);
        if (fd >= 0)
            return fd;
    }
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && errno == EPERM) {
        fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
        *user_mode_only = fd >= 0;
    }
    return fd < 0 ? -errno : fd;
}

static int explain_open(int status, struct ff_error *error) {
    if (status == -ENOSYS)
        return ff__fail(error, -ENOSYS,
                        "this kernel or container has no userfaultfd; Linux 5.7 or later with "
                        "CONFIG_USERFAULTFD is needed, and a seccomp profile that allows it");
    if (status == -EPERM || status == -EACCES)
        return ff__fail(error, -EPERM,
                        "no right to use userfaultfd; run as root, or give access to "
                        "/dev/userfaultfd, or 'sysctl vm.unprivileged_userfaultfd=1'; in a "
                        "container allow the userfaultfd system call");
    return ff__fail(error, status, "cannot open userfaultfd: %s", strerror(-status));
}

/* The kernel accepts UFFDIO_API once a descriptor, so what it has is asked on one that is thrown
 * away. */
static int query_features(uint64_t *features) {
    bool ignored;
    int fd = open_descriptor(&ignored);
    if (fd < 0)
        return fd;
    struct uffdio_api api = {.api = UFFD_API};
    int status = ioctl(fd, UFFDIO_API, &api) ? -errno : 0;
    *features = api.features;
    close(fd);
    return status;
}

static int enable(int fd, uint64_t features) {
    struct uffdio_api api = {.api = UFFD_API, .features = features};
    return ioctl(fd, UFFDIO_API, &api) ? -errno : 0;
}

/* The descriptor of the staging areas: a mistake there shall be a signal, not a hang. */
static int open_staging(struct ff__uffd *uffd) {
    bool ignored;
    int fd = open_descriptor(&ignored);
    if (fd < 0)
        return fd;
    int status =
        enable(fd, UFFD_FEATURE_MOVE | UFFD_FEATURE_SIGBUS | UFFD_FEATURE_PAGEFAULT_FLAG_WP);
    if (status) {
        close(fd);
        return status;
    }
    uffd->staging_fd = fd;
    return 0;
}

int ff__uffd_open(struct ff__uffd *uffd, unsigned uses, struct ff_error *error) {
    const bool sigbus = uses & FF__UFFD_SIGBUS, move = uses & FF__UFFD_MOVES;
    memset(uffd, 0, sizeof *uffd);
    uffd->fd = uffd->staging_fd = uffd->kernels_fd = -1;
    uint64_t has = 0;
    int status = query_features(&has);
    if (status)
        return explain_open(status, error);
    uint64_t wanted = UFFD_FEATURE_PAGEFAULT_FLAG_WP;
    if (sigbus)
        wanted |= UFFD_FEATURE_SIGBUS;
    if ((has & wanted) != wanted)
        return ff__fail(error, -ENOSYS,
                        "this kernel's userfaultfd cannot write-protect%s: Linux 5.7 is needed",
                        sigbus ? " or signal" : "");
    uffd->has_move = has & UFFD_FEATURE_MOVE && has & UFFD_FEATURE_SIGBUS;
    wanted |= has & (UFFD_FEATURE_THREAD_ID | UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMAP);
    if (uffd->has_move && move) /* otherwise evictions drop pages, and would wait for themselves */
        wanted |= UFFD_FEATURE_MOVE | (has & UFFD_FEATURE_EVENT_REMOVE);
    uffd->watches = uses & FF__UFFD_WATCHES && uffd->has_move && move && !(WATCHING & ~has);
    wanted |= uffd->watches ? WATCHING : 0;
    uffd->fd = open_descriptor(&uffd->user_mode_only);
    status = uffd->fd < 0 ? uffd->fd : enable(uffd->fd, wanted);
    if (!status && uffd->has_move && move)
        status = open_staging(uffd);
    if (status) {
        ff__uffd_close(uffd);
        return explain_open(status, error);
    }
    uffd->sigbus = sigbus;
    uffd->has_thread_id = wanted & UFFD_FEATURE_THREAD_ID;
    uffd->sees_drops = wanted & UFFD_FEATURE_EVENT_REMOVE;
    return 0;
}

static void close_one(int *fd) {
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void ff__uffd_close(struct ff__uffd *uffd) {
    close_one(&uffd->fd);
    close_one(&uffd->staging_fd);
    close_one(&uffd->kernels_fd);
}

/* ---- ioctls ---- */

/* The two protections exclude each other, and neither can be taken back from an area that stays
 * registered. */
static uint64_t managed_mode(const struct ff__uffd *uffd) {
    return UFFDIO_REGISTER_MODE_MISSING | (uffd->watches ? 0 : UFFDIO_REGISTER_MODE_WP);
}

static int register_area(int fd, void *area, size_t size, uint64_t mode) {
    struct uffdio_register reg = {.range = {.start = (uintptr_t)area, .len = size}, .mode = mode};
    return ioctl(fd, UFFDIO_REGISTER, &reg) ? -errno : 0;
}

/* ---- which descriptor ---- */

bool ff__uffd_is_kernels(const struct ff__uffd *uffd, const void *address) {
    uint64_t window = ((uintptr_t)address - uffd->base) >> FF_BLOCK_SHIFT;
    return uffd->kernels_fd >= 0 && window < uffd->window_count &&
           __atomic_load_n(&uffd->is_kernels[window], __ATOMIC_RELAXED);
}

static int descriptor_of(const struct ff__uffd *uffd, const void *area) {
    return ff__uffd_is_kernels(uffd, area) ? uffd->kernels_fd : uffd->fd;
}

static void wake(int fd, void *area, size_t size) {
    struct uffdio_range range = {.start = (uintptr_t)area, .len = size};
    ioctl(fd, UFFDIO_WAKE, &range);
}

/* ---- registering ---- */

int ff__uffd_register(const struct ff__uffd *uffd, void *area, size_t size) {
    return register_area(descriptor_of(uffd, area), area, size, managed_mode(uffd));
}

int ff__uffd_register_staging(const struct ff__uffd *uffd, void *area, size_t size) {
    return register_area(uffd->staging_fd, area, size, UFFDIO_REGISTER_MODE_MISSING);
}

int ff__uffd_register_host(const struct ff__uffd *uffd, void *area, size_t size) {
    return register_area(uffd->staging_fd, area, size, UFFDIO_REGISTER_MODE_WP);
}

int ff__uffd_register_watched(const struct ff__uffd *uffd, void *area, size_t size) {
    return register_area(descriptor_of(uffd, area), area, size,
                         UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_RWP);
}

static int unregister_area(int fd, void *area, size_t size) {
    struct uffdio_range range = {.start = (uintptr_t)area, .len = size};
    return ioctl(fd, UFFDIO_UNREGISTER, &range) ? -errno : 0;
}

int ff__uffd_unregister(const struct ff__uffd *uffd, void *area, size_t size) {
    return unregister_area(descriptor_of(uffd, area), area, size);
}

/* ---- what kernels alone use ---- */

int ff__uffd_open_kernels(struct ff__uffd *uffd, void *managed, size_t size) {
    bool ignored;
    int fd = open_descriptor(&ignored);
    if (fd < 0)
        return fd;
    /* memory that is moved stays with a descriptor only if that tells of it */
    uint64_t wanted =
        UFFD_FEATURE_SIGBUS | UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_EVENT_REMAP;
    wanted |= (uffd->has_move ? UFFD_FEATURE_MOVE : 0) | (uffd->watches ? WATCHING : 0);
    int status = enable(fd, wanted);
    uffd->base = (uintptr_t)managed;
    uffd->window_count = size >> FF_BLOCK_SHIFT;
    uffd->is_kernels = status ? NULL : ff__lazy_map(uffd->window_count);
    if (!uffd->is_kernels) {
        close(fd);
        return status ? status : -ENOMEM;
    }
    uffd->kernels_fd = fd;
    return 0;
}

void ff__uffd_close_kernels(struct ff__uffd *uffd) {
    if (uffd->is_kernels)
        ff__lazy_unmap(uffd->is_kernels, uffd->window_count);
    uffd->is_kernels = NULL;
}

static void note_kernels(struct ff__uffd *uffd, const void *area, size_t size, bool kernels) {
    uint64_t first = ((uintptr_t)area - uffd->base) >> FF_BLOCK_SHIFT;
    for (uint64_t i = 0; i < size >> FF_BLOCK_SHIFT; i++)
        __atomic_store_n(&uffd->is_kernels[first + i], kernels, __ATOMIC_RELAXED);
}

int ff__uffd_set_kernels(struct ff__uffd *uffd, void *area, size_t size, bool kernels) {
    int from = descriptor_of(uffd, area), to = kernels ? uffd->kernels_fd : uffd->fd;
    int status = unregister_area(from, area, size);
    if (!status)
        status = register_area(to, area, size, managed_mode(uffd));
    if (!status)
        note_kernels(uffd, area, size, kernels);
    else
        register_area(from, area, size, managed_mode(uffd));
    return status;
}

/* To register the area anew would leave it without a descriptor for a moment, and what is met
 * absent then is zeros. So other memory, which is registered already, takes its place in one step.
 * Threads that wait at the descriptor that it had are let go, and meet what is there now. */
int ff__uffd_change_kernels(struct ff__uffd *uffd, void *area, size_t size, bool kernels) {
    char *other = ff__area_reserve(size, FF__AREA_SHUT);
    if (!other)
        return -ENOMEM;
    int status =
        register_area(kernels ? uffd->kernels_fd : uffd->fd, other, size, managed_mode(uffd));
    if (!status && mprotect(other, size, PROT_READ | PROT_WRITE))
        status = -errno;
    if (!status && syscall(SYS_mremap, other, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, area) < 0)
        status = -errno;
    if (status) {
        munmap(other, size);
        return status;
    }
    note_kernels(uffd, area, size, kernels);
    wake(uffd->fd, area, size);
    return 0;
}

/* ---- moving ---- */

/* Of an ioctl. Another file that has the number by now does not know the request. */
static int error_of(int status) {
    return status == 0 ? 0 : errno == ENOTTY ? -EBADF : -errno;
}

/* Whether the kernel should be asked once more at once. */
static bool is_again(int status, uint32_t *tries) {
    return status == -EINTR || (status == -EAGAIN && ++*tries < AGAIN_MAX);
}

static int move_pages(int fd, void *to, void *from, size_t size, size_t *moved) {
    uint32_t tries = 0;
    *moved = 0;
    while (*moved < size) {
        struct uffdio_move move = {
            .dst = (uintptr_t)to + *moved, .src = (uintptr_t)from + *moved, .len = size - *moved};
        int status = error_of(ioctl(fd, UFFDIO_MOVE, &move));
        *moved += move.move > 0 ? (size_t)move.move : 0;
        if (move.move > 0)
            tries = 0;
        else if (status && !is_again(status, &tries))
            return status;
    }
    return 0;
}

int ff__uffd_move_in(const struct ff__uffd *uffd, void *to, void *from, size_t size,
                     size_t *moved) {
    return move_pages(descriptor_of(uffd, to), to, from, size, moved);
}

int ff__uffd_move_out(const struct ff__uffd *uffd, void *to, void *from, size_t size,
                      size_t *moved) {
    return move_pages(uffd->staging_fd, to, from, size, moved);
}

int ff__uffd_copy(const struct ff__uffd *uffd, void *to, const void *from, size_t size,
                  size_t *copied) {
    int fd = descriptor_of(uffd, to);
    uint32_t tries = 0;
    *copied = 0;
    while (*copied < size) {
        struct uffdio_copy copy = {.dst = (uintptr_t)to + *copied,
                                   .src = (uintptr_t)from + *copied,
                                   .len = size - *copied};
        int status = error_of(ioctl(fd, UFFDIO_COPY, &copy));
        *copied += copy.copy > 0 ? (size_t)copy.copy : 0;
        if (copy.copy > 0) {
            tries = 0;
        } else if (status == -EEXIST) { /* it is there already: wake the waiting threads, and go on
                                           behind it */
            ff__uffd_wake(uffd, (char *)to + *copied, FF_PAGE_SIZE);
            *copied += FF_PAGE_SIZE;
        } else if (status && !is_again(status, &tries)) {
            return status;
        }
    }
    return 0;
}

bool ff__uffd_fill(const struct ff__uffd *uffd, void *page, const void *zeros) {
    struct uffdio_copy copy = {
        .dst = (uintptr_t)page, .src = (uintptr_t)zeros, .len = FF_PAGE_SIZE};
    return ioctl(descriptor_of(uffd, page), UFFDIO_COPY, &copy) == 0;
}

int ff__uffd_protect(const struct ff__uffd *uffd, void *area, size_t size, bool on) {
    struct uffdio_writeprotect wp = {
        .range = {.start = (uintptr_t)area, .len = size},
        .mode = on ? UFFDIO_WRITEPROTECT_MODE_WP : 0,
    };
    uint32_t tries = 0;
    int status;
    do
        status = error_of(ioctl(descriptor_of(uffd, area), UFFDIO_WRITEPROTECT, &wp));
    while (status && is_again(status, &tries));
    return status;
}

int ff__uffd_watch(const struct ff__uffd *uffd, void *area, size_t size) {
    struct uffdio_rwprotect protect = {.range = {.start = (uintptr_t)area, .len = size},
                                       .mode = UFFDIO_RWPROTECT_MODE_RWP};
    return error_of(ioctl(descriptor_of(uffd, area), UFFDIO_RWPROTECT, &protect));
}

void ff__uffd_wake(const struct ff__uffd *uffd, void *area, size_t size) {
    wake(descriptor_of(uffd, area), area, size);
}

/* ---- messages ---- */

static struct ff__uffd_message translate(const struct ff__uffd *uffd,
                                         const struct uffd_msg *message) {
    uint64_t flags = message->arg.pagefault.flags;
    switch (message->event) {
    case UFFD_EVENT_REMOVE:
        return (struct ff__uffd_message){.kind = FF__UFFD_DROP,
                                         .start = message->arg.remove.start,
                                         .end = message->arg.remove.end};
    case UFFD_EVENT_UNMAP:
        return (struct ff__uffd_message){.kind = FF__UFFD_UNMAP,
                                         .start = message->arg.remove.start,
                                         .end = message->arg.remove.end};
    case UFFD_EVENT_REMAP:
        return (struct ff__uffd_message){.kind = FF__UFFD_REMAP,
                                         .start = message->arg.remap.from,
                                         .end = message->arg.remap.from + message->arg.remap.len};
    default:
        return (struct ff__uffd_message){
            .kind = FF__UFFD_FAULT,
            .fault = {.address = message->arg.pagefault.address,
                      .write = flags & (UFFD_PAGEFAULT_FLAG_WRITE | UFFD_PAGEFAULT_FLAG_WP),
                      .thread =
                          uffd->has_thread_id ? (int32_t)message->arg.pagefault.feat.ptid : 0}};
    }
}

static int read_messages(const struct ff__uffd *uffd, int fd, struct ff__uffd_message *messages,
                         uint32_t capacity) {
    struct uffd_msg raw[FF__UFFD_MESSAGES];
    uint32_t limit = capacity < FF__UFFD_MESSAGES ? capacity : FF__UFFD_MESSAGES;
    ssize_t size = ff__descriptor_read(fd, raw, limit * sizeof raw[0]);
    if (size < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -errno;
    size_t count = (size_t)size / sizeof raw[0];
    for (size_t i = 0; i < count; i++)
        messages[i] = translate(uffd, &raw[i]);
    return (int)count;
}

int ff__uffd_read(const struct ff__uffd *uffd, struct ff__uffd_message *messages,
                  uint32_t capacity) {
    return read_messages(uffd, uffd->fd, messages, capacity);
}

int ff__uffd_read_kernels(const struct ff__uffd *uffd, struct ff__uffd_message *messages,
                          uint32_t capacity) {
    return uffd->kernels_fd < 0 ? 0 : read_messages(uffd, uffd->kernels_fd, messages, capacity);
}
