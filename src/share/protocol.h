/* What programs and the broker (farfaultd) say to each other over a unix socket of type
 * SOCK_SEQPACKET.
 *
 * Every message is one packet of a fixed size. Only the broker sends descriptors, and only with the
 * first lease of a device's memory; whoever sends others is refused. All numbers are those of this
 * machine: both ends run on it.
 *
 * A program says HELLO, and is told WELCOME and all DEVICEs, or REFUSED with a line that says why.
 * Then it says at any time how much memory it needs of its own device (NEED), how much of others it
 * could use (HARVEST), and what it has counted and could do without (REPORT); and is told what it
 * may have of its own (OWN), and of others' (LEASE), and asked for what it could do without (LEND),
 * which it gives up by a smaller NEED. Where it may have less of its own than it has, it says HAVE
 * as that shrinks. Slots are reclaimed by way of share/lease.h.
 *
 * Programs of one device may take turns. Told HOLD, a program begins no kernel more, and gives its
 * memory up when those that run have ended. Told GO, it takes memory as it is told OWN, fetches
 * what it had, says READY, and begins kernels again. WANT says whether it has kernels to run.
 *
 * A monitor (farfault top) says WATCH, and is told all DEVICEs and PROGRAMs, and END. */
#ifndef FF_SHARE_PROTOCOL_H
#define FF_SHARE_PROTOCOL_H

#include <stdbool.h>
#include <stdint.h>

#define FF__SHARE_MAGIC      UINT32_C(0x66660003) /* with the version of the protocol */
#define FF__SHARE_DEVICES    8u                   /* of one broker */
#define FF__SHARE_NAME       32u                  /* bytes, with the zero at the end */
#define FF__SHARE_TEXT       120u
#define FF__SHARE_PRIORITIES 8u
#define FF__SHARE_BYTES      (UINT64_C(1) << 44) /* the most memory of a device */
#define FF__SHARE_NOBODY     UINT32_MAX

enum ff__share_kind {
    /* from programs and monitors */
    FF__SHARE_HELLO = 1, /* text: a device's name, or "": any one; bytes: the most that is wanted of
                            it, 0: all; number: the priority, 0: the lowest */
    FF__SHARE_NEED,      /* bytes: of the own device */
    FF__SHARE_HARVEST,   /* bytes: of others, 0: none */
    FF__SHARE_HAVE,      /* bytes: that it has of the own device at most, from now on */
    FF__SHARE_WANT,      /* number: 0: it has no kernel to run, 1: it has */
    FF__SHARE_READY,     /* what it had is back */
    /* counts; bytes: of the own device that it could do without, as it is idle; 0: it is not */
    FF__SHARE_REPORT,
    FF__SHARE_WATCH,
    /* from the broker */
    /* device: the own one; bytes: what it may have of it now; lent: what others have of it */
    FF__SHARE_WELCOME,
    FF__SHARE_REFUSED, /* text */
    FF__SHARE_DEVICE,  /* device, bytes: its memory; own, lent: bytes of it; text: its name */
    /* pid, device; own; lent: that it has borrowed; counts, turns, waits; number: the priority;
     * text: its name */
    FF__SHARE_PROGRAM,
    /* bytes: what it may have of its own device from now on; lent: what others have of it */
    FF__SHARE_OWN,
    FF__SHARE_LEND, /* bytes: that others could use of what it does without */
    FF__SHARE_HOLD, /* bytes: what it may have; ns: how long kernels that run may take to end */
    FF__SHARE_GO,   /* bytes: what it may have now; own: what it is going to have */
    /* device; bytes: what it may have of it from now on; the first one with two descriptors */
    FF__SHARE_LEASE,
    FF__SHARE_END,
    FF__SHARE_KINDS
};

/* What a program has counted since it began. */
struct ff__share_counts {
    uint64_t faults, refaults, launches;
    uint64_t bytes_in, bytes_out;       /* from and to the host */
    uint64_t bytes_lent, bytes_fetched; /* to and from other devices */
    uint64_t stalled_ns; /* that it waited for faults, of all the time that its kernels had */
    uint64_t waited_ns;  /* that launches waited for its turn */
};

struct ff__share_message {
    uint32_t magic, kind;
    uint32_t device, pid;
    uint64_t bytes;
    uint64_t own, lent; /* bytes */
    uint64_t number, ns;
    struct ff__share_counts counts;
    uint32_t turns, waits;     /* of a program: that it has had; whether it waits for one */
    char text[FF__SHARE_TEXT]; /* ends in a zero */
};

_Static_assert(sizeof(struct ff__share_message) == 256, "the protocol is fixed");

/* Whether the packet is a message: of the right size, with every field in its bounds. */
bool ff__share_is_valid(const void *packet, uint64_t size);

/* Of a kind; the rest is zero. */
struct ff__share_message ff__share_message(enum ff__share_kind kind);

/* Sets the text, cut to what fits. */
void ff__share_set_text(struct ff__share_message *message, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Sends a message, and descriptors if there are any; never waits, unless `waits`. -EAGAIN: the
 * other side does not read. -EPIPE, -ECONNRESET: it is gone. */
int ff__share_send(int socket, const struct ff__share_message *message, const int *fds,
                   unsigned count, bool waits);

#define FF__SHARE_FDS 2u

/* Receives one. 0: nobody is there any more, 1: it has come; -EAGAIN: none is there. -EPROTO: it is
 * no message, or comes with descriptors other than `fd_count` of them (0 or FF__SHARE_FDS), all of
 * which are closed. *fd_count is set to how many have come; a caller that passes fds NULL gets
 * none. */
int ff__share_receive(int socket, struct ff__share_message *message, int fds[FF__SHARE_FDS],
                      unsigned *fd_count, bool waits);

/* Connects to a broker. Negative errno. */
int ff__share_connect(const char *path);

#endif
