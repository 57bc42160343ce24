#include "base/new_file.h"

#include "base/file_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRIES       1000u
#define PERMISSIONS 0666 /* of a file that replaces none, but for the umask */

static int open_folder(const char *path, const char *slash) {
    if (!slash)
        return open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    char *folder = slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
    if (!folder)
        return -1;
    int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    free(folder);
    return fd;
}

/* Nothing but a regular file that may be written to is replaced: not a device, a link or a folder.
 */
static int check_target(const struct ff__new_file *file, struct stat *stat) {
    *stat = (struct stat){0};
    if (fstatat(file->folder, file->name, stat, AT_SYMLINK_NOFOLLOW))
        return errno == ENOENT ? 0 : -errno;
    if (!S_ISREG(stat->st_mode))
        return -EEXIST;
    return faccessat(file->folder, file->name, W_OK, AT_EACCESS) ? -errno : 0;
}

/* `mode`: of the file that this one replaces, 0 if there is none. */
static int make_part(struct ff__new_file *file, mode_t mode) {
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
    const mode_t permissions = mode & PERMISSIONS;
    size_t size = strlen(file->name) + 48;
    file->part = malloc(size);
    if (!file->part)
        return -ENOMEM;
    for (unsigned i = 0; i < TRIES; i++) {
        snprintf(file->part, size, "%s.%ld-%u.part", file->name, (long)getpid(), i);
        file->fd = openat(file->folder, file->part, flags, mode ? permissions : PERMISSIONS);
        if (file->fd < 0 && errno == EEXIST)
            continue;
        if (file->fd >= 0 && mode)
            fchmod(file->fd, permissions); /* what the umask took away */
        return file->fd >= 0 ? 0 : -errno;
    }
    return -EEXIST;
}

/* Closes what is open, and leaves the file as it is. */
static void leave(struct ff__new_file *file) {
    if (file->fd >= 0)
        close(file->fd);
    if (file->folder >= 0)
        close(file->folder);
    free(file->name);
    free(file->part);
    *file = (struct ff__new_file){-1, -1, NULL, NULL};
}

int ff__new_file_open(struct ff__new_file *file, const char *path) {
    struct stat old;
    const char *slash = strrchr(path, '/');
    *file = (struct ff__new_file){-1, -1, NULL, NULL};
    if (!*(slash ? slash + 1 : path))
        return -EISDIR;
    file->folder = open_folder(path, slash);
    int status = file->folder < 0 ? -errno : 0;
    file->name = strdup(slash ? slash + 1 : path);
    if (!status)
        status = file->name ? check_target(file, &old) : -ENOMEM;
    if (!status)
        status = make_part(file, old.st_mode);
    if (status)
        leave(file);
    return status;
}

static ssize_t write_some(int fd, const void *bytes, size_t size) {
    struct ff__file_limit held;
    ff__file_limit_hold(&held);
    ssize_t done = write(fd, bytes, size);
    ff__file_limit_release(&held);
    return done;
}

int ff__new_file_write(struct ff__new_file *file, const void *bytes, size_t size) {
    const char *from = bytes;
    while (size > 0) {
        ssize_t done = write_some(file->fd, from, size);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done < 0 ? -errno : -ENOSPC;
        from += done;
        size -= (size_t)done;
    }
    return 0;
}

/* Some file systems only now find that there is no room. */
static int finish_part(struct ff__new_file *file) {
    int fd = file->fd, status = fsync(fd) ? -errno : 0;
    file->fd = -1;
    if (close(fd) && !status)
        status = -errno;
    return status;
}

int ff__new_file_keep(struct ff__new_file *file) {
    struct stat old;
    int status = finish_part(file);
    if (!status)
        status = check_target(file, &old);
    if (!status && renameat(file->folder, file->part, file->folder, file->name))
        status = -errno;
    if (status)
        ff__new_file_drop(file);
    else
        leave(file);
    return status;
}

void ff__new_file_drop(struct ff__new_file *file) {
    unlinkat(file->folder, file->part, 0);
    leave(file);
}

/* ---- written at once ---- */

/* Through a stream of its own, so that the descriptor stays open. */
static int print_to(int fd, ff__file_print *print, const void *self) {
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    FILE *stream = copy < 0 ? NULL : fdopen(copy, "w");
    if (!stream) {
        int status = -errno;
        if (copy >= 0)
            close(copy);
        return status;
    }
    errno = 0;
    int status = print(stream, self);
    if (!status && ferror(stream))
        status = errno ? -errno : -EIO;
    if (fclose(stream) && !status)
        status = -errno;
    return status;
}

/* Opening does not wait for a reader; writing does. */
static int write_in_place(const char *path, ff__file_print *print, const void *self) {
    int fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int status = fcntl(fd, F_SETFL, 0) ? -errno : print_to(fd, print, self);
    close(fd);
    return status;
}

/* Its mode, if there is something that is no regular file, or 0. */
static mode_t special_mode(const char *path) {
    struct stat about;
    return stat(path, &about) == 0 && !S_ISREG(about.st_mode) ? about.st_mode : 0;
}

/* Of the file that a link leads to. */
static int open_target(struct ff__new_file *file, const char *path) {
    char *real = realpath(path, NULL);
    int status = ff__new_file_open(file, real ? real : path);
    free(real);
    return status;
}

static int write_file(const char *path, ff__file_print *print, const void *self) {
    struct ff__new_file file;
    if (special_mode(path))
        return write_in_place(path, print, self);
    int status = open_target(&file, path);
    if (status)
        return status;
    status = print_to(file.fd, print, self);
    if (!status)
        return ff__new_file_keep(&file);
    ff__new_file_drop(&file);
    return status;
}

int ff__file_write(const char *path, ff__file_print *print, const void *self) {
    struct ff__file_limit held;
    ff__file_limit_hold(&held);
    int status = write_file(path, print, self);
    ff__file_limit_release(&held);
    return status;
}

int ff__file_temporary(char path[PATH_MAX]) {
    const char *folder = getenv("TMPDIR");
    int length = snprintf(path, PATH_MAX, "%s/farfault-XXXXXX",
                          folder && folder[0] == '/' ? folder : "/tmp");
    int fd = length < PATH_MAX ? mkostemp(path, O_CLOEXEC) : -1;
    if (length >= PATH_MAX)
        return -ENAMETOOLONG;
    if (fd < 0)
        return -errno;
    close(fd);
    return 0;
}

int ff__file_print_bytes(FILE *stream, const void *self) {
    const struct ff__file_bytes *bytes = self;
    errno = 0;
    if (fwrite(bytes->start, 1, bytes->size, stream) == bytes->size)
        return 0;
    return errno ? -errno : -EIO;
}

int ff__file_check(const char *path) {
    struct ff__new_file file;
    mode_t special = special_mode(path);
    if (special)
        return S_ISDIR(special) ? -EISDIR : access(path, W_OK) ? -errno : 0;
    int status = open_target(&file, path);
    if (!status)
        ff__new_file_drop(&file);
    return status;
}
