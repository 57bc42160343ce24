#include "study/jobs/wire.h"

#include "report/text.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#define WAIT_S     10         /* for a connection */
#define BACKLOG    4096       /* ranks that connect while rank 0 does something else */
#define ADDRESSES  16         /* of rank 0, at most */
#define RESULT_MAX (1L << 32) /* bytes; more is none of ours */

/* ---- bytes ---- */

bool ff__wire_write(int socket, const void *bytes, size_t size) {
    while (size > 0) {
        ssize_t sent = send(socket, bytes, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        bytes = (const char *)bytes + sent;
        size -= (size_t)sent;
    }
    return true;
}

bool ff__wire_read(int socket, void *bytes, size_t size) {
    while (size > 0) {
        ssize_t got = recv(socket, bytes, size, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        bytes = (char *)bytes + got;
        size -= (size_t)got;
    }
    return true;
}

bool ff__wire_write_text(int socket, const char *text) {
    uint64_t size = strlen(text);
    return ff__wire_write(socket, &size, sizeof size) && ff__wire_write(socket, text, size);
}

char *ff__wire_read_text(int socket) {
    uint64_t size;
    if (!ff__wire_read(socket, &size, sizeof size) || size > RESULT_MAX)
        return NULL;
    char *text = ff__must(calloc(size + 1, 1));
    if (ff__wire_read(socket, text, size))
        return text;
    free(text);
    return NULL;
}

/* ---- connections ---- */

void ff__wire_watch(int socket) {
    const int on = 1, idle_s = 10, interval_s = 5, probes = 4;
    setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
    setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/* All numeric addresses of this host: its loopback first, for ranks on it. */
static void print_addresses(FILE *out) {
    struct ifaddrs *all = NULL;
    unsigned count = 1;
    fprintf(out, " 127.0.0.1");
    if (getifaddrs(&all))
        return;
    for (const struct ifaddrs *at = all; at && count < ADDRESSES; at = at->ifa_next) {
        char host[NI_MAXHOST];
        bool v4 = at->ifa_addr && at->ifa_addr->sa_family == AF_INET;
        if (!v4 || (at->ifa_flags & IFF_LOOPBACK) ||
            getnameinfo(at->ifa_addr, sizeof(struct sockaddr_in), host, sizeof host, NULL, 0,
                        NI_NUMERICHOST))
            continue;
        fprintf(out, " %s", host);
        count++;
    }
    freeifaddrs(all);
}

int ff__wire_listen(char address[FF__WIRE_ADDRESS_MAX], unsigned char token[16]) {
    struct sockaddr_in any = {.sin_family = AF_INET};
    socklen_t size = sizeof any;
    char host[256] = "";
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&any, size) ||
        listen(listener, BACKLOG) || getsockname(listener, (struct sockaddr *)&any, &size) ||
        getrandom(token, 16, 0) != 16 || gethostname(host, sizeof host - 1)) {
        int status = -errno;
        if (listener >= 0)
            close(listener);
        return status;
    }
    memset(address, 0, FF__WIRE_ADDRESS_MAX);
    FILE *out = ff__must(fmemopen(address, FF__WIRE_ADDRESS_MAX - 1, "w"));
    for (unsigned i = 0; i < 16; i++)
        fprintf(out, "%02x", token[i]);
    fprintf(out, " %s %u", host, ntohs(any.sin_port));
    print_addresses(out);
    fclose(out);
    return listener;
}

static int connect_to(const char *host, const char *port) {
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST};
    const struct timeval limit = {.tv_sec = WAIT_S};
    struct addrinfo *found;
    if (getaddrinfo(host, port, &hints, &found))
        return -EINVAL;
    int one = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0), status = one;
    if (one >= 0) {
        setsockopt(one, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit); /* connect(), too */
        if (connect(one, found->ai_addr, found->ai_addrlen)) {
            status = errno == EINPROGRESS ? -ETIMEDOUT : -errno;
            close(one);
        }
    } else
        status = -errno;
    freeaddrinfo(found);
    return status;
}

int ff__wire_connect(const char *address, unsigned char token[16]) {
    char hex[33], host[256], port[8], own[256] = "";
    int length = 0, status = -EINVAL;
    if (sscanf(address, "%32s %255s %7s%n", hex, host, port, &length) != 3)
        return -EINVAL;
    for (unsigned i = 0; i < 16; i++)
        if (sscanf(hex + 2 * (size_t)i, "%2hhx", &token[i]) != 1)
            return -EINVAL;
    gethostname(own, sizeof own - 1);
    char *rest = ff__text("%s", address + length), *save = NULL;
    for (char *at = strtok_r(rest, " ", &save); at && status < 0; at = strtok_r(NULL, " ", &save))
        if (strncmp(at, "127.", 4) != 0 || strcmp(own, host) == 0)
            status = connect_to(at, port);
    free(rest);
    if (status >= 0)
        ff__wire_watch(status);
    return status;
}
