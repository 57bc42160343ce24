/* needs [userfaultfd] [move] [io_uring] [opencl] -- COMMAND [ARGUMENT...]: becomes the command; or
 * exits with 77 and one line where this machine lacks one of these. It asks the system and not
 * farfault, whose own mistake would look the same; but not for what TEST_HAS names, because
 * scripts/test.sh has asked. */
#include <CL/cl.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/userfaultfd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { EXIT_USAGE = 2, EXIT_SKIP = 77 };

static int open_userfaultfd(void) {
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
    if (fd >= 0)
        return fd;
    int device = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
    return device >= 0 ? ioctl(device, USERFAULTFD_IOC_NEW, O_CLOEXEC) : -1;
}

static bool has_move(void) {
    const uint64_t feature_move = UINT64_C(1) << 16; /* not in Debian 12's headers */
    struct uffdio_api api = {.api = UFFD_API};
    return ioctl(open_userfaultfd(), UFFDIO_API, &api) == 0 && api.features & feature_move;
}

static bool has_io_uring(void) {
    struct io_uring_params parameters = {0};
    return syscall(SYS_io_uring_setup, 1, &parameters) >= 0;
}

static bool has_opencl(void) {
    cl_platform_id platform;
    cl_uint devices = 0;
    return clGetPlatformIDs(1, &platform, NULL) == CL_SUCCESS &&
           clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, NULL, &devices) == CL_SUCCESS;
}

static bool has(const char *what, bool *known) {
    const char *found = getenv("TEST_HAS");
    *known = true;
    if (found && strstr(found, what))
        return true;
    if (strcmp(what, "userfaultfd") == 0)
        return open_userfaultfd() >= 0;
    if (strcmp(what, "move") == 0)
        return has_move();
    if (strcmp(what, "io_uring") == 0)
        return has_io_uring();
    if (strcmp(what, "opencl") == 0)
        return has_opencl();
    *known = false;
    return false;
}

int main(int argc, char **argv) {
    int i = 1;
    for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
        bool known, there = has(argv[i], &known);
        if (!known)
            break;
        if (!there) {
            fprintf(stderr, "skipped: this machine has no %s\n", argv[i]);
            return EXIT_SKIP;
        }
    }
    if (i + 1 >= argc || strcmp(argv[i], "--") != 0) {
        fprintf(stderr,
                "needs [userfaultfd] [move] [io_uring] [opencl] -- COMMAND [ARGUMENT...]\n");
        return EXIT_USAGE;
    }
    execv(argv[i + 1], argv + i + 1);
    perror(argv[i + 1]);
    return EXIT_USAGE;
}
