#include "backend/soft/memory.h"

#include "base/error.h"
#include "base/lazy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Reserves addresses aligned to a block; nothing is allocated until touched. */
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
    if (mmap(aligned, size, PROT_READ | PROT_WRITE, flags, fd, 0) == MAP_FAILED) {
        munmap(aligned, size);
        return NULL;
    }
    madvise(aligned, size, MADV_HUGEPAGE);
    madvise(aligned, size, MADV_DONTFORK);
    madvise(aligned, size, MADV_DONTDUMP);
    return aligned;
}

static void release(char *area, size_t size) {
    if (area)
        munmap(area, size);
}

/* The file is made, never overwritten: a mistyped path must not cost anybody data. */
static int open_host_file(struct ff__memory *memory, const char *path, struct ff_error *error) {
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return ff__fail(error, -errno, "host file %s: %s%s", path, strerror(errno),
                        errno == EEXIST ? "; name one that does not exist" : "");
    memory->host_fd = fd;
    unlink(path); /* it lives as long as it is open, so a killed process leaves nothing behind */
    if (ftruncate(fd, (off_t)memory->size))
        return ff__fail(error, -errno, "host file %s: %s", path, strerror(errno));
    int status = ff__memory_reserve_host(memory, 0, FF_BLOCK_SIZE);
    if (status)
        return ff__fail(error, status, "host file %s: %s", path, strerror(-status));
    return 0;
}

static int init_device(struct ff__memory *memory, uint32_t tier, const struct ff__uffd *uffd) {
    memory->frames[tier] = reserve(memory->device_size, -1);
    memory->nursery[tier] = reserve(memory->device_size, -1);
    memory->ready[tier] = ff__lazy_map(memory->device_size >> FF_BLOCK_SHIFT);
    if (!memory->frames[tier] || !memory->nursery[tier] || !memory->ready[tier])
        return -ENOMEM;
    return ff__uffd_register(uffd, memory->frames[tier], memory->device_size);
}

int ff__memory_init(struct ff__memory *memory, const struct ff_config *config,
                    const struct ff__uffd *uffd, struct ff_error *error) {
    memset(memory, 0, sizeof *memory);
    memory->host_fd = -1;
    memory->size = config->address_space;
    memory->device_size = config->memory;
    memory->tier_count = config->devices + 1;
    int status = config->host_file ? open_host_file(memory, config->host_file, error) : 0;
    if (status) {
        ff__memory_fini(memory);
        return status;
    }
    memory->managed = reserve(memory->size, -1);
    memory->host = reserve(memory->size, memory->host_fd);
    memory->zeros = reserve(FF_BLOCK_SIZE, -1);
    memory->sums = ff__lazy_map((memory->size >> FF_BLOCK_SHIFT) * sizeof *memory->sums);
    status = -ENOMEM;
    if (memory->managed && memory->host && memory->zeros && memory->sums)
        status = ff__uffd_register(uffd, memory->managed, memory->size);
    for (uint32_t tier = 1; tier < memory->tier_count && !status; tier++)
        status = init_device(memory, tier, uffd);
    if (status) {
        ff__memory_fini(memory);
        return ff__fail(error, status, "cannot reserve %llu bytes of managed addresses: %s",
                        (unsigned long long)memory->size, strerror(-status));
    }
    return 0;
}

void ff__memory_fini(struct ff__memory *memory) {
    release(memory->managed, memory->size);
    release(memory->host, memory->size);
    release((char *)(uintptr_t)memory->zeros, FF_BLOCK_SIZE);
    if (memory->sums)
        ff__lazy_unmap(memory->sums, (memory->size >> FF_BLOCK_SHIFT) * sizeof *memory->sums);
    for (uint32_t tier = 1; tier < memory->tier_count; tier++) {
        release(memory->frames[tier], memory->device_size);
        release(memory->nursery[tier], memory->device_size);
        ff__lazy_unmap(memory->ready[tier], memory->device_size >> FF_BLOCK_SHIFT);
    }
    if (memory->host_fd >= 0)
        close(memory->host_fd);
    memset(memory, 0, sizeof *memory);
    memory->host_fd = -1;
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
    if (memory->host_fd < 0)
        madvise(memory->host + offset, size, MADV_DONTNEED);
    else
        fallocate(memory->host_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
                  (off_t)size);
    /* the sums may stay: they are compared only for pages that the host holds */
}
