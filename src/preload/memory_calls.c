/* The program's own calls that lock or move memory, which managed memory must be left out of:
 * locked, it would have to be on a device all at once; moved, it would be where the program does
 * not look for it. The same holds for what stands behind it. */
#include "preload/preload.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define LOOK_UP(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))

static bool is_ours(const void *from, size_t size) {
    struct ff_context *context = ff__context_if_open();
    return context && ff_context_owns(context, from, size);
}

static void say_once(bool *said, const char *what) {
    if (!__atomic_exchange_n(said, true, __ATOMIC_RELAXED))
        ff__say("%s", what);
}

static void say_left_out(void) {
    static bool said;
    say_once(&said, "managed memory is left out of mlock and mlockall: it stays pageable");
}

/* ---- all mappings ---- */

struct process_mapping {
    char *start;
    size_t size;
    bool reserved_only; /* MAP_NORESERVE: perhaps far more than will ever be used */
};

typedef int mapping_fn(const struct process_mapping *mapping);

/* Calls for every mapping, or part of one, in [low, high). Returns the first error, and errno. */
static int for_each_mapping(uintptr_t low, uintptr_t high, mapping_fn *call) {
    unsigned long start, end;
    struct process_mapping mapping = {0};
    char line[512];
    int status = 0;
    FILE *file = fopen("/proc/self/smaps", "re");
    if (!file)
        return -1;
    while (status == 0 && fgets(line, sizeof line, file)) {
        if (sscanf(line, "%lx-%lx ", &start, &end) == 2) {
            start = start > low ? start : low;
            end = end < high ? end : high;
            mapping = (struct process_mapping){(char *)start, start < end ? end - start : 0, false};
        } else if (strncmp(line, "VmFlags:", 8) == 0 && mapping.size > 0) {
            mapping.reserved_only = strstr(line, " nr") != NULL;
            status = call(&mapping);
        }
    }
    fclose(file);
    return status;
}

/* ---- mlock ---- */

static int lock(const struct process_mapping *mapping) {
    return is_ours(mapping->start, mapping->size) ? 0
                                                  : LOOK_UP(mlock)(mapping->start, mapping->size);
}

static int lock_when_touched(const struct process_mapping *mapping) {
    return is_ours(mapping->start, mapping->size)
               ? 0
               : LOOK_UP(mlock2)(mapping->start, mapping->size, MLOCK_ONFAULT);
}

static int lock_others(const void *from, size_t size, mapping_fn *how) {
    say_left_out();
    return for_each_mapping((uintptr_t)from & ~(uintptr_t)4095, (uintptr_t)from + size, how);
}

FF_HOOKED int mlock(const void *from, size_t size) {
    return is_ours(from, size) ? lock_others(from, size, lock) : LOOK_UP(mlock)(from, size);
}

FF_HOOKED int mlock2(const void *from, size_t size, unsigned flags) {
    return !is_ours(from, size) ? LOOK_UP(mlock2)(from, size, flags)
           : flags              ? lock_others(from, size, lock_when_touched)
                                : lock_others(from, size, lock);
}

/* ---- mlockall ---- */

static int unlock_ours(const struct process_mapping *mapping) {
    return is_ours(mapping->start, mapping->size) ? munlock(mapping->start, mapping->size) : 0;
}

/* That some cannot be brought in, is no error to mlockall either. */
static int bring_in(const struct process_mapping *mapping) {
    if (!mapping->reserved_only)
        lock(mapping);
    return 0;
}

/* Locks everything as it is touched, which touches nothing; ours not; then touches the others. */
static int lock_all_others(int flags) {
    __typeof__(mlockall) *real = LOOK_UP(mlockall);
    say_left_out();
    if (real(flags | MCL_ONFAULT))
        return -1;
    for_each_mapping(0, UINTPTR_MAX, unlock_ours);
    if (flags & MCL_ONFAULT)
        return 0;
    for_each_mapping(0, UINTPTR_MAX, bring_in);
    return flags & MCL_FUTURE ? real(MCL_FUTURE) : 0;
}

FF_HOOKED int mlockall(int flags) {
    bool known = (flags & ~(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT)) == 0;
    return flags & MCL_CURRENT && known && ff__context_if_open() ? lock_all_others(flags)
                                                                 : LOOK_UP(mlockall)(flags);
}

/* ---- mremap ---- */

FF_HOOKED void *mremap(void *from, size_t size, size_t new_size, int flags, ...) {
    static bool said;
    va_list arguments;
    va_start(arguments, flags);
    void *to = flags & MREMAP_FIXED ? va_arg(arguments, void *) : NULL;
    va_end(arguments);
    if (!is_ours(from, size) && !(to && is_ours(to, new_size)))
        return LOOK_UP(mremap)(from, size, new_size, flags, to);
    say_once(&said, "mremap: managed memory cannot be moved or resized");
    errno = EINVAL;
    return MAP_FAILED;
}
