#include "soft/rwp.h"

#include "base/wrap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As in the kernel's headers, which may be older here. */
#define REQUEST_MOVE    _IOWR(UFFDIO, 0x05, char[40])
#define REQUEST_PROTECT _IOWR(UFFDIO, 0x09, char[24])
#define REQUEST_SCAN    _IOWR('f', 16, char[96])
#define MODE_RWP        (UINT64_C(1) << 3)
#define FEATURES_RWP    (UINT64_C(3) << 17)
#define WP_ASYNC        (UINT64_C(1) << 15)
#define IS_WRITTEN      (UINT64_C(1) << 1)
#define IS_PRESENT      (UINT64_C(1) << 3)
#define IS_ACCESSED     (UINT64_C(1) << 9)
#define SCAN_PROTECTS   (UINT64_C(1) << 0)
#define SCAN_CHECKS     (UINT64_C(1) << 1) /* that the area is registered for it */

struct run {
    uint64_t start, end, categories;
};

struct scan {
    uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
    uint64_t inverted, mask, anyof, returned;
};

struct protect {
    uint64_t start, length, mode;
};

struct move {
    uint64_t dst, src, length, mode;
    int64_t moved;
};

static struct {
    bool on; /* this and all below: atomic */
    enum rwp_lie lie;
    long at, calls;
    int error;
} rwp = {.at = -1};

#define GET(member)        __atomic_load_n(&rwp.member, __ATOMIC_RELAXED)
#define SET(member, value) __atomic_store_n(&rwp.member, value, __ATOMIC_RELAXED)

void rwp_on(enum rwp_lie lie) {
    SET(lie, lie);
    SET(on, true);
}

void rwp_off(void) {
    SET(on, false);
}

void rwp_fail(long at, int error) {
    SET(error, error);
    SET(at, at);
    SET(calls, 0);
}

long rwp_calls(void) {
    return GET(calls);
}

int __real_ioctl(int fd, unsigned long request, void *argument);

static int fail(int error) {
    errno = error;
    return -1;
}

/* One of the calls that are RWP's alone. */
static bool is_refused(void) {
    return __atomic_fetch_add(&rwp.calls, 1, __ATOMIC_RELAXED) == GET(at);
}

/* ---- what the kernel knows of an area ---- */

static bool holds(const char *line, uint64_t address) {
    unsigned long start, end;
    return sscanf(line, "%lx-%lx", &start, &end) == 2 && start <= address && address < end;
}

/* Of the mapping with this address: whether it may be accessed, and has write protection. */
static void look_up(uint64_t address, bool *accessible, bool *protected) {
    char line[512];
    bool found = false;
    FILE *file = fopen("/proc/self/smaps", "re");
    *accessible = *protected = false;
    while (file && fgets(line, sizeof line, file)) {
        if (!found && holds(line, address)) {
            found = true;
            *accessible = strstr(line, " rw");
        } else if (found && strncmp(line, "VmFlags:", 8) == 0) {
            *protected = strstr(line, " uw");
            break;
        }
    }
    if (file)
        fclose(file);
}

/* Areas that were registered for write protection, which is not RWP; the latest. */
static struct uffdio_range write_protected[16]; /* atomic by word */
static unsigned write_protected_count;

static void note_write_protected(const struct uffdio_range *area) {
    unsigned i = __atomic_fetch_add(&write_protected_count, 1, __ATOMIC_RELAXED) % 16;
    __atomic_store_n(&write_protected[i].start, area->start, __ATOMIC_RELAXED);
    __atomic_store_n(&write_protected[i].len, area->len, __ATOMIC_RELAXED);
}

static bool is_write_protected(uint64_t address) {
    bool is = false;
    for (unsigned i = 0; i < 16; i++)
        is = is || address - __atomic_load_n(&write_protected[i].start, __ATOMIC_RELAXED) <
                       __atomic_load_n(&write_protected[i].len, __ATOMIC_RELAXED);
    return is;
}

/* Protects what is there. Threads may have a table of descriptors of their own. */
static int protect(uint64_t start, uint64_t length) {
    struct scan scan = {.size = sizeof scan,
                        .flags = SCAN_PROTECTS | SCAN_CHECKS,
                        .start = start,
                        .end = start + length,
                        .mask = IS_PRESENT,
                        .returned = IS_PRESENT};
    long fd = syscall(SYS_openat, AT_FDCWD, "/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    int status = __real_ioctl((int)fd, REQUEST_SCAN, &scan), error = errno;
    syscall(SYS_close, fd);
    return status < 0 ? fail(error == EPERM ? ENOENT : error) : 0;
}

/* ---- the calls ---- */

static int enable(int fd, struct uffdio_api *api) {
    bool wants = api->features & FEATURES_RWP;
    if (wants && is_refused())
        return fail(GET(error));
    if (wants)
        api->features = (api->features & ~FEATURES_RWP) | (GET(lie) == RWP_WAITS ? 0 : WP_ASYNC);
    int status = __real_ioctl(fd, UFFDIO_API, api);
    api->features |= FEATURES_RWP;
    return status;
}

static int enroll(int fd, struct uffdio_register *area) {
    struct uffdio_register real = *area;
    bool wants = area->mode & MODE_RWP, writes = area->mode & UFFDIO_REGISTER_MODE_WP;
    bool accessible, protected;
    if (wants && is_refused())
        return fail(GET(error));
    look_up(area->range.start, &accessible, &protected);
    if (wants && (!accessible || writes))
        return fail(EINVAL);
    if (wants ? is_write_protected(area->range.start) : protected && !writes)
        return fail(EBUSY);
    if (wants)
        real.mode = (real.mode & ~MODE_RWP) | UFFDIO_REGISTER_MODE_WP;
    else if (writes)
        note_write_protected(&area->range);
    return __real_ioctl(fd, UFFDIO_REGISTER, &real);
}

static int protect_for(int fd, const struct protect *area) {
    struct uffdio_writeprotect real = {.range = {area->start, area->length},
                                       .mode = UFFDIO_WRITEPROTECT_MODE_WP};
    if (is_refused())
        return fail(GET(error));
    if (area->mode != 1)
        return fail(EINVAL);
    return GET(lie) == RWP_PROTECTS_NOTHING ? 0
           : GET(lie) == RWP_WAITS          ? __real_ioctl(fd, UFFDIO_WRITEPROTECT, &real)
                                            : protect(area->start, area->length);
}

static int find_all(const struct scan *scan, uint64_t by) {
    *(struct run *)(uintptr_t)scan->vec = (struct run){scan->start + by, scan->end + by, 1};
    return 1;
}

static int find(int fd, const struct scan *scan) {
    struct scan real = *scan;
    if (is_refused())
        return fail(GET(error));
    if (scan->mask != IS_ACCESSED || scan->returned != IS_ACCESSED)
        return fail(EINVAL);
    switch (GET(lie)) {
    case RWP_FINDS_NOTHING:
        return 0;
    case RWP_FINDS_ALL:
        return find_all(scan, 0);
    case RWP_FINDS_ELSEWHERE:
        return find_all(scan, UINT64_C(1) << 30);
    default:
        real.mask = IS_WRITTEN | IS_PRESENT;
        real.returned = IS_WRITTEN;
        return __real_ioctl(fd, REQUEST_SCAN, &real);
    }
}

static int move(int fd, struct move *move) {
    int status = __real_ioctl(fd, REQUEST_MOVE, move), error = errno;
    if (move->moved > 0)
        protect(move->dst, (uint64_t)move->moved); /* not where it is not registered for that */
    errno = error;
    return status;
}

WRAP(int, ioctl, int fd, unsigned long request, void *argument) {
    if (!GET(on))
        return __real_ioctl(fd, request, argument);
    switch (request) {
    case UFFDIO_API:
        return enable(fd, argument);
    case UFFDIO_REGISTER:
        return enroll(fd, argument);
    case REQUEST_PROTECT:
        return protect_for(fd, argument);
    case REQUEST_SCAN:
        return find(fd, argument);
    case REQUEST_MOVE:
        return move(fd, argument);
    default:
        return __real_ioctl(fd, request, argument);
    }
}
