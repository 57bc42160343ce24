/* Runs a program that may not use userfaultfd, neither by the system call nor by the device; with
 * --device, as container engines have it, not by the system call. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD(field)   BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define UNLESS(value) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, 1)
#define REFUSE        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
#define ALLOW         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

int main(int argc, char **argv) {
    struct sock_filter steps[] = {
        LOAD(nr), UNLESS(SYS_userfaultfd), REFUSE, UNLESS(SYS_ioctl), BPF_STMT(BPF_JMP | BPF_JA, 1),
        ALLOW,
        /* the low half of the request is all of it: this runs where long has the low half first */
        LOAD(args[1]), UNLESS((unsigned)USERFAULTFD_IOC_NEW), REFUSE, ALLOW};
    struct sock_fprog filter = {sizeof steps / sizeof steps[0], steps};
    if (argc > 1 && strcmp(argv[1], "--device") == 0) {
        steps[8] = (struct sock_filter)ALLOW; /* in place of the second REFUSE */
        argc--, argv++;
    }
    if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) {
        perror("without_userfaultfd");
        return EXIT_FAILURE;
    }
    execv(argv[1], argv + 1);
    perror(argv[1]);
    return EXIT_FAILURE;
}
