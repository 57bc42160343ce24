/* What it would cost to sample the use of blocks that are on the software device: each figure is
 * the processor time of a block's stay there, from its way in to its way out, beside the same
 * without samples. Far faults that occur anyway cost nothing (engine/fault_samples.h), and are what
 * is used. */
#include "bench.h"

#include "backend/soft/uffd.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define BLOCKS 32u
#define BLOCK  (2 * MB)
#define LEAF   (MB / 16)

/* Three areas of BLOCKS blocks: the program's, where blocks wait as they do in the device's frames,
 * and the host's. */
struct stay {
    struct ff__uffd uffd;
    char *managed, *frames, *host;
    pthread_t server;
    volatile bool stop;
};

/* Processor time of all threads: what a sample costs, whoever waits meanwhile. */
static uint64_t busy_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

enum way { PLAIN, WITNESS, PROTECT };

static char *map_blocks(void) {
    char *raw = mmap(NULL, (BLOCKS + 1) * BLOCK, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (raw == MAP_FAILED)
        exit(1);
    char *area = (char *)(((uintptr_t)raw + BLOCK - 1) & ~(uintptr_t)(BLOCK - 1));
    madvise(area, BLOCKS * BLOCK, MADV_HUGEPAGE); /* the process ends soon: nothing is given back */
    return area;
}

/* A leaf that is missing comes from the host; what is protected is let through. */
static void *serve(void *argument) {
    struct stay *stay = argument;
    struct ff__uffd_message messages[4];
    size_t copied;
    while (!stay->stop) {
        struct pollfd fd = {.fd = stay->uffd.fd, .events = POLLIN};
        int count = poll(&fd, 1, 20) > 0 ? ff__uffd_read(&stay->uffd, messages, 4) : 0;
        for (int i = 0; i < count; i++) {
            size_t at =
                (size_t)(messages[i].fault.address - (uintptr_t)stay->managed) / LEAF * LEAF;
            ff__uffd_protect(&stay->uffd, stay->managed + at, LEAF, false);
            ff__uffd_copy(&stay->uffd, stay->managed + at, stay->host + at, LEAF, &copied);
        }
    }
    return NULL;
}

static void open_stay(struct stay *stay) {
    struct ff_error error;
    if (ff__uffd_open(&stay->uffd, FF__UFFD_MOVES, &error) || !stay->uffd.has_move) {
        fprintf(stderr, "farfault-bench: samples need UFFDIO_MOVE\n");
        exit(1);
    }
    stay->managed = map_blocks();
    stay->host = map_blocks();
    memset(stay->host, 2, BLOCKS * BLOCK);
    if (ff__uffd_register(&stay->uffd, stay->managed, BLOCKS * BLOCK) ||
        pthread_create(&stay->server, NULL, serve, stay))
        exit(1);
}

/* Huge pages, which a stay may split. */
static void renew_frames(struct stay *stay) {
    if (stay->frames)
        munmap(stay->frames, BLOCKS * BLOCK);
    stay->frames = map_blocks();
    memset(stay->frames, 1, BLOCKS * BLOCK);
    if (ff__uffd_register_staging(&stay->uffd, stay->frames, BLOCKS * BLOCK))
        exit(1);
}

/* Takes the sample's means: one leaf of the block out, or its writes away. */
static void arm(struct stay *stay, size_t at, enum way way) {
    size_t moved;
    if (way == WITNESS) {
        ff__uffd_move_out(&stay->uffd, stay->frames + at, stay->managed + at, LEAF, &moved);
        madvise(stay->frames + at, LEAF, MADV_DONTNEED);
    } else if (way == PROTECT) {
        ff__uffd_protect(&stay->uffd, stay->managed + at, LEAF, true);
    }
}

/* Busy seconds for all blocks to come, be used and leave, one after the other. */
static double stay_seconds(struct stay *stay, enum way way) {
    size_t moved;
    renew_frames(stay);
    uint64_t start = busy_ns();
    for (size_t at = 0; at < BLOCKS * BLOCK; at += BLOCK) {
        memcpy(stay->frames + at, stay->host + at, BLOCK);
        ff__uffd_move_in(&stay->uffd, stay->managed + at, stay->frames + at, BLOCK, &moved);
        arm(stay, at, way);
        for (size_t page = 0; page < BLOCK; page += FF_PAGE_SIZE)
            ((volatile char *)stay->managed)[at + page]++;
        ff__uffd_move_out(&stay->uffd, stay->frames + at, stay->managed + at, BLOCK, &moved);
        memcpy(stay->host + at, stay->frames + at, BLOCK);
    }
    return (double)(busy_ns() - start) * 1e-9;
}

/* The kernel's own bits: cleared and read for the whole process, a line a mapping. */
static double referenced_seconds(void) {
    char text[4096];
    uint64_t start = busy_ns();
    FILE *clear = fopen("/proc/self/clear_refs", "we");
    FILE *maps = fopen("/proc/self/smaps", "re");
    if (!clear || !maps)
        exit(1);
    fputs("1", clear);
    fclose(clear);
    while (fgets(text, sizeof text, maps))
        ;
    fclose(maps);
    return (double)(busy_ns() - start) * 1e-9;
}

void bench_samples(void) {
    struct stay stay = {.stop = false};
    struct series witness = {.count = 0}, protect = {.count = 0}, referenced = {.count = 0};
    open_stay(&stay);
    for (int run = -1; run < bench_runs(); run++) {
        double plain = stay_seconds(&stay, PLAIN) * 1e6 / BLOCKS;
        double with_witness = stay_seconds(&stay, WITNESS) * 1e6 / BLOCKS;
        double with_protect = stay_seconds(&stay, PROTECT) * 1e6 / BLOCKS;
        double bits = referenced_seconds() * 1e6;
        if (run < 0)
            continue;
        series_add(&witness, with_witness, plain);
        series_add(&protect, with_protect, plain);
        series_add(&referenced, bits, plain);
    }
    stay.stop = true;
    pthread_join(stay.server, NULL);
    report("samples.witness", "us", &witness);
    report("samples.protect", "us", &protect);
    report("samples.referenced", "us", &referenced);
}
