#include "backend/soft/memory.h"

#include "base/error.h"
#include "base/lazy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* What all areas have in common. */
static void set_up(char *area, size_t size) {
    munlock(area,
            size); /* a program that locks all its memory would have the whole area allocated */
    madvise(area, size, MADV_HUGEPAGE);
    madvise(area, size, MADV_DONTFORK);
    madvise(area, size, MADV_DONTDUMP);
}

/* Reserves addresses aligned to a block, without access. */
static char *reserve(size_t size, int fd) {
    size_t padded = size + FF_BLOCK_SIZE;
    char *area = mmap(NULL, padded, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (area == MAP_FAILED)
        return NULL;
    char *aligned =
        (char *)(((uintptr_t)area + FF_BLOCK_SIZE - 1) & ~(uintptr_t)(FF_BLOCK_SIZE - 1));
    if (aligned > area)
        munmap(area, (size_t)(aligned - area));
    size_t after = (size_t)(area + padded - (aligned + size));
    if (after > 0)
        munmap(aligned + size, after);
    int flags = MAP_FIXED | MAP_NORESERVE | (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED);
    if (mmap(aligned, size, PROT_NONE, flags, fd, 0) == MAP_FAILED) {
        munmap(aligned, size);
        return NULL;
    }
    set_up(aligned, size);
    return aligned;
}

bool ff__memory_reserve_at(char *place, size_t size) {
    char *area = mmap(place, size, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (area == MAP_FAILED)
        return false;
    if (area != place) { /* a kernel that does not know the flag: Linux before 4.17 */
        munmap(area, size);
        return false;
    }
    set_up(area, size);
    return true;
}

/* Allocated when touched. */
static char *reserve_open(size_t size) {
    char *area = reserve(size, -1);
    if (area && mprotect(area, size, PROT_READ | PROT_WRITE)) {
        munmap(area, size);
        return NULL;
    }
    return area;
}

static void release(char *area, size_t size) {
    if (area)
        munmap(area, size);
}

/* A file beside the path, which lives as long as it is open. One that a process leaves behind which is killed before the
 * file has lost its name is in nobody's way. A negative value: errno says why. */
static int make_host_file(const char *path) {
    struct stat about;
    char name[PATH_MAX + 8];
    snprintf(name, sizeof name, "%s.XXXXXX", path);
    errno = EEXIST; /* a mistyped path must not cost data */
    int fd = lstat(path, &about) == 0 ? -1 : mkostemp(name, O_CLOEXEC);
    if (fd >= 0)
        unlink(name);
    return fd;
}

static int open_host_file(struct ff__memory *memory, const char *path, struct ff_error *error) {
    int fd = make_host_file(path);
    if (fd < 0)
        return ff__fail(error, -errno, "host file %s: %s%s", path, strerror(errno),
                        errno == EEXIST ? "; name one that does not exist" : "");
    memory->host_fd = fd;
    if (ftruncate(fd, (off_t)memory->size))
        return ff__fail(error, -errno, "host file %s: %s", path, strerror(errno));
    int status = ff__memory_reserve_host(memory, 0, FF_BLOCK_SIZE);
    if (status)
        return ff__fail(error, status, "host file %s: %s", path, strerror(-status));
    return 0;
}

static size_t ready_size(const struct ff__memory *memory) {
    return (memory->frames_size >> FF_BLOCK_SHIFT) * sizeof(uint32_t);
}

static size_t sums_size(const struct ff__memory *memory) {
    return (memory->size >> FF_BLOCK_SHIFT) * sizeof *memory->sums;
}

static size_t has_tail_size(const struct ff__memory *memory) {
    return (memory->size >> FF_BLOCK_SHIFT) * sizeof *memory->has_tail;
}

static size_t holds_size(const struct ff__memory *memory) {
    return (memory->device_size >> FF_BLOCK_SHIFT) * sizeof(bool);
}

static int init_lent(struct ff__memory *memory, uint32_t tier) {
    memory->lent[tier] = reserve_open(memory->lent_size[tier]);
    memory->holds_lent[tier] = ff__lazy_map(holds_size(memory));
    return memory->lent[tier] && memory->holds_lent[tier] ? 0 : -ENOMEM;
}

/* Without MOVE a device's memory is the kernel's to hand out. */
static int init_device(struct ff__memory *memory, uint32_t tier, const struct ff__uffd *uffd) {
    if (memory->tier_count > 2 && init_lent(memory, tier))
        return -ENOMEM;
    if (uffd->staging_fd < 0 || tier > memory->devices)
        return 0;
    memory->frames[tier] = reserve_open(memory->frames_size);
    memory->fresh[tier] = reserve(memory->frames_size, -1);
    memory->ready[tier] = ff__lazy_map(ready_size(memory));
    if (!memory->frames[tier] || !memory->fresh[tier] || !memory->ready[tier])
        return -ENOMEM;
    return ff__uffd_register_staging(uffd, memory->frames[tier], memory->frames_size);
}

static int init_aside(struct ff__memory *memory, const struct ff__uffd *uffd) {
    if (uffd->staging_fd < 0)
        return 0;
    memory->aside = reserve_open(memory->size);
    return memory->aside ? ff__uffd_register_staging(uffd, memory->aside, memory->size) : -ENOMEM;
}

/* All that is allocated may be pinned, as far as the machine has memory. */
static uint64_t most_pinned(const struct ff_config *config) {
    uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    return (config->address_space < machine ? config->address_space : machine) &
           ~(uint64_t)(FF_BLOCK_SIZE - 1);
}

int ff__memory_init(struct ff__memory *memory, const struct ff_config *config,
                    const struct ff__neighbours *neighbours, const struct ff__uffd *uffd,
                    struct ff_error *error) {
    memset(memory, 0, sizeof *memory);
    memory->host_fd = -1;
    memory->size = config->address_space;
    memory->device_size = config->memory;
    memory->frames_size = config->memory + most_pinned(config);
    memory->devices = config->devices;
    memory->tier_count = 1 + config->devices + neighbours->count;
    for (uint32_t tier = 1; tier < memory->tier_count; tier++)
        memory->lent_size[tier] = tier <= config->devices
                                      ? config->memory
                                      : neighbours->memory[tier - 1 - config->devices];
    int status = config->host_file ? open_host_file(memory, config->host_file, error) : 0;
    if (status)
        return status;
    memory->managed = reserve(memory->size, -1);
    memory->host = reserve(memory->size, memory->host_fd);
    memory->zeros = reserve_open(FF_BLOCK_SIZE);
    memory->sums = ff__lazy_map(sums_size(memory));
    memory->has_tail = ff__lazy_map(has_tail_size(memory));
    status = -ENOMEM;
    if (memory->managed && memory->host && memory->zeros && memory->sums && memory->has_tail)
        status = ff__uffd_register(uffd, memory->managed, memory->size);
    if (!status)
        status = init_aside(memory, uffd);
    for (uint32_t tier = 1; tier < memory->tier_count && !status; tier++)
        status = init_device(memory, tier, uffd);
    if (status)
        return ff__fail(error, status,
                        "cannot reserve %llu bytes of managed addresses: %s; if addresses are "
                        "limited (ulimit -v), set FARFAULT_ADDRESS_SPACE",
                        (unsigned long long)config->address_space, strerror(-status));
    return 0;
}

void ff__memory_fini(struct ff__memory *memory) {
    release(memory->managed, memory->size);
    release(memory->host, memory->size);
    release(memory->aside, memory->size);
    release((char *)(uintptr_t)memory->zeros, FF_BLOCK_SIZE);
    ff__lazy_unmap(memory->sums, sums_size(memory));
    ff__lazy_unmap(memory->has_tail, has_tail_size(memory));
    for (uint32_t tier = 1; tier < memory->tier_count; tier++) {
        release(memory->frames[tier], memory->frames_size);
        release(memory->fresh[tier], memory->frames_size);
        release(memory->lent[tier], memory->lent_size[tier]);
        ff__lazy_unmap(memory->ready[tier], ready_size(memory));
        ff__lazy_unmap(memory->holds_lent[tier], holds_size(memory));
    }
    if (memory->host_fd >= 0)
        close(memory->host_fd);
    memset(memory, 0, sizeof *memory);
    memory->host_fd = -1;
}

int ff__memory_open(struct ff__memory *memory, uint64_t offset, uint64_t size, bool open) {
    int access = open ? PROT_READ | PROT_WRITE : PROT_NONE;
    if (mprotect(memory->managed + offset, size, access) ||
        mprotect(memory->host + offset, size, access))
        return -ENOMEM;
    return 0;
}

void ff__memory_unlock(struct ff__memory *memory) {
    munlock(memory->managed, memory->size);
    if (memory->aside)
        munlock(memory->aside, memory->size);
    for (uint32_t tier = 1; tier < memory->tier_count; tier++) {
        if (memory->lent[tier])
            munlock(memory->lent[tier], memory->lent_size[tier]);
        if (!memory->frames[tier])
            continue;
        munlock(memory->frames[tier], memory->frames_size);
        munlock(memory->fresh[tier], memory->frames_size);
    }
}

void ff__memory_zero_host(struct ff__memory *memory, uint32_t block, const struct ff_mask *pages) {
    uint64_t window = (uint64_t)block << FF_BLOCK_SHIFT;
    FF_MASK_FOR_EACH_RUN(pages, run) {
        char *place = memory->host + window + (size_t)run.first * FF_PAGE_SIZE;
        size_t size = (size_t)(run.end - run.first) * FF_PAGE_SIZE;
        memset(&memory->sums[block][run.first], 0,
               (run.end - run.first) * sizeof memory->sums[block][0]);
        /* a file keeps the room that it has been given */
        if (memory->host_fd >= 0 || madvise(place, size, MADV_DONTNEED))
            memset(place, 0, size);
    }
}

int ff__memory_reserve_host(struct ff__memory *memory, uint64_t offset, uint64_t size) {
    if (memory->host_fd < 0)
        return 0;
    int status;
    do
        status = posix_fallocate(memory->host_fd, (off_t)offset, (off_t)size);
    while (status == EINTR);
    return -status;
}

void ff__memory_release_host(struct ff__memory *memory, uint64_t offset, uint64_t size) {
    madvise(memory->host + offset, size, memory->host_fd < 0 ? MADV_DONTNEED : MADV_REMOVE);
    /* the sums may stay: they are compared only for pages that the host holds */
}
