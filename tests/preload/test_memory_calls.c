/* A program that locks its memory, and one that moves what it was given: managed memory stays as it
 * is, all other memory does what it would. */
#include "client.h"
#include "locks.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#define SIZE  (12 * MIB) /* three times the device */
#define COUNT (SIZE / sizeof(cl_int))
#define PAGE  4096

/* Bytes of the mapping at `address` that are locked and there, or -1. */
static long locked_at(const void *address) {
    FILE *file = fopen("/proc/self/smaps", "r");
    unsigned long start, end, here = (unsigned long)(uintptr_t)address;
    long kib, locked = -1;
    bool inside = false;
    char line[512];
    CHECK(file);
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
            inside = here >= start && here < end;
        else if (inside && sscanf(line, "Locked: %ld kB", &kib) == 1)
            locked = kib << 10;
    }
    fclose(file);
    return locked;
}

/* Its own pages, alone in a mapping. */
static char *own_pages(size_t pages) {
    char *area =
        mmap(NULL, (pages + 2) * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(area != MAP_FAILED);
    CHECK(mprotect(area, PAGE, PROT_NONE) == 0);
    CHECK(mprotect(area + (pages + 1) * PAGE, PAGE, PROT_NONE) == 0);
    return area + PAGE;
}

static void write_and_check(cl_int *data, cl_int first) {
    for (size_t i = 0; i < COUNT; i++)
        data[i] = first + (cl_int)i;
    CHECK(client_is_series(data, COUNT, first, 1));
}

static void test_lock(cl_int *data) {
    char *own = own_pages(8);
    CHECK(mlock(own, 8 * PAGE) == 0 && locked_at(own) == 8 * PAGE);
    CHECK(munlock(own, 8 * PAGE) == 0);
    CHECK(mlock2(own, 8 * PAGE, MLOCK_ONFAULT) == 0);
    CHECK(mlock(data, SIZE) == 0);
    CHECK(mlock2(data, SIZE, 0) == 0);
    write_and_check(data, 1);
    CHECK(!client_is_preloaded() || locked_at(data) == 0);
    CHECK(munlock(data, SIZE) == 0 && munlock(own, 8 * PAGE) == 0);
    errno = 0;
    CHECK(mlock(own - PAGE, PAGE) != 0 && errno == ENOMEM); /* nobody may touch that */
}

static void test_lock_all(const struct client *client, cl_int *data) {
    char *before = own_pages(8);
    CHECK(mlockall(0) != 0 && errno == EINVAL);
    CHECK(mlockall(1 << 20) != 0 && errno == EINVAL);
    CHECK(mlockall(MCL_CURRENT) == 0);
    CHECK(locked_at(before) == 8 * PAGE);
    CHECK(mlockall(MCL_CURRENT | MCL_FUTURE) == 0);
    char *after = own_pages(8);
    CHECK(locked_at(after) == 8 * PAGE);
    write_and_check(data, 2);
    CHECK(!client_is_preloaded() || locked_at(data) == 0);
    cl_int *more = clSVMAlloc(client->context, CL_MEM_READ_WRITE, SIZE, 0);
    CHECK(more);
    write_and_check(more, 3);
    CHECK(client_is_series(data, COUNT, 2, 1));
    clSVMFree(client->context, more);
    CHECK(munlockall() == 0);
}

static void test_move(cl_int *data) {
    char *own = own_pages(8), *to = own_pages(8);
    memset(own, 7, 8 * PAGE);
    CHECK(mremap(own, 8 * PAGE, 8 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to);
    CHECK(to[0] == 7 && to[8 * PAGE - 1] == 7);
    if (!client_is_preloaded())
        return; /* the C library's memory, or PoCL's */
    errno = 0;
    CHECK(mremap(data, SIZE, 2 * SIZE, MREMAP_MAYMOVE) == MAP_FAILED && errno == EINVAL);
    errno = 0;
    CHECK(mremap(to, 8 * PAGE, 8 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, data) == MAP_FAILED &&
          errno == EINVAL);
    CHECK(to[0] == 7);
}

int main(void) {
    struct client client;
    alarm(60); /* locking what cannot all be there would never end */
    client_open(&client, 0);
    cl_int *data = clSVMAlloc(client.context, CL_MEM_READ_WRITE, SIZE, 0);
    CHECK(data);
    write_and_check(data, 0);
    test_move(data);
    CHECK(client_is_series(data, COUNT, 0, 1));
    if (LOCKS) {
        test_lock(data);
        test_lock_all(&client, data);
    }
    clSVMFree(client.context, data);
    client_close(&client);
    return 0;
}
