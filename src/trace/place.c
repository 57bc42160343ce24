#include "trace/place.h"

#include "base/file_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRIES 1000u

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

/* Nothing but a regular file may be replaced: not a device, a link or a folder. */
static int check_target(const struct ff__place *place) {
    struct stat stat;
    if (fstatat(place->folder, place->name, &stat, AT_SYMLINK_NOFOLLOW))
        return errno == ENOENT ? 0 : -errno;
    return S_ISREG(stat.st_mode) ? 0 : -EEXIST;
}

static int make_part(struct ff__place *place) {
    size_t size = strlen(place->name) + 48;
    place->part = malloc(size);
    if (!place->part)
        return -ENOMEM;
    for (unsigned i = 0; i < TRIES; i++) {
        snprintf(place->part, size, "%s.%ld-%u.part", place->name, (long)getpid(), i);
        place->fd =
            openat(place->folder, place->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (place->fd >= 0 || errno != EEXIST)
            return place->fd >= 0 ? 0 : -errno;
    }
    return -EEXIST;
}

int ff__place_open(struct ff__place *place, const char *path) {
    const char *slash = strrchr(path, '/');
    *place = (struct ff__place){-1, -1, NULL, NULL};
    if (!*(slash ? slash + 1 : path))
        return -EISDIR;
    place->folder = open_folder(path, slash);
    int status = place->folder < 0 ? -errno : 0;
    place->name = strdup(slash ? slash + 1 : path);
    if (!status)
        status = place->name ? check_target(place) : -ENOMEM;
    if (!status)
        status = make_part(place);
    if (status)
        ff__place_leave(place);
    return status;
}

static ssize_t write_some(int fd, const void *bytes, size_t size) {
    struct ff__file_limit held;
    ff__file_limit_hold(&held);
    ssize_t done = write(fd, bytes, size);
    ff__file_limit_release(&held);
    return done;
}

int ff__place_write(struct ff__place *place, const void *bytes, size_t size) {
    const char *from = bytes;
    while (size > 0) {
        ssize_t done = write_some(place->fd, from, size);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done < 0 ? -errno : -ENOSPC;
        from += done;
        size -= (size_t)done;
    }
    return 0;
}

int ff__place_keep(struct ff__place *place) {
    int fd = place->fd;
    place->fd = -1;
    /* some file systems only now find that there is no room */
    int status = fd >= 0 && close(fd) ? -errno : 0;
    if (!status)
        status = check_target(place);
    if (!status && renameat(place->folder, place->part, place->folder, place->name))
        status = -errno;
    if (status)
        ff__place_drop(place);
    else
        ff__place_leave(place);
    return status;
}

void ff__place_drop(struct ff__place *place) {
    unlinkat(place->folder, place->part, 0);
    ff__place_leave(place);
}

void ff__place_leave(struct ff__place *place) {
    if (place->fd >= 0)
        close(place->fd);
    if (place->folder >= 0)
        close(place->folder);
    free(place->name);
    free(place->part);
    *place = (struct ff__place){-1, -1, NULL, NULL};
}
