/* Faults: reading them, and letting the threads that met them go on. */
#include "backend/soft/move.h"

#include "base/clock.h"
#include "base/descriptors.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

void ff__soft_interrupt(void *self) {
    struct ff__soft *soft = self;
    uint64_t one = 1;
    if (ff__descriptor_write(soft->interrupt_fd, &one, sizeof one) < 0)
        return; /* the counter is full: it is awake anyway */
}

uint64_t ff__soft_now(void *self) {
    (void)self;
    return ff__clock_ns();
}

static void sleep_for_faults(struct ff__soft *soft, uint64_t timeout_ns) {
    struct pollfd fds[3] = {{.fd = soft->uffd.fd, .events = POLLIN},
                            {.fd = soft->interrupt_fd, .events = POLLIN},
                            {.fd = soft->uffd.kernels_fd, .events = POLLIN}};
    struct timespec timeout = {(time_t)(timeout_ns / 1000000000u),
                               (long)(timeout_ns % 1000000000u)};
    ppoll(fds, 3, &timeout, NULL);
    if (fds[2].revents)
        ff__changes_read_kernels(&soft->changes, &soft->uffd);
    uint64_t count;
    if (fds[1].revents && ff__descriptor_read(soft->interrupt_fd, &count, sizeof count) < 0)
        return;
}

#define LOOK_NS 1000000u /* between faults whose place is looked up, which takes up to 13 us */

/* The instruction at which a thread waits for a page: the last number of what /proc says of a
 * thread that waits in the kernel (proc(5)). 0: there is no telling. System calls by number, since
 * ThreadSanitizer takes this thread's table of descriptors, which is its own, for the program's. */
static uint64_t instruction_of(int32_t thread) {
    char text[256];
    snprintf(text, sizeof text, "/proc/self/task/%d/syscall", thread);
    long fd = thread != 0 ? syscall(SYS_openat, AT_FDCWD, text, O_RDONLY | O_CLOEXEC) : -1;
    long got = fd >= 0 ? syscall(SYS_read, fd, text, sizeof text - 1) : 0;
    if (fd >= 0)
        syscall(SYS_close, fd);
    text[got > 0 ? got : 0] = '\0';
    const char *last = strrchr(text, ' ');
    return last ? strtoull(last, NULL, 16) : 0;
}

static int look_for_faults(struct ff__soft *soft, struct ff__fault *faults, uint32_t capacity) {
    int count = ff__changes_read(&soft->changes, &soft->uffd, faults, capacity);
    uint64_t now = count > 0 ? ff__clock_ns() : 0;
    if (count <= 0 || now - soft->looked_ns < LOOK_NS)
        return count;
    soft->looked_ns = now;
    faults[0].code = instruction_of(faults[0].thread);
    return count;
}

/* Spins a while if the next faults are likely to follow; then sleeps. */
int ff__soft_wait(void *self, struct ff__fault *faults, uint32_t capacity, bool soon,
                  uint64_t timeout_ns) {
    struct ff__soft *soft = self;
    uint64_t end = soon && soft->spin_ns > 0 ? ff__clock_ns() + soft->spin_ns : 0;
    int count;
    while ((count = look_for_faults(soft, faults, capacity)) == 0 && ff__clock_ns() < end)
        ff__cpu_relax();
    if (count == 0) {
        sleep_for_faults(soft, timeout_ns);
        count = look_for_faults(soft, faults, capacity);
    }
    return count;
}

/* Wakes the whole window even for no pages, which costs no more: a thread that has no reason to go
 * on faults again. */
void ff__soft_replay(void *self, uint32_t block, const struct ff_mask *pages) {
    struct ff__soft *soft = self;
    FF_MASK_FOR_EACH_PAGE(pages, page) {
        if (!soft->use_move) /* it may be protected still, if to lift that has failed */
            ff__uffd_protect(&soft->uffd, ff__soft_managed_at(soft, block, page), FF_PAGE_SIZE,
                             false);
        if (ff__uffd_fill(&soft->uffd, ff__soft_managed_at(soft, block, page), soft->memory.zeros))
            ff__changes_filled(&soft->changes, block, page);
    }
    char *window = soft->memory.managed + ((size_t)block << FF_BLOCK_SHIFT);
    ff__uffd_wake(&soft->uffd, window, FF_BLOCK_SIZE);
}

void ff__soft_reject(void *self, const struct ff__fault *fault) {
    struct ff__soft *soft = self;
    uint64_t page = fault->address & ~(uint64_t)(FF_PAGE_SIZE - 1);
    ff__uffd_wake(&soft->uffd, (void *)(uintptr_t)page, FF_PAGE_SIZE);
    if (!ff__stray_is_mistake(&soft->strays, fault, ff__clock_ns()))
        return;
    /* the access is what a segmentation fault is on other memory */
    if (fault->thread)
        syscall(SYS_tgkill, getpid(), fault->thread, SIGSEGV);
    else
        kill(getpid(), SIGSEGV);
}
