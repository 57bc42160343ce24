/* Links: the topology that bytes move over.
 *
 * Tiers are its nodes. Each ordered pair of tiers has at most one link: a curve of bandwidth by
 * size, a latency, and the ports that a transfer holds. A port serves one transfer at a time; it
 * stands for one direction of a device's connector, or for a switch. Links that share a port take
 * turns. */
#ifndef FF_BACKEND_SIM_MACHINE_LINKS_H
#define FF_BACKEND_SIM_MACHINE_LINKS_H

#include "backend/sim/machine/machine.h"

#define LINK_PORTS 4u /* of one link, at most */

struct link {
    const struct ff__link_model *model; /* NULL: there is no link */
    double rate;                        /* as a share of the model's */
    uint32_t ports[LINK_PORTS], port_count;
};

struct links {
    uint32_t tier_count;
    bool takes_turns;     /* see ff__link_pass(); the caller sets it */
    struct link *between; /* [from * tier_count + to] */
    uint64_t *free_at;    /* [port] when its last transfer so far has passed; ps */
    uint64_t *passed_at;  /* [from * tier_count + to] when its last remote access so far has; ps */
    uint64_t *copied_at;  /* [from * tier_count + to] and its last transfer; ps */
    uint64_t *request;    /* [from * tier_count + to] bytes of its latest request */
};

/* Links every device with the host, one way each, and with every other device, over one port of
 * each device for both directions. With a `machine`, each pair of devices has a port of its own in
 * each direction, and devices behind a switch share one port to the host, and one back. Borrows the
 * models of `gpu`. -ENOMEM. The caller ends it in any case. */
int ff__links_init(struct links *links, const struct ff__gpu *gpu,
                   const struct ff__machine *machine, uint32_t devices);
void ff__links_fini(struct links *links);

static inline const struct link *ff__link_between(const struct links *links, uint32_t from,
                                                  uint32_t to) {
    return &links->between[from * links->tier_count + to];
}

/* When all ports of the link are free; ps. */
static inline uint64_t ff__link_free_at(const struct links *links, const struct link *link) {
    uint64_t last = 0;
    for (uint32_t i = 0; i < link->port_count; i++) {
        uint64_t free_at = links->free_at[link->ports[i]];
        last = free_at > last ? free_at : last;
    }
    return last;
}

/* How long a transfer of so many bytes holds the link, in ns. */
uint64_t ff__link_transfer_ns(const struct link *link, uint64_t bytes);

/* The same for the link's next request, asked for at `time` (ps). What `joins` belongs to the
 * latest request, if that has not passed yet: it takes what the request takes longer with it. */
uint64_t ff__link_request_ns(struct links *links, const struct link *link, uint64_t bytes,
                             bool joins, uint64_t time);

/* Holds the link for so long, from `time` on or when it is free. Returns when it is free again (all
 * in ps). The last byte arrives the link's latency later. */
uint64_t ff__link_hold(struct links *links, const struct link *link, uint64_t ps, uint64_t time);

/* Remote accesses that take so long in all, from `time` on or behind those before them. They do not
 * wait for the end of a transfer: an access is a packet between two of a copy. With `takes_turns`
 * they have half of the link while there are copies, as clients of a link do that are served in
 * turn. Otherwise they have all that they want of it, as in UVMSmart's queue, where they wait only
 * for the transfer that is under way (gpu-sim.cc, gmmu_t::cycle(): "prioritize dma before page
 * migration"). What they take of the link is missing to the transfers that come after them; those
 * that wait already are not delayed. Returns when the last one has passed (all in ps). */
uint64_t ff__link_pass(struct links *links, uint32_t from, uint32_t to, uint64_t ps, uint64_t time);

#endif
