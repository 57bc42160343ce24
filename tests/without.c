/* without LIBRARY COMMAND [ARGUMENT...]: becomes the command, on a machine that lacks what
 * TEST_WITHOUT names, separated by commas:
 *   huge_pages  the kernel gives no process from here on transparent huge pages
 *   io_uring    io_uring_setup(2) is not permitted, as in most containers
 *   move        userfaultfd is one from before Linux 6.8 (LIBRARY: without_move.c)
 * All of them stay with every process that the command starts. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { EXIT_USAGE = 2 };

/* The number alone: whatever architecture it is of, it is not permitted. */
static bool forbid(unsigned number) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static bool preload(const char *library) {
    const char *others = getenv("LD_PRELOAD");
    char all[8192];
    int length =
        snprintf(all, sizeof all, "%s%s%s", library, others ? ":" : "", others ? others : "");
    return length < (int)sizeof all && setenv("LD_PRELOAD", all, 1) == 0;
}

static bool take_away(const char *what, const char *library) {
    if (strcmp(what, "huge_pages") == 0)
        return prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0;
    if (strcmp(what, "io_uring") == 0)
        return forbid(SYS_io_uring_setup);
    if (strcmp(what, "move") == 0)
        return preload(library);
    errno = EINVAL;
    return false;
}

int main(int argc, char **argv) {
    const char *given = getenv("TEST_WITHOUT");
    char list[256];
    snprintf(list, sizeof list, "%s", given ? given : "");
    if (argc < 3) {
        fprintf(stderr, "without LIBRARY COMMAND [ARGUMENT...]\n");
        return EXIT_USAGE;
    }
    for (char *rest = list, *what; (what = strsep(&rest, ","));) {
        if (*what && !take_away(what, argv[1])) {
            fprintf(stderr, "TEST_WITHOUT: %s: %s\n", what, strerror(errno));
            return EXIT_USAGE;
        }
    }
    execv(argv[2], argv + 2);
    perror(argv[2]);
    return EXIT_USAGE;
}
