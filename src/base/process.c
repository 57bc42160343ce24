/* The number lies in a page that Linux (4.14) clears in a child. */
#include "base/process.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_once_t made = PTHREAD_ONCE_INIT;
static uint32_t *number; /* in a page that children have zeroed; NULL: not to be had */
static uint32_t latest;  /* the last one given out, here or in a process that this one comes from */

static void make(void) {
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return;
    if (madvise(page, size, MADV_WIPEONFORK) == 0)
        number = page;
    else
        munmap(page, size);
}

uint32_t ff__process_number(void) {
    uint32_t none = 0;
    pthread_once(&made, make);
    if (!number)
        return 0;
    if (__atomic_load_n(number, __ATOMIC_RELAXED) == 0)
        __atomic_compare_exchange_n(number, &none, __atomic_add_fetch(&latest, 1, __ATOMIC_RELAXED),
                                    false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return __atomic_load_n(number, __ATOMIC_RELAXED);
}
