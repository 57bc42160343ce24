#include "base/lazy.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Less is not worth a call of the system, which other threads may notice: even if it was never
 * touched, zeros are soon written. */
#define GIVE_BACK ((size_t)256 << 10)

/* A multiple of large pages is mapped where such pages start. */
#define LARGE ((size_t)2 << 20)

static size_t mapped(size_t size) {
    size_t unit = size < LARGE / 4 || size > SIZE_MAX - LARGE ? 1 : LARGE;
    return size == 0 ? 1 : (size + unit - 1) / unit * unit;
}

void *ff__lazy_map(size_t size) {
    size = mapped(size);
    /* without access at first: a program that locks all memory it will ever have (mlockall) would
     * have the whole of it allocated */
    void *array = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (array == MAP_FAILED)
        return NULL;
    munlock(array, size);
    if (mprotect(array, size, PROT_READ | PROT_WRITE)) {
        munmap(array, size);
        return NULL;
    }
    madvise(array, size, MADV_DONTDUMP); /* keeps core files as small as what was touched */
    return array;
}

void *ff__lazy_map_dense(size_t size) {
    void *array = ff__lazy_map(size);
    if (array)
        madvise(array, mapped(size), MADV_HUGEPAGE);
    return array;
}

void ff__lazy_unmap(void *array, size_t size) {
    if (array)
        munmap(array, mapped(size));
}

void ff__lazy_clear(void *part, size_t size) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *start = part, *end = start + size;
    char *first = start + -(uintptr_t)start % page, *last = end - (uintptr_t)end % page;
    if (size < GIVE_BACK || madvise(first, (size_t)(last - first), MADV_DONTNEED) != 0) {
        memset(start, 0, size);
        return;
    }
    memset(start, 0, (size_t)(first - start));
    memset(last, 0, (size_t)(end - last));
}

/* ---- what is used ---- */

#define ENTRIES 512u
/* Bits of an entry of /proc/self/pagemap: the page is in memory, or swapped out. A page with
 * neither was never touched. Source: the kernel's Documentation/admin-guide/mm/pagemap.rst. */
#define TOUCHED (UINT64_C(3) << 62)

/* The entries of `count` pages. Those that cannot be read say that the page may have been touched.
 */
static void read_entries(int pagemap, size_t first, size_t count, uint64_t entries[ENTRIES]) {
    size_t size = count * sizeof *entries;
    ssize_t got =
        pagemap < 0 ? -1 : pread(pagemap, entries, size, (off_t)(first * sizeof *entries));
    if (got != (ssize_t)size)
        memset(entries, 0xFF, size);
}

static bool is_zero(const unsigned char *page, size_t size) {
    return page[0] == 0 && memcmp(page, page + 1, size - 1) == 0;
}

size_t ff__lazy_used(const void *array, size_t size) {
    const unsigned char *bytes = array;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = size / page, used = 0;
    int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    for (size_t first = 0, count; first < pages; first += count) {
        uint64_t entries[ENTRIES];
        count = pages - first < ENTRIES ? pages - first : ENTRIES;
        read_entries(pagemap, (uintptr_t)array / page + first, count, entries);
        for (size_t i = 0; i < count;
             i++) /* what was never touched would be allocated by a look at it */
            if (entries[i] & TOUCHED && !is_zero(bytes + (first + i) * page, page))
                used += page;
    }
    if (pagemap >= 0)
        close(pagemap);
    return used;
}
