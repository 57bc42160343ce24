/* Limits of the process, and the kernel's on mappings. docs/operating.md has what each is for. */
#include "doctor/doctor.h"

#include "report/text.h"

#include <stdlib.h>
#include <sys/resource.h>

#define FILES_FEW     64u                 /* the command and an OpenCL runtime open some */
#define FILE_SIZE_FEW (UINT64_C(8) << 20) /* what a run counts */
#define MAPS_FEW      65530u              /* the kernel's default */
#define NEVER_MORE    2                   /* vm.overcommit_memory: proc(5) */

static uint64_t limit_of(int resource) {
    struct rlimit limit;
    return getrlimit((__rlimit_resource_t)resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY
               ? limit.rlim_cur
               : UINT64_MAX;
}

static char *size_or(uint64_t size, const char *unlimited) {
    char text[FF__QUANTITY];
    return ff__text("%s", size == UINT64_MAX ? unlimited : ff__size_text(text, size));
}

static void check_addresses(struct ff__checks *checks, const char *root) {
    uint64_t limit = limit_of(RLIMIT_AS);
    bool counted = ff__doctor_number(root, "/proc/sys/vm/overcommit_memory", "") == NEVER_MORE;
    if (counted)
        ff__checks_message(checks, "addresses", FF__HEALTH_LIMITED,
                           "vm.overcommit_memory is 2, so that reserved addresses count as memory; "
                           "'sysctl vm.overcommit_memory=0', or reserve less, such as "
                           "FARFAULT_ADDRESS_SPACE=4G");
    else if (limit != UINT64_MAX)
        ff__checks_add(checks, "addresses", FF__HEALTH_LIMITED, size_or(limit, ""),
                       ff__text("ulimit -v unlimited, or reserve less, such as "
                                "FARFAULT_ADDRESS_SPACE=4G"));
    else
        ff__checks_add(checks, "addresses", FF__HEALTH_GOOD, ff__text("not limited"), NULL);
}

static void check_files(struct ff__checks *checks) {
    uint64_t count = limit_of(RLIMIT_NOFILE), size = limit_of(RLIMIT_FSIZE);
    bool few = count < FILES_FEW, small = size < FILE_SIZE_FEW;
    char *files =
        count == UINT64_MAX ? ff__text("any number") : ff__text("%llu", (unsigned long long)count);
    char *largest = size_or(size, "of any size");
    ff__checks_add(checks, "files", few || small ? FF__HEALTH_LIMITED : FF__HEALTH_GOOD,
                   ff__text("%s open, %s%s", files, small ? "none larger than " : "", largest),
                   few     ? ff__text("allow more open files, as with ulimit -n 1024")
                   : small ? ff__text("a run counts in a file of 8 MiB: ulimit -f unlimited")
                           : NULL);
    free(files);
    free(largest);
}

static void check_maps(struct ff__checks *checks, const char *root) {
    uint64_t count = ff__doctor_number(root, "/proc/sys/vm/max_map_count", "");
    bool few = count < MAPS_FEW;
    if (count != UINT64_MAX)
        ff__checks_add(
            checks, "mappings", few ? FF__HEALTH_LIMITED : FF__HEALTH_GOOD,
            ff__text("%llu", (unsigned long long)count),
            few ? ff__text("'sysctl vm.max_map_count=%u': many small buffers need them", MAPS_FEW)
                : NULL);
}

/* farfault locks nothing; what a program locks of its buffers counts. */
static void check_locked(struct ff__checks *checks) {
    char *size = size_or(limit_of(RLIMIT_MEMLOCK), "not limited");
    ff__checks_add(checks, "locked memory", FF__HEALTH_GOOD,
                   ff__text("%s, for programs that lock buffers", size), NULL);
    free(size);
}

void ff__doctor_limits(struct ff__checks *checks, const char *root) {
    check_addresses(checks, root);
    check_files(checks);
    check_maps(checks, root);
    check_locked(checks);
}
