#include "backend/soft/area.h"

#include "base/error.h"

#include <farfault/mask.h>
#include <string.h>
#include <sys/mman.h>

/* What all areas have in common. A program that locks all its memory would have the whole area
 * allocated. */
static void set_up(char *area, size_t size, enum ff__area_kind kind) {
    munlock(area, size);
    madvise(area, size, kind == FF__AREA_SMALL ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
    madvise(area, size, MADV_DONTFORK);
    madvise(area, size, MADV_DONTDUMP);
}

/* Reserves addresses without access, and cuts off what is not aligned. */
static char *reserve_aligned(size_t size) {
    size_t padded = size + FF_BLOCK_SIZE;
    char *area = mmap(NULL, padded, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (area == MAP_FAILED)
        return NULL;
    char *aligned = area + -(uintptr_t)area % FF_BLOCK_SIZE;
    if (aligned > area)
        munmap(area, (size_t)(aligned - area));
    size_t after = (size_t)(area + padded - (aligned + size));
    if (after > 0)
        munmap(aligned + size, after);
    return aligned;
}

/* Opened only after it is known not to be locked: then nothing is allocated. */
static char *open_up(char *area, size_t size, enum ff__area_kind kind) {
    set_up(area, size, kind);
    if (kind != FF__AREA_SHUT && mprotect(area, size, PROT_READ | PROT_WRITE)) {
        munmap(area, size);
        return NULL;
    }
    return area;
}

char *ff__area_reserve(size_t size, enum ff__area_kind kind) {
    char *area = reserve_aligned(size);
    return area ? open_up(area, size, kind) : NULL;
}

char *ff__area_reserve_file(size_t size, int fd) {
    char *area = reserve_aligned(size);
    if (!area)
        return NULL;
    if (mmap(area, size, PROT_NONE, MAP_FIXED | MAP_NORESERVE | MAP_SHARED, fd, 0) == MAP_FAILED) {
        munmap(area, size);
        return NULL;
    }
    return open_up(area, size, FF__AREA_SMALL);
}

bool ff__area_reserve_at(char *place, size_t size) {
    char *area = mmap(place, size, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (area == MAP_FAILED)
        return false;
    if (area != place) { /* a kernel that does not know the flag: Linux before 4.17 */
        munmap(area, size);
        return false;
    }
    set_up(area, size, FF__AREA_SHUT);
    return true;
}

int ff__area_fail(struct ff_error *error, int status, size_t size) {
    return ff__fail(error, status,
                    "cannot reserve %zu bytes of managed addresses: %s; if addresses are limited "
                    "(ulimit -v), reserve fewer: FARFAULT_ADDRESS_SPACE, or address_space",
                    size, strerror(-status));
}

void ff__area_release(char *area, size_t size) {
    if (area)
        munmap(area, size);
}
