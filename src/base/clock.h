/* The monotonic clock, in nanoseconds. Policies get time through their view, never from here. */
#ifndef FF_BASE_CLOCK_H
#define FF_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t ff__clock_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline void ff__clock_sleep(uint64_t ns) {
    struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    nanosleep(&t, NULL);
}

/* Tells the CPU that this is a spin loop. */
static inline void ff__cpu_relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
