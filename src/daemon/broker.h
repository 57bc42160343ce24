/* The broker: devices that programs share. One thread, one epoll, tables of fixed size.
 *
 * A program has one device, and a device any number of programs. What does not fit it together is
 * divided (daemon/divide.h), or its programs take turns (daemon/turns.h). What they do not need is
 * lent to programs of other devices, by grants of slots (daemon/grant.h). What a program needs of
 * its own device again is reclaimed from these: at once as far as they hold nothing there that only
 * they have; the rest as they write it back, and after a time limit in any case. A program that
 * breaks the protocol, does not read what it is sent, or keeps what it has borrowed, is
 * disconnected. */
#ifndef FF_DAEMON_BROKER_H
#define FF_DAEMON_BROKER_H

#include "base/log.h"
#include "daemon/divide.h"
#include "daemon/grant.h"
#include "daemon/turns.h"
#include "share/protocol.h"

#include <farfault/farfault.h>

#define FF__CLIENTS        FF__PROGRAMS
#define FF__CLIENTS_OF_PID 4u
#define FF__KEEP                                                                                   \
    2u /* slots of a device that each program can have, so that it can begin, and go on; ours */

struct ff__broker_device {
    char name[FF__SHARE_NAME];
    uint32_t slots;
    struct ff__turns turns;
};

struct ff__client {
    int fd; /* -1: none */
    uint32_t pid;
    uint32_t device;             /* FF__SHARE_NOBODY: it has not joined */
    uint64_t since_ns, heard_ns; /* when it connected, and said something last */
    char name[FF__SHARE_NAME];   /* the program's, as the system has it */
    /* Slots of its device: that it uses at most, would use, and has been told it may use. It gives
     * up what it uses above that until the deadline; 0: nothing is above. */
    uint32_t own, need, due;
    uint64_t deadline_ns;
    uint32_t priority; /* 1..FF__SHARE_PRIORITIES */
    enum ff__turn turn, told_turn;
    bool wants; /* its turn: it has something to launch */
    struct ff__thrashing thrash;
    uint32_t wanted;    /* of others */
    uint32_t spared;    /* slots of its device that it could do without; 0: it is in use */
    bool is_asked;      /* for some of these, and has not answered */
    uint32_t told_lent; /* slots of its device that it has been told others have */
    struct ff__grant grants[FF__SHARE_DEVICES];
    struct ff__share_counts counts;
    uint32_t turns; /* that it has had */
};

struct ff__broker {
    int listener, epoll;
    const char *path;
    uint64_t limit_ns; /* to give back what others need */
    bool has_no_turns; /* what does not fit is divided, and stays so */
    struct ff__log log;
    const char *metrics; /* the file for counters (daemon/metrics.h); NULL: none */
    uint64_t metrics_ns; /* when it was written last, or could not be */
    bool has_failed;     /* it could not be written, which has been said */
    uint32_t device_count;
    struct ff__broker_device devices[FF__SHARE_DEVICES];
    struct ff__client clients[FF__CLIENTS];
    bool deaf; /* there was no room for a connection that waits */
    bool stop; /* atomic: set by handlers of signals */
};

/* Listens at the path, which must not exist or be a socket that nobody listens at. The devices are
 * set before. Negative errno, with a line. */
int ff__broker_open(struct ff__broker *broker, const char *path, struct ff_error *error);

/* Serves what has come, waiting for it at most `timeout_ms`. Returns how soon it is to be called
 * again, in ms; negative errno: it could not wait. */
int ff__broker_step(struct ff__broker *broker, int timeout_ms);

/* Serves until it is to stop. Negative errno: it could not wait. */
int ff__broker_run(struct ff__broker *broker);
void ff__broker_close(struct ff__broker *broker);

#endif
