/* Preloaded: userfaultfd as it was before Linux 6.8. It has no UFFDIO_MOVE, does not say that it
 * has, and refuses to be asked. */
#include <errno.h>
#include <linux/userfaultfd.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FEATURE_MOVE (UINT64_C(1) << 16)
#define REQUEST_MOVE _IOWR(UFFDIO, 0x05, char[40])

__attribute__((visibility("default"))) int ioctl(int fd, unsigned long request, ...) {
    va_list arguments;
    va_start(arguments, request);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    struct uffdio_api *api = argument;
    if (request == REQUEST_MOVE || (request == UFFDIO_API && api->features & FEATURE_MOVE)) {
        errno = EINVAL;
        return -1;
    }
    int status = (int)syscall(SYS_ioctl, fd, request, argument);
    if (request == UFFDIO_API && status == 0)
        api->features &= ~FEATURE_MOVE;
    return status;
}
