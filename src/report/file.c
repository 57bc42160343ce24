#include "report/file.h"

#include "report/complain.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX ((off_t)4 << 30) /* bytes of a file */

static int cannot_read(const char *path, const char *why) {
    return ff__complain(FF__EXIT_FAILURE, "%s: %s", path, why);
}

/* Up to its end, which may come earlier than `size` says. 0 or a negative errno. */
static int read_bytes(int file, size_t size, struct ff__file *out) {
    while (out->size < size) {
        ssize_t done = read(file, out->bytes + out->size, size - out->size);
        if (done < 0 && errno != EINTR)
            return -errno;
        if (done == 0)
            break;
        out->size += done > 0 ? (size_t)done : 0;
    }
    return 0;
}

/* Not mapped: it may be made shorter meanwhile. */
static int read_whole(const char *path, int file, struct ff__file *out) {
    struct stat info;
    if (fstat(file, &info) || !S_ISREG(info.st_mode))
        return cannot_read(path, "not a regular file");
    if (info.st_size > FILE_MAX)
        return cannot_read(path, "larger than 4 GiB");
    out->bytes = malloc((size_t)info.st_size + 1);
    if (!out->bytes)
        return cannot_read(path, "not enough memory for it");
    int status = read_bytes(file, (size_t)info.st_size, out);
    return status ? cannot_read(path, strerror(-status)) : 0;
}

int ff__file_read(const char *path, struct ff__file *out) {
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe would be waited for */
    if (file < 0)
        return cannot_read(path, strerror(errno));
    int status = read_whole(path, file, out);
    close(file);
    return status;
}
