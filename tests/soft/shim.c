#include "soft/shim.h"

#include <errno.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/random.h"

#ifndef UFFDIO_MOVE /* Linux 6.8 */
struct uffdio_move {
    __u64 dst, src, len, mode;
    __s64 move;
};
#define UFFDIO_MOVE _IOWR(UFFDIO, 0x05, struct uffdio_move)
#endif

#define PAGE UINT64_C(4096)

const struct shim_way shim_ways[SHIM_WAYS] = {
    {"a part, EAGAIN", EAGAIN, true}, {"a part, EBUSY", EBUSY, true}, {"EBUSY", EBUSY, false},
    {"EEXIST", EEXIST, false},        {"ENOENT", ENOENT, false},      {"EAGAIN", EAGAIN, false},
    {"ENOMEM", ENOMEM, false},
};

static struct {
    bool armed; /* atomic */
    pthread_mutex_t lock;
    struct ff__random random;
    unsigned per_mille;
    long at; /* negative: at random */
    unsigned way;
    long calls, hits;
} shim = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void arm(long at, unsigned way, uint64_t seed, unsigned per_mille) {
    pthread_mutex_lock(&shim.lock);
    shim.at = at;
    shim.way = way;
    shim.random = ff__random_seeded(seed);
    shim.per_mille = per_mille;
    shim.calls = shim.hits = 0;
    pthread_mutex_unlock(&shim.lock);
    __atomic_store_n(&shim.armed, true, __ATOMIC_RELEASE);
}

void shim_random(uint64_t seed, unsigned per_mille) {
    arm(-1, 0, seed, per_mille);
}

void shim_one(long at, unsigned way) {
    arm(at, way, 0, 0);
}

void shim_off(void) {
    __atomic_store_n(&shim.armed, false, __ATOMIC_RELEASE);
}

static long read_locked(const long *number) {
    pthread_mutex_lock(&shim.lock);
    long value = *number;
    pthread_mutex_unlock(&shim.lock);
    return value;
}

long shim_calls(void) {
    return read_locked(&shim.calls);
}

long shim_hits(void) {
    return read_locked(&shim.hits);
}

/* How this call is to fail, or NULL. *share: of a partial one, how much of its work is done. */
static const struct shim_way *draw(uint32_t *share) {
    const struct shim_way *way = NULL;
    if (!__atomic_load_n(&shim.armed, __ATOMIC_ACQUIRE))
        return NULL;
    pthread_mutex_lock(&shim.lock);
    long call = shim.calls++;
    if (shim.at >= 0 && call == shim.at)
        way = &shim_ways[shim.way];
    else if (shim.at < 0 && ff__random_below(&shim.random, 1000) < shim.per_mille)
        way = &shim_ways[ff__random_below(&shim.random, SHIM_WAYS)];
    *share = ff__random_below(&shim.random, 1000);
    shim.hits += way != NULL;
    pthread_mutex_unlock(&shim.lock);
    return way;
}

/* The first pages of so many bytes: at least one, not all. 0: there is only one. */
static uint64_t part_of(uint64_t bytes, uint32_t share) {
    uint64_t pages = bytes / PAGE;
    return pages < 2 ? 0 : (1 + (pages - 1) * share / 1000) * PAGE;
}

static int fail(int error) {
    errno = error;
    return -1;
}

int __real_ioctl(int fd, unsigned long request, void *argument);
int __wrap_ioctl(int fd, unsigned long request, void *argument);
int __real_madvise(void *area, size_t size, int advice);
int __wrap_madvise(void *area, size_t size, int advice);
long __real_syscall(long number, ...);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);

/* ---- moves and copies: both say how far they came ---- */

static int fail_move(int fd, struct uffdio_move *move, const struct shim_way *way, uint32_t share) {
    struct uffdio_move part = *move;
    part.len = way->partial ? part_of(move->len, share) : 0;
    move->move = -way->error;
    if (part.len == 0)
        return fail(way->error);
    if (__real_ioctl(fd, UFFDIO_MOVE, &part) == 0 || part.move > 0) {
        move->move = part.move;
        return fail(way->error);
    }
    move->move = part.move; /* its own error */
    return -1;
}

static int fail_copy(int fd, struct uffdio_copy *copy, const struct shim_way *way, uint32_t share) {
    struct uffdio_copy part = *copy;
    part.len = way->partial ? part_of(copy->len, share) : way->error == EEXIST ? PAGE : 0;
    copy->copy = -way->error;
    if (part.len == 0)
        return fail(way->error);
    if (__real_ioctl(fd, UFFDIO_COPY, &part) == 0 || part.copy > 0) {
        copy->copy = way->error == EEXIST ? -EEXIST : part.copy;
        return fail(way->error);
    }
    copy->copy = part.copy;
    return -1;
}

static int fail_protect(int fd, const struct uffdio_writeprotect *protect,
                        const struct shim_way *way, uint32_t share) {
    struct uffdio_writeprotect part = *protect;
    part.range.len = way->partial ? part_of(protect->range.len, share) : 0;
    if (part.range.len > 0 && __real_ioctl(fd, UFFDIO_WRITEPROTECT, &part))
        return -1;
    return fail(way->error);
}

int __wrap_ioctl(int fd, unsigned long request, void *argument) {
    bool moves = request == UFFDIO_MOVE, copies = request == UFFDIO_COPY,
         protects = request == UFFDIO_WRITEPROTECT;
    uint32_t share = 0;
    const struct shim_way *way = moves || copies || protects ? draw(&share) : NULL;
    if (!way)
        return __real_ioctl(fd, request, argument);
    return moves    ? fail_move(fd, argument, way, share)
           : copies ? fail_copy(fd, argument, way, share)
                    : fail_protect(fd, argument, way, share);
}

/* ---- madvise ---- */

int __wrap_madvise(void *area, size_t size, int advice) {
    uint32_t share = 0;
    bool drops = advice == MADV_DONTNEED;
    const struct shim_way *way = drops || advice == MADV_POPULATE_WRITE ? draw(&share) : NULL;
    if (!way)
        return __real_madvise(area, size, advice);
    uint64_t part = way->partial ? part_of(size, share) : 0;
    if (part > 0 && __real_madvise(area, part, advice))
        return -1;
    return fail(way->error);
}

/* ---- process_madvise: says how far it came, and fails only if that is nowhere ---- */

static long fail_runs(long pidfd, const struct iovec *runs, long count, long advice,
                      const struct shim_way *way, uint32_t share) {
    long part = way->partial ? count * share / 1000 : 0;
    return part > 0 ? __real_syscall(SYS_process_madvise, pidfd, (long)runs, part, advice, 0, 0)
                    : fail(way->error);
}

long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f) {
    uint32_t share = 0;
    const struct shim_way *way = number == SYS_process_madvise ? draw(&share) : NULL;
    return way ? fail_runs(a, (const struct iovec *)b, c, d, way, share)
               : __real_syscall(number, a, b, c, d, e, f);
}

/* ---- read ---- */

static unsigned read_late[2]; /* by enum shim_messages: microseconds; atomic */

void shim_read_late(enum shim_messages messages, unsigned microseconds) {
    __atomic_store_n(&read_late[messages], microseconds, __ATOMIC_RELAXED);
}

static _Thread_local unsigned late_faults; /* microseconds to wait with what has just been read */

static bool has_kind(const struct uffd_msg *messages, ssize_t bytes, enum shim_messages kind) {
    bool has = false;
    for (ssize_t i = 0; i < bytes / (ssize_t)sizeof *messages; i++)
        has = has || (messages[i].event == UFFD_EVENT_PAGEFAULT) == (kind == SHIM_FAULTS);
    return has;
}

static unsigned lateness(const struct uffd_msg *messages, ssize_t bytes, enum shim_messages kind) {
    unsigned late = __atomic_load_n(&read_late[kind], __ATOMIC_RELAXED);
    return late > 0 && has_kind(messages, bytes, kind) ? late : 0;
}

ssize_t __real_ff__descriptor_read(int fd, void *buffer, size_t size);
ssize_t __wrap_ff__descriptor_read(int fd, void *buffer, size_t size);
int __real_pthread_rwlock_unlock(pthread_rwlock_t *lock);
int __wrap_pthread_rwlock_unlock(pthread_rwlock_t *lock);

ssize_t __wrap_ff__descriptor_read(int fd, void *buffer, size_t size) {
    ssize_t bytes = __real_ff__descriptor_read(fd, buffer, size);
    late_faults = lateness(buffer, bytes, SHIM_FAULTS);
    unsigned late = lateness(buffer, bytes, SHIM_CHANGES);
    if (late > 0)
        usleep(late);
    return bytes;
}

/* Messages are read with this lock held; faults are served after it has been released. */
int __wrap_pthread_rwlock_unlock(pthread_rwlock_t *lock) {
    int status = __real_pthread_rwlock_unlock(lock);
    unsigned late = late_faults;
    late_faults = 0;
    if (late > 0)
        usleep(late);
    return status;
}
