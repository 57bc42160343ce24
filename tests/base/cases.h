/* What these tests share: what cmocka wants included first, how many random cases to run, and how a
 * test says that it shows a bug which is still there. */
#ifndef FF_TESTS_BASE_CASES_H
#define FF_TESTS_BASE_CASES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* How many random cases: the base, a tenth of it where sanitizers make everything slow, or
 * TEST_SCALE percent of it; at least `least`. */
static inline unsigned long scaled_cases(unsigned long base, unsigned long least) {
    const char *scale = getenv("TEST_SCALE");
    unsigned long count = SANITIZED ? base / 10 : base;
    if (scale)
        count = base * strtoul(scale, NULL, 10) / 100;
    return count < least ? least : count;
}

/* Whether the machine is to lack this (tests/without.c). */
static inline bool is_without(const char *what) {
    const char *list = getenv("TEST_WITHOUT");
    return list && strstr(list, what);
}

#endif
