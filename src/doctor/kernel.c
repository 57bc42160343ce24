/* The kernel, and what of userfaultfd it has and permits. */
#include "doctor/doctor.h"

#include "backend/soft/accessed.h"
#include "backend/soft/kernel.h"
#include "backend/soft/uffd.h"
#include "report/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define CAP_SYS_PTRACE_BIT 19 /* linux/capability.h */
#define SECCOMP_FILTERS    2  /* of the line Seccomp in /proc/self/status: proc(5) */

void ff__doctor_kernel(struct ff__checks *checks) {
    struct utsname names = {0};
    long size = sysconf(_SC_PAGESIZE);
    bool good = size == FF_PAGE_SIZE;
    uname(&names);
    ff__checks_add(checks, "kernel", good ? FF__HEALTH_GOOD : FF__HEALTH_MISSING,
                   ff__text("Linux %s, %s, pages of %ld bytes", names.release, names.machine, size),
                   good ? NULL : ff__text("boot a kernel with pages of %d bytes", FF_PAGE_SIZE));
}

/* ---- who may use it ---- */

struct rights {
    uint64_t sysctl; /* vm.unprivileged_userfaultfd; UINT64_MAX: not known */
    bool has_device, opens_device, may_trace, filtered;
};

static bool has_file(const char *root, const char *path, int mode) {
    char *whole = ff__text("%s%s", root, path);
    bool has = access(whole, mode) == 0;
    free(whole);
    return has;
}

/* CapEff is in hexadecimal digits. */
static bool may_trace(const char *root) {
    char *line = ff__doctor_find(root, "/proc/self/status", "CapEff:");
    bool may = line && strtoull(line, NULL, 16) >> CAP_SYS_PTRACE_BIT & 1;
    free(line);
    return may;
}

static struct rights look_for_rights(const char *root) {
    return (struct rights){
        .sysctl = ff__doctor_number(root, "/proc/sys/vm/unprivileged_userfaultfd", ""),
        .has_device = has_file(root, "/dev/userfaultfd", F_OK),
        .opens_device = has_file(root, "/dev/userfaultfd", R_OK | W_OK),
        .may_trace = may_trace(root),
        .filtered = ff__doctor_number(root, "/proc/self/status", "Seccomp:") == SECCOMP_FILTERS,
    };
}

static char *rights_text(const struct rights *rights) {
    char sysctl[32] = "unknown";
    if (rights->sysctl != UINT64_MAX)
        snprintf(sysctl, sizeof sysctl, "%llu", (unsigned long long)rights->sysctl);
    return ff__text("vm.unprivileged_userfaultfd is %s, /dev/userfaultfd %s, %s CAP_SYS_PTRACE",
                    sysctl,
                    rights->opens_device ? "can be opened"
                    : rights->has_device ? "cannot be opened"
                                         : "is not there",
                    rights->may_trace ? "with" : "without");
}

/* The system call is permitted to who has the capability, or to all; then a filter has refused. */
static char *advice_on(const struct rights *rights) {
    if (rights->filtered && (rights->may_trace || rights->sysctl == 1))
        return ff__text("a seccomp filter forbids the system call, as in containers: give the "
                        "container /dev/userfaultfd, or allow the call (docs/installing.md)");
    return ff__text("run as root, or 'sysctl vm.unprivileged_userfaultfd=1', or%s access to "
                    "/dev/userfaultfd%s",
                    rights->has_device ? " give this user" : " from Linux 6.1 on",
                    rights->filtered ? "; in a container also docs/installing.md" : "");
}

/* ---- what it can do ---- */

static void check_rights(struct ff__checks *checks, const char *root, bool opens,
                         const struct ff__uffd *uffd, int status) {
    const struct rights rights = look_for_rights(root);
    char *text = rights_text(&rights);
    bool absent = status == -ENOSYS;
    const char *what = opens && !uffd->user_mode_only ? "serves all faults"
                       : opens                        ? "serves faults in user mode alone: system "
                                                        "calls on absent pages fail with EFAULT"
                       : absent                       ? "is not there, or lacks what is needed"
                                                      : "cannot be opened";
    enum ff__health health = opens && !uffd->user_mode_only ? FF__HEALTH_GOOD
                             : opens                        ? FF__HEALTH_LIMITED
                                                            : FF__HEALTH_MISSING;
    ff__checks_add(checks, "userfaultfd", health, ff__text("%s; %s", what, text),
                   health == FF__HEALTH_GOOD ? NULL
                   : absent ? ff__text("Linux 5.7 or later with CONFIG_USERFAULTFD is needed, and "
                                       "in a container a seccomp profile that allows it")
                            : advice_on(&rights));
    free(text);
}

/* Faults as signals are a mode of its own, which a context opens so or not at all. */
static void check_signals(struct ff__checks *checks) {
    struct ff__uffd uffd;
    struct ff_error error;
    bool good = ff__uffd_open(&uffd, FF__UFFD_SIGBUS, &error) == 0;
    if (good)
        ff__uffd_close(&uffd);
    ff__checks_add(checks, "handlers", good ? FF__HEALTH_GOOD : FF__HEALTH_LIMITED,
                   ff__text("adaptive, sleep%s", good ? ", sigbus, kernels" : ""),
                   good ? NULL : ff__text("leave --handler sigbus out: %s", error.message));
}

void ff__doctor_move(struct ff__checks *checks, const char *release, bool has_move) {
    const char *defect = has_move ? ff__kernel_move_warning(release) : NULL;
    if (defect)
        ff__checks_message(checks, "MOVE", FF__HEALTH_LIMITED, defect);
    else if (has_move)
        ff__checks_add(checks, "MOVE", FF__HEALTH_GOOD,
                       ff__text("blocks move without a copy; no known defect"), NULL);
    else
        ff__checks_message(checks, "MOVE", FF__HEALTH_LIMITED,
                           "this kernel has no UFFDIO_MOVE, and pages are copied; Linux 6.8 or "
                           "later has it; better one in which its defects are mended, 6.12.43, "
                           "6.15.11, 6.16.2 or 6.17");
}

void ff__doctor_samples(struct ff__checks *checks, int probed) {
    if (probed && probed != -ENOSYS)
        ff__checks_add(checks, "samples", FF__HEALTH_LIMITED,
                       ff__text("of faults alone: this kernel's RWP is not used, as a trial of it "
                                "went wrong (%s)",
                                strerror(-probed)),
                       NULL);
    else
        ff__checks_add(checks, "samples", FF__HEALTH_GOOD,
                       ff__text("%s", probed
                                          ? "of faults alone, as on all kernels without RWP "
                                            "(announced for Linux 7.2)"
                                          : "of faults, and of the use of pages that stay (RWP)"),
                       NULL);
}

void ff__doctor_userfaultfd(struct ff__checks *checks, const char *root) {
    struct utsname names = {0};
    struct ff__uffd uffd;
    struct ff_error error;
    int status = ff__uffd_open(&uffd, FF__UFFD_MOVES, &error);
    check_rights(checks, root, status == 0, &uffd, status);
    if (status)
        return;
    uname(&names);
    check_signals(checks);
    ff__doctor_move(checks, names.release, uffd.has_move);
    ff__uffd_close(&uffd);
    ff__doctor_samples(checks, ff__accessed_probe());
}
