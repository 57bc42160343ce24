/* What of this machine farfault depends on: each a check with what was found and, where something
 * is missing, what to do about it. Nothing is changed, and nothing needs privileges. */
#ifndef FF_DOCTOR_DOCTOR_H
#define FF_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stdint.h>

enum ff__health {
    FF__HEALTH_GOOD,
    FF__HEALTH_LIMITED, /* works, but slower or not for everything */
    FF__HEALTH_MISSING
};

struct ff__check {
    const char *name;
    enum ff__health health;
    char *finding, *advice; /* advice: NULL where there is nothing to do */
};

struct ff__checks {
    struct ff__check *items;
    unsigned count;
};

/* Takes over both texts. Memory that ends is said, and the process exits (report/text.h). */
void ff__checks_add(struct ff__checks *checks, const char *name, enum ff__health health,
                    char *finding, char *advice);

/* A message that says what is wrong and, behind its first "; ", what to do. */
void ff__checks_message(struct ff__checks *checks, const char *name, enum ff__health health,
                        const char *message);

void ff__checks_free(struct ff__checks *checks);

/* ---- the checks ----
 *
 * `root` is in front of every path below /proc, /sys and /dev that is read: "" is this machine. */

/* The kernel's version and its pages. */
void ff__doctor_kernel(struct ff__checks *checks);

/* The rights to userfaultfd and what it can do, UFFDIO_MOVE and samples included. */
void ff__doctor_userfaultfd(struct ff__checks *checks, const char *root);

/* UFFDIO_MOVE of a kernel with this release, and its known defects. */
void ff__doctor_move(struct ff__checks *checks, const char *release, bool has_move);

/* What samples of use are made of, by what ff__accessed_probe() has returned. */
void ff__doctor_samples(struct ff__checks *checks, int probed);

/* Huge pages, free memory and the limits of memory cgroups. `needed`: bytes that a device and what
 * it evicts take. */
void ff__doctor_memory(struct ff__checks *checks, const char *root, uint64_t needed);

/* The process's limits, and the kernel's on mappings. */
void ff__doctor_limits(struct ff__checks *checks, const char *root);

/* The C compiler for kernels in PTX, which compiles a line. */
void ff__doctor_compiler(struct ff__checks *checks);

/* ---- files of the kernel ---- */

/* What follows `key` in the first line that begins with it, without spaces in front; the caller
 * frees it. NULL: there is no such line. */
char *ff__doctor_find(const char *root, const char *path, const char *key);

/* The number there; UINT64_MAX: there is none, or it is a word, such as "max". */
uint64_t ff__doctor_number(const char *root, const char *path, const char *key);

#endif
