/* As much of io_uring as tests need: one request at a time. */
#ifndef FF_TESTS_SOFT_RING_H
#define FF_TESTS_SOFT_RING_H

#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "runtime/child.h"

#define RING_ENTRIES 4u

struct ring {
    int fd;
    unsigned *submitted, *completed, *completion_tail, *array;
    struct io_uring_sqe *requests;
    struct io_uring_cqe *completions;
};

static inline void *map_ring(int fd, size_t size, off_t which) {
    void *area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, which);
    CHECK(area != MAP_FAILED);
    return area;
}

static inline void ring_open(struct ring *ring) {
    struct io_uring_params p = {0};
    ring->fd = (int)syscall(SYS_io_uring_setup, RING_ENTRIES, &p);
    CHECK(ring->fd >= 0);
    char *submission =
        map_ring(ring->fd, p.sq_off.array + p.sq_entries * sizeof(unsigned), IORING_OFF_SQ_RING);
    char *completion = map_ring(
        ring->fd, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe), IORING_OFF_CQ_RING);
    ring->submitted = (unsigned *)(void *)(submission + p.sq_off.tail);
    ring->array = (unsigned *)(void *)(submission + p.sq_off.array);
    ring->completed = (unsigned *)(void *)(completion + p.cq_off.head);
    ring->completion_tail = (unsigned *)(void *)(completion + p.cq_off.tail);
    ring->completions = (struct io_uring_cqe *)(void *)(completion + p.cq_off.cqes);
    ring->requests =
        map_ring(ring->fd, p.sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES);
}

static inline void ring_register(const struct ring *ring, void *buffer, size_t size) {
    struct iovec vector = {buffer, size};
    int status = (int)syscall(SYS_io_uring_register, ring->fd, IORING_REGISTER_BUFFERS, &vector, 1);
    CHECK(status == 0);
}

static inline void ring_unregister(const struct ring *ring) {
    CHECK(syscall(SYS_io_uring_register, ring->fd, IORING_UNREGISTER_BUFFERS, NULL, 0) == 0);
}

/* Reads or writes at the beginning of the file, all of it at once, with an IORING_OP. */
static inline void ring_do(struct ring *ring, uint8_t operation, int fd, void *memory,
                           size_t size) {
    unsigned tail = *ring->submitted, index = tail % RING_ENTRIES;
    ring->requests[index] = (struct io_uring_sqe){
        .opcode = operation, .fd = fd, .addr = (uintptr_t)memory, .len = (unsigned)size};
    ring->array[index] = index;
    __atomic_store_n(ring->submitted, tail + 1, __ATOMIC_RELEASE);
    CHECK(syscall(SYS_io_uring_enter, ring->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1);
    unsigned head = *ring->completed;
    CHECK(__atomic_load_n(ring->completion_tail, __ATOMIC_ACQUIRE) == head + 1);
    CHECK(ring->completions[head % (2 * RING_ENTRIES)].res == (int)size);
    __atomic_store_n(ring->completed, head + 1, __ATOMIC_RELEASE);
}

#endif
