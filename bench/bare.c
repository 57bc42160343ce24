#include "bare.h"

#include "touch.h"

#include "backend/soft/uffd.h"
#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct bare {
    struct ff__uffd uffd;
    pthread_t threads[BARE_HANDLERS_MAX]; /* serve, unless signals do */
    unsigned handlers;
    char *area, *source;
    size_t size, unit;
    uint64_t spin_ns;
    volatile bool stop;
};

static struct bare *in_signal; /* the loop that on_sigbus serves */

static char *map_aligned(size_t size) {
    char *raw = mmap(NULL, size + FF_BLOCK_SIZE, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (raw == MAP_FAILED)
        return NULL;
    uintptr_t up = ((uintptr_t)raw + FF_BLOCK_SIZE - 1) & ~(uintptr_t)(FF_BLOCK_SIZE - 1);
    return (char *)up; /* the process ends soon: the slack is not returned */
}

static void fill(struct bare *bare, uint64_t address) {
    size_t at = (size_t)(address - (uintptr_t)bare->area) / bare->unit * bare->unit;
    size_t copied;
    ff__uffd_copy(&bare->uffd, bare->area + at, bare->source + at, bare->unit, &copied);
}

static void on_sigbus(int number, siginfo_t *info, void *context) {
    (void)number, (void)context;
    fill(in_signal, (uintptr_t)info->si_addr);
}

static void *serve(void *argument) {
    struct bare *bare = argument;
    struct ff__uffd_message messages[16];
    uint32_t most = bare->handlers > 1 ? 1 : 16; /* what one takes, another one cannot serve */
    uint64_t last = 0;
    while (!bare->stop) {
        int count = ff__uffd_read(&bare->uffd, messages, most);
        for (int i = 0; i < count; i++)
            fill(bare, messages[i].fault.address);
        if (count > 0 && bare->spin_ns)
            last = ff__clock_ns();
        if (count == 0 && (bare->spin_ns == 0 || ff__clock_ns() - last > bare->spin_ns)) {
            struct pollfd fd = {.fd = bare->uffd.fd, .events = POLLIN};
            poll(&fd, 1, 50);
        }
    }
    return NULL;
}

static int open_bare(struct bare *bare, size_t size, bool sigbus) {
    struct ff_error error;
    int status = ff__uffd_open(&bare->uffd, sigbus ? FF__UFFD_SIGBUS : 0, &error);
    if (status)
        return status;
    bare->size = size;
    bare->area = map_aligned(size);
    bare->source = map_aligned(size);
    if (!bare->area || !bare->source)
        return -ENOMEM;
    madvise(bare->source, size, MADV_HUGEPAGE);
    memset(bare->source, 1, size);
    return ff__uffd_register(&bare->uffd, bare->area, size);
}

static void close_bare(struct bare *bare) {
    ff__uffd_close(&bare->uffd);
    munmap(bare->area, bare->size);
    munmap(bare->source, bare->size);
}

static void stop_handlers(struct bare *bare) {
    bare->stop = true;
    while (bare->handlers > 0)
        pthread_join(bare->threads[--bare->handlers], NULL);
}

static int start_handlers(struct bare *bare, unsigned handlers) {
    bare->handlers = handlers;
    for (unsigned i = 0; i < handlers; i++) {
        if (pthread_create(&bare->threads[i], NULL, serve, bare)) {
            bare->handlers = i;
            stop_handlers(bare);
            return -EAGAIN;
        }
    }
    return 0;
}

struct bare *bare_open(size_t size, size_t unit, enum ff_handler handler, uint64_t spin_ns,
                       unsigned handlers) {
    struct bare *bare = calloc(1, sizeof *bare);
    bool sigbus = handler == FF_HANDLER_SIGBUS;
    if (!bare)
        return NULL;
    *bare = (struct bare){.unit = unit, .spin_ns = handler == FF_HANDLER_ADAPTIVE ? spin_ns : 0};
    if (open_bare(bare, size, sigbus) || (!sigbus && start_handlers(bare, handlers))) {
        free(bare);
        return NULL;
    }
    return bare;
}

double bare_fault_seconds(struct bare *bare, unsigned threads) {
    struct sigaction action = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO}, before;
    struct touching touching = {&bare->area, bare->size, 1, bare->unit};
    madvise(bare->area, bare->size, MADV_DONTNEED);
    in_signal = bare;
    if (bare->uffd.sigbus)
        sigaction(SIGBUS, &action, &before);
    double seconds = touch_seconds(&touching, threads);
    if (bare->uffd.sigbus)
        sigaction(SIGBUS, &before, NULL);
    return seconds;
}

void bare_close(struct bare *bare) {
    stop_handlers(bare);
    close_bare(bare);
    free(bare);
}

int bare_copy_seconds(size_t size, size_t unit, double *seconds) {
    struct bare bare = {.unit = unit};
    int status = open_bare(&bare, size, false);
    if (status)
        return status;
    uint64_t start = ff__clock_ns();
    size_t copied;
    for (size_t at = 0; at < size && !status; at += unit)
        status = ff__uffd_copy(&bare.uffd, bare.area + at, bare.source + at, unit, &copied);
    *seconds = (double)(ff__clock_ns() - start) * 1e-9;
    close_bare(&bare);
    return status;
}

double memcpy_seconds(size_t size) {
    static char *from, *to;
    static size_t mapped;
    if (mapped < size) {
        from = map_aligned(size);
        to = map_aligned(size);
        mapped = size;
        madvise(from, size, MADV_HUGEPAGE);
        madvise(to, size, MADV_HUGEPAGE);
        memset(from, 1, size);
        memset(to, 2, size);
    }
    uint64_t start = ff__clock_ns();
    memcpy(to, from, size);
    return (double)(ff__clock_ns() - start) * 1e-9;
}
