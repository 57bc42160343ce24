#include "share/protocol.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define FDS_SEEN                                                                                   \
    16u /* descriptors that are received, to be closed; what is beyond them the kernel closes */

bool ff__share_is_valid(const void *packet, uint64_t size) {
    struct ff__share_message message;
    if (size != sizeof message)
        return false;
    memcpy(&message, packet, sizeof message);
    bool has_device = message.device < FF__SHARE_DEVICES || message.device == FF__SHARE_NOBODY;
    return message.magic == FF__SHARE_MAGIC && message.kind > 0 && message.kind < FF__SHARE_KINDS &&
           has_device && message.bytes <= FF__SHARE_BYTES && message.own <= FF__SHARE_BYTES &&
           message.lent <= FF__SHARE_BYTES * FF__SHARE_DEVICES &&
           memchr(message.text, '\0', sizeof message.text);
}

struct ff__share_message ff__share_message(enum ff__share_kind kind) {
    return (struct ff__share_message){.magic = FF__SHARE_MAGIC, .kind = (uint32_t)kind};
}

void ff__share_set_text(struct ff__share_message *message, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(message->text, sizeof message->text, format, args);
    va_end(args);
}

union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(FDS_SEEN * sizeof(int))];
};

int ff__share_send(int socket, const struct ff__share_message *message, const int *fds,
                   unsigned count, bool waits) {
    union control control = {.bytes = {0}};
    struct iovec vector = {(void *)(uintptr_t)message, sizeof *message};
    struct msghdr header = {.msg_iov = &vector, .msg_iovlen = 1};
    if (count > 0) {
        header.msg_control = control.bytes;
        header.msg_controllen = CMSG_SPACE(count * sizeof(int));
        struct cmsghdr *about = CMSG_FIRSTHDR(&header);
        about->cmsg_level = SOL_SOCKET;
        about->cmsg_type = SCM_RIGHTS;
        about->cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(about), fds, count * sizeof(int));
    }
    ssize_t sent;
    do
        sent = sendmsg(socket, &header, MSG_NOSIGNAL | (waits ? 0 : MSG_DONTWAIT));
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : 0;
}

/* The descriptors that have come. */
static unsigned take_fds(struct msghdr *header, int fds[FDS_SEEN]) {
    unsigned count = 0;
    for (struct cmsghdr *about = CMSG_FIRSTHDR(header); about; about = CMSG_NXTHDR(header, about)) {
        if (about->cmsg_level != SOL_SOCKET || about->cmsg_type != SCM_RIGHTS)
            continue;
        size_t size = about->cmsg_len - CMSG_LEN(0);
        for (size_t at = 0; at + sizeof(int) <= size && count < FDS_SEEN; at += sizeof(int))
            memcpy(&fds[count++], CMSG_DATA(about) + at, sizeof(int));
    }
    return count;
}

int ff__share_receive(int socket, struct ff__share_message *message, int fds[FF__SHARE_FDS],
                      unsigned *fd_count, bool waits) {
    union control control;
    int seen[FDS_SEEN];
    /* one byte more than a message has, so that a longer packet shows */
    char packet[sizeof *message + 1];
    struct iovec vector = {packet, sizeof packet};
    struct msghdr header = {.msg_iov = &vector,
                            .msg_iovlen = 1,
                            .msg_control = control.bytes,
                            .msg_controllen = sizeof control.bytes};
    ssize_t size;
    do
        size = recvmsg(socket, &header, MSG_CMSG_CLOEXEC | (waits ? 0 : MSG_DONTWAIT));
    while (size < 0 && errno == EINTR);
    if (size < 0)
        return errno == ECONNRESET ? 0 : -errno;
    unsigned count = take_fds(&header, seen);
    bool fits = count == 0 || (fds && count == FF__SHARE_FDS && !(header.msg_flags & MSG_CTRUNC));
    bool is_end = size == 0 && count == 0;
    bool good = fits && !is_end && ff__share_is_valid(packet, (uint64_t)size);
    for (unsigned i = 0; i < count; i++) {
        if (good)
            fds[i] = seen[i];
        else
            close(seen[i]);
    }
    if (!good)
        return is_end ? 0 : -EPROTO;
    memcpy(message, packet, sizeof *message);
    if (fd_count)
        *fd_count = count;
    return 1;
}

int ff__share_connect(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return -ENAMETOOLONG;
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    if (connect(fd, (const struct sockaddr *)&address, sizeof address)) {
        int status = -errno;
        close(fd);
        return status;
    }
    return fd;
}
