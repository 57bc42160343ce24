#ifndef FF_TESTS_PRELOAD_LOCKS_H
#define FF_TESTS_PRELOAD_LOCKS_H

/* Under sanitizers mlock() and its like do nothing at all. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LOCKS false
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LOCKS false
#endif
#ifndef LOCKS
#define LOCKS true
#endif

#endif
