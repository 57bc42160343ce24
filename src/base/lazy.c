#include "base/lazy.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Less is not worth a call of the system, which other threads may notice: even if it was never touched,
 * zeros are soon written. */
#define GIVE_BACK ((size_t)256 << 10)

void *ff__lazy_map(size_t size) {
    if (size == 0)
        size = 1;
    /* without access at first: a program that locks all memory it will ever have (mlockall) would have
     * the whole of it allocated */
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

void ff__lazy_unmap(void *array, size_t size) {
    if (array)
        munmap(array, size ? size : 1);
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
