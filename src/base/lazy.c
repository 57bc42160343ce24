#include "base/lazy.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* From here on a call of the system, and pages that come anew, are less than writing zeros. */
#define GIVE_BACK ((size_t)256 << 10)

void *ff__lazy_map(size_t size) {
    if (size == 0)
        size = 1;
    void *array = mmap(NULL, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (array == MAP_FAILED)
        return NULL;
    madvise(array, size, MADV_DONTDUMP); /* keeps core files as small as what was touched */
    return array;
}

void ff__lazy_unmap(void *array, size_t size) {
    if (array)
        munmap(array, size ? size : 1);
}

void ff__lazy_clear(void *part, size_t size) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), before = -(uintptr_t)part % page;
    size_t whole = size < before + GIVE_BACK ? 0 : (size - before) / page * page;
    char *inner = (char *)part + before;
    if (whole == 0 || madvise(inner, whole, MADV_DONTNEED) != 0) {
        memset(part, 0, size);
        return;
    }
    memset(part, 0, before);
    memset(inner + whole, 0, size - before - whole);
}
