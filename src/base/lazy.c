#include "base/lazy.h"

#include <sys/mman.h>

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
