#include "backend/sim/machine/links.h"

#include "backend/sim/machine/virtual_time.h"

#include <errno.h>
#include <farfault/policy.h>
#include <stdlib.h>

enum { PORT_IN, PORT_OUT, PORT_PEER, DEVICE_PORTS };

static uint32_t port_of(uint32_t tier, uint32_t kind) {
    return (tier - 1) * DEVICE_PORTS + kind;
}

static struct link link_of(const struct ff__gpu *gpu, uint32_t from, uint32_t to) {
    if (from == to)
        return (struct link){.model = NULL};
    if (from == FF_TIER_HOST)
        return (struct link){&gpu->in, 1, {port_of(to, PORT_IN)}, 1};
    if (to == FF_TIER_HOST)
        return (struct link){&gpu->out, 1, {port_of(from, PORT_OUT)}, 1};
    return (struct link){&gpu->peer, 1, {port_of(from, PORT_PEER), port_of(to, PORT_PEER)}, 2};
}

/* Ports of switches lie behind those of devices, and ports of pairs behind those of switches. */
static struct link link_in_machine(const struct ff__gpu *gpu, const struct ff__machine *machine,
                                   uint32_t devices, uint32_t from, uint32_t to) {
    uint32_t switches = devices * DEVICE_PORTS, pairs = switches + 2 * devices;
    struct link link = link_of(gpu, from, to);
    if (from == to)
        return link;
    if (from == FF_TIER_HOST)
        link.ports[link.port_count++] = switches + 2 * machine->switch_of[to - 1];
    else if (to == FF_TIER_HOST)
        link.ports[link.port_count++] = switches + 2 * machine->switch_of[from - 1] + 1;
    else
        link = (struct link){&gpu->peer,
                             machine->peer[from - 1][to - 1],
                             {pairs + (from - 1) * devices + to - 1},
                             1};
    return link;
}

int ff__links_init(struct links *links, const struct ff__gpu *gpu,
                   const struct ff__machine *machine, uint32_t devices) {
    uint32_t tiers = devices + 1, ports = devices * (DEVICE_PORTS + 2 + devices);
    links->tier_count = tiers;
    links->between = calloc((size_t)tiers * tiers, sizeof *links->between);
    links->free_at = calloc(ports, sizeof *links->free_at);
    links->passed_at = calloc((size_t)tiers * tiers, sizeof *links->passed_at);
    links->copied_at = calloc((size_t)tiers * tiers, sizeof *links->copied_at);
    links->request = calloc((size_t)tiers * tiers, sizeof *links->request);
    if (!links->between || !links->free_at || !links->passed_at || !links->copied_at ||
        !links->request)
        return -ENOMEM;
    for (uint32_t from = 0; from < tiers; from++)
        for (uint32_t to = 0; to < tiers; to++)
            links->between[from * tiers + to] =
                machine ? link_in_machine(gpu, machine, devices, from, to) : link_of(gpu, from, to);
    return 0;
}

void ff__links_fini(struct links *links) {
    free(links->between);
    free(links->free_at);
    free(links->passed_at);
    free(links->copied_at);
    free(links->request);
}

uint64_t ff__link_transfer_ns(const struct link *link, uint64_t bytes) {
    uint64_t ns = ff__link_ns(link->model, bytes);
    return link->rate == 1 ? ns : (uint64_t)((double)ns / link->rate);
}

uint64_t ff__link_request_ns(struct links *links, const struct link *link, uint64_t bytes,
                             bool joins, uint64_t time) {
    uint64_t number = (uint64_t)(link - links->between), *request = &links->request[number];
    uint64_t before = joins && links->copied_at[number] > time ? *request : 0;
    *request = before + bytes;
    uint64_t ns = ff__link_transfer_ns(link, before + bytes);
    return before ? ns - ff__link_transfer_ns(link, before) : ns;
}

uint64_t ff__link_hold(struct links *links, const struct link *link, uint64_t ps, uint64_t time) {
    uint64_t free_at = ff__link_free_at(links, link), start = free_at > time ? free_at : time;
    for (uint32_t i = 0; i < link->port_count; i++)
        links->free_at[link->ports[i]] = start + ps;
    links->copied_at[link - links->between] = start + ps;
    return start + ps;
}

/* How long accesses that take `ps` in all wait for packets of copies that pass until `copied_at`.
 */
static uint64_t wait_for_copies(const struct links *links, uint64_t copied_at, uint64_t start,
                                uint64_t ps) {
    if (!links->takes_turns)
        return 0;
    uint64_t half = copied_at > start ? (copied_at - start) / 2 : 0;
    return half < ps ? half : ps;
}

uint64_t ff__link_pass(struct links *links, uint32_t from, uint32_t to, uint64_t ps,
                       uint64_t time) {
    const struct link *link = ff__link_between(links, from, to);
    uint32_t number = from * links->tier_count + to;
    uint64_t *passed_at = &links->passed_at[number];
    uint64_t start = *passed_at > time ? *passed_at : time;
    for (uint32_t i = 0; i < link->port_count; i++) {
        uint64_t *free_at = &links->free_at[link->ports[i]];
        *free_at = (*free_at > start ? *free_at : start) + ps;
    }
    return *passed_at = start + ps + wait_for_copies(links, links->copied_at[number], start, ps);
}
