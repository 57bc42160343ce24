/* A context that shares devices with other programs through a broker (share/protocol.h).
 *
 * A thread of its own talks to the broker. It lowers the device's capacity when the program uses
 * less than that for a while, raises it when it uses more, and borrows others' memory for what does
 * not fit. While nothing is seen of the program, it lends what others lack of what the program has
 * allocated, too. While other programs of its device have their turn, its launches wait
 * (runtime/hold.h). When the broker is gone, the program has its own device for itself, and no
 * other. */
#ifndef FF_RUNTIME_SHARE_H
#define FF_RUNTIME_SHARE_H

#include "engine/pipeline.h"
#include "runtime/hold.h"
#include "share/protocol.h"

struct ff__share {
    int socket; /* -1: nothing is shared */
    struct ff__neighbours neighbours;
    uint32_t tiers[FF__SHARE_DEVICES]; /* [device of the broker] */
    bool is_leased[FF_TIERS_MAX];
    uint64_t memory; /* bytes of the own device that this program may use at most */
    uint64_t own;    /* bytes of it that the program may use now */
    uint64_t told;   /* bytes of it that it has said it has; more: it is to say so again */
    uint64_t need;   /* bytes of it that the program has asked for */
    uint64_t wanted; /* of others */
    uint64_t low_ns; /* since when it needs less; 0: it does not */
    uint64_t reported_ns;
    uint64_t fault_ns, stalled_ns; /* at the last report: of all threads, and of each on average */
    uint32_t serving_most;         /* groups of faults at the same time, since then */
    struct ff__hold hold;
    bool has_held;             /* launches, ever */
    bool wants;                /* what the broker has been told: that there are kernels to run */
    uint64_t events, event_ns; /* faults and launches so far, and when that number last changed */
    uint64_t idle_ns;          /* without them for so long it is idle: */
    bool is_idle;
    uint64_t kept; /* bytes of the own device that it does with as long as it is idle */
    uint64_t lent,
        lent_peak; /* bytes of the own device that others have, and had at most; atomic */
    struct ff__pipeline *pipeline;
    pthread_t thread;
    bool has_thread, is_ready, has_own_table;
    bool stop, is_silent, leave; /* atomic: it is to be silent, is so, and is to leave the broker */
};

/* Joins the broker that the configuration names, if it names one: what the device may have is in
 * share->memory. Negative errno, with a line. */
int ff__share_join(struct ff__share *share, const struct ff_config *config, struct ff_error *error);

/* Starts the thread; the pipeline runs. 0 or negative errno. */
int ff__share_start(struct ff__share *share, struct ff__pipeline *pipeline);

/* Adds what only the broker knows. */
void ff__share_stats(const struct ff__share *share, struct ff_stats *stats);

/* The thread uses the pipeline no more and says nothing more, but keeps what is borrowed: the
 * pipeline may still copy from there. */
void ff__share_stop(struct ff__share *share);

/* Leaves the broker: the pipeline has ended, or was never there. */
void ff__share_leave(struct ff__share *share);

#endif
