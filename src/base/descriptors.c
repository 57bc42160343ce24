#include "base/descriptors.h"

#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NUMBERS_MAX 65536 /* that are tried one at a time, where the kernel has no close_range */

static void close_from_to(int first, int last) {
    if (first > last || syscall(SYS_close_range, first, last, 0) == 0)
        return;
    for (int fd = first; fd <= last && fd < NUMBERS_MAX; fd++)
        close(fd);
}

/* The lowest number to keep from `from` on; -1: none. */
static int next_kept(const int *kept, size_t count, int from) {
    int next = -1;
    for (size_t i = 0; i < count; i++)
        if (kept[i] >= from && (next < 0 || kept[i] < next))
            next = kept[i];
    return next;
}

int ff__descriptors_keep_only(const int *kept, size_t count) {
    if (unshare(CLONE_FILES))
        return -errno;
    int from = 0, next;
    while ((next = next_kept(kept, count, from)) >= 0) {
        close_from_to(from, next - 1);
        from = next + 1;
    }
    close_from_to(from, __INT_MAX__);
    return 0;
}

ssize_t ff__descriptor_read(int fd, void *buffer, size_t size) {
    return syscall(SYS_read, fd, buffer, size);
}

ssize_t ff__descriptor_read_at(int fd, void *buffer, size_t size, off_t at) {
    return syscall(SYS_pread64, fd, buffer, size, at);
}

ssize_t ff__descriptor_write(int fd, const void *buffer, size_t size) {
    return syscall(SYS_write, fd, buffer, size);
}
