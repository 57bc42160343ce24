#include "backend/soft/move.h"

#include "base/clock.h"
#include "base/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SETTLE_NS  20000u /* between tries while the program changes its memory */
#define SETTLE_MAX 100u   /* tries, at most */

uint64_t ff__soft_link_end(struct ff__soft *soft, const struct ff__place *from,
                           const struct ff__place *to, const struct ff_mask *pages,
                           uint64_t start_ns) {
    return ff__link_reserve(&soft->links[from->tier][to->tier], start_ns,
                            (uint64_t)ff_mask_count(pages) * FF_PAGE_SIZE);
}

/* In a handler of signals, too: without the C library's streams, which allocate. */
static bool has_locked_memory(void) {
    char text[4096];
    long fd = syscall(SYS_openat, AT_FDCWD, "/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t size = fd >= 0 ? ff__descriptor_read((int)fd, text, sizeof text - 1) : 0;
    if (fd >= 0)
        syscall(SYS_close, fd);
    text[size > 0 ? size : 0] = '\0';
    const char *line = strstr(text, "\nVmLck:");
    return line && strtoul(line + strlen("\nVmLck:"), NULL, 10) > 0;
}

void ff__soft_unlock_memory(struct ff__soft *soft) {
    bool was_locked = has_locked_memory();
    ff__memory_unlock(&soft->memory);
    ff__host_unlock(&soft->host);
    if (was_locked && !__atomic_exchange_n(&soft->said_locked, true, __ATOMIC_RELAXED))
        ff__log_line(&soft->log, FF_LOG_WARNING,
                     "the program has locked its memory (mlock, mlockall): managed memory stays "
                     "pageable by farfault");
}

bool ff__soft_is_there(const struct ff__soft *soft, const char *page) {
    uint64_t entry;
    off_t at = (off_t)((uintptr_t)page / FF_PAGE_SIZE * sizeof entry);
    return ff__descriptor_read_at(soft->pagemap_fd, &entry, sizeof entry, at) != sizeof entry ||
           entry >> 62;
}

void ff__soft_tell_of_backlog(struct ff__soft *soft) {
    if (__atomic_load_n(&soft->changes.backlog_count, __ATOMIC_RELAXED) > 0)
        ff__soft_interrupt(soft);
}

bool ff__soft_is_worth_another(struct ff__soft *soft, int status, uint32_t tries) {
    if (status == -EINVAL && tries == 1) {
        ff__soft_unlock_memory(soft);
        return true;
    }
    if (status != -EAGAIN || tries >= SETTLE_MAX)
        return false;
    ff__changes_settle(&soft->changes, &soft->uffd);
    ff__soft_tell_of_backlog(soft);
    ff__clock_sleep(SETTLE_NS);
    return true;
}

void ff__soft_give_back(struct ff__soft *soft, char *area, size_t size) {
    int status = madvise(area, size, MADV_DONTNEED) ? -errno : 0;
    for (uint32_t tries = 0; status && !ff__soft_is_forbidden(status) && tries < SETTLE_MAX;
         tries++) {
        ff__clock_sleep(SETTLE_NS);
        status = madvise(area, size, MADV_DONTNEED) ? -errno : 0;
    }
    ff__soft_tell_forbidden(soft, status);
}

void ff__soft_tell_forbidden(struct ff__soft *soft, int status) {
    if (ff__soft_is_forbidden(status) &&
        !__atomic_exchange_n(&soft->said_forbidden, true, __ATOMIC_RELAXED))
        ff__log_line(&soft->log, FF_LOG_WARNING,
                     "the program forbids system calls that eviction needs (seccomp: madvise, "
                     "ioctl, process_vm_readv): devices may use more memory than they have");
}
