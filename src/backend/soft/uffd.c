#include "backend/soft/uffd.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <string.h>
#include <sys/ioctl.h>
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

#define MESSAGES_MAX 64

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
                        "no right to use userfaultfd: run as root, or give access to "
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

int ff__uffd_open(struct ff__uffd *uffd, bool sigbus, struct ff_error *error) {
    memset(uffd, 0, sizeof *uffd);
    uffd->fd = -1;
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
    wanted |= has & (UFFD_FEATURE_THREAD_ID | UFFD_FEATURE_MOVE);
    int fd = open_descriptor(&uffd->user_mode_only);
    if (fd < 0)
        return explain_open(fd, error);
    struct uffdio_api api = {.api = UFFD_API, .features = wanted};
    if (ioctl(fd, UFFDIO_API, &api)) {
        status = -errno;
        close(fd);
        return explain_open(status, error);
    }
    uffd->fd = fd;
    uffd->sigbus = sigbus;
    uffd->has_move = wanted & UFFD_FEATURE_MOVE;
    uffd->has_thread_id = wanted & UFFD_FEATURE_THREAD_ID;
    return 0;
}

void ff__uffd_close(struct ff__uffd *uffd) {
    if (uffd->fd >= 0)
        close(uffd->fd);
    uffd->fd = -1;
}

/* ---- ioctls ---- */

int ff__uffd_register(const struct ff__uffd *uffd, void *area, size_t size) {
    struct uffdio_register reg = {
        .range = {.start = (uintptr_t)area, .len = size},
        .mode = UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP,
    };
    return ioctl(uffd->fd, UFFDIO_REGISTER, &reg) ? -errno : 0;
}

int ff__uffd_move(const struct ff__uffd *uffd, void *to, void *from, size_t size) {
    struct uffdio_move move = {.dst = (uintptr_t)to, .src = (uintptr_t)from, .len = size};
    while (ioctl(uffd->fd, UFFDIO_MOVE, &move)) {
        int status = -errno;
        if (move.move > 0) { /* part of it went */
            move.dst += (uint64_t)move.move;
            move.src += (uint64_t)move.move;
            move.len -= (uint64_t)move.move;
        } else if (status != -EAGAIN && status != -EINTR) {
            return status;
        }
        move.move = 0;
    }
    return 0;
}

int ff__uffd_copy(const struct ff__uffd *uffd, void *to, const void *from, size_t size) {
    struct uffdio_copy copy = {.dst = (uintptr_t)to, .src = (uintptr_t)from, .len = size};
    while (copy.len > 0 && ioctl(uffd->fd, UFFDIO_COPY, &copy)) {
        int status = -errno;
        uint64_t done = copy.copy > 0 ? (uint64_t)copy.copy : 0;
        if (done == 0 && status == -EEXIST) {
            /* it came with an earlier try: wake who waits, and go on behind it */
            ff__uffd_wake(uffd, (void *)(uintptr_t)copy.dst, FF_PAGE_SIZE);
            done = FF_PAGE_SIZE;
        } else if (done == 0 && status != -EAGAIN && status != -EINTR) {
            return status;
        }
        copy.dst += done;
        copy.src += done;
        copy.len -= done;
        copy.copy = 0;
    }
    return 0;
}

int ff__uffd_protect(const struct ff__uffd *uffd, void *area, size_t size, bool on) {
    struct uffdio_writeprotect wp = {
        .range = {.start = (uintptr_t)area, .len = size},
        .mode = on ? UFFDIO_WRITEPROTECT_MODE_WP : 0,
    };
    while (ioctl(uffd->fd, UFFDIO_WRITEPROTECT, &wp))
        if (errno != EAGAIN && errno != EINTR)
            return -errno;
    return 0;
}

void ff__uffd_wake(const struct ff__uffd *uffd, void *area, size_t size) {
    struct uffdio_range range = {.start = (uintptr_t)area, .len = size};
    ioctl(uffd->fd, UFFDIO_WAKE, &range);
}

int ff__uffd_read(const struct ff__uffd *uffd, struct ff__fault *faults, uint32_t capacity) {
    struct uffd_msg messages[MESSAGES_MAX];
    uint32_t limit = capacity < MESSAGES_MAX ? capacity : MESSAGES_MAX;
    ssize_t size = read(uffd->fd, messages, limit * sizeof messages[0]);
    if (size < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -errno;
    uint32_t count = 0;
    for (size_t i = 0; i < (size_t)size / sizeof messages[0]; i++) {
        const struct uffd_msg *message = &messages[i];
        if (message->event != UFFD_EVENT_PAGEFAULT)
            continue;
        uint64_t flags = message->arg.pagefault.flags;
        faults[count++] = (struct ff__fault){
            .address = message->arg.pagefault.address,
            .write = flags & (UFFD_PAGEFAULT_FLAG_WRITE | UFFD_PAGEFAULT_FLAG_WP),
            .thread = uffd->has_thread_id ? (int32_t)message->arg.pagefault.feat.ptid : 0,
        };
    }
    return (int)count;
}
