/* What the software device says of itself. */
#include "backend/soft/device.h"
#include "backend/soft/kernel.h"

#include <stdio.h>
#include <sys/utsname.h>

/* Ours: an eighth of a chunk at most is given up so that it stays one huge page, which is cleared
 * once, and moves in one piece. */
#define WHOLE_LEAVES 28u

/* Ours, likewise (FF__SOFT_COPY_RATE). */
#define FAULT_NS 8000u
static bool is_paced(const struct ff__soft *soft) {
    const struct ff__link *host = &soft->links[FF_TIER_HOST][1], *peer = &soft->links[1][2];
    return host->speed.bytes_per_second > 0 ||
           (soft->memory.tier_count > 2 && peer->speed.bytes_per_second > 0);
}

static void describe_in_words(const struct ff__soft *soft, char *text, size_t size) {
    static const char *const handlers[] = {"adaptive handler", "sleeping handler", "SIGBUS handler",
                                           "faults served by kernels"};
    snprintf(
        text, size, "%s, %s%s%s%s", soft->use_move ? "MOVE" : "COPY", handlers[soft->handler],
        is_paced(soft) ? ", paced link" : "", soft->host.fd >= 0 ? ", host tier in a file" : "",
        soft->uffd.user_mode_only ? ", user-mode faults only: system calls on absent pages fail"
        : soft->uffd.sigbus       ? ": system calls on absent pages fail"
                                  : "");
}

static struct ff_link_cost cost_of(const struct ff__link *link) {
    const struct ff_link *speed = &link->speed;
    return speed->bytes_per_second > 0
               ? (struct ff_link_cost){speed->latency_ns, (uint64_t)speed->bytes_per_second, 0}
               : (struct ff_link_cost){0, FF__SOFT_COPY_RATE, 0};
}

/* A mapped page stands for some accesses, and costs its fault, too. */
static uint64_t access_ps(const struct ff_link_cost *link) {
    uint64_t ns =
        FAULT_NS + link->latency_ns + FF_PAGE_SIZE * UINT64_C(1000000000) / link->bytes_per_second;
    return (ns * 1000 + FF__MAPPED_ACCESSES - 1) / FF__MAPPED_ACCESSES;
}

/* Of use from the host. */
static void describe_remote(const struct ff__soft *soft, struct ff__description *out) {
    if (!soft->maps_remote)
        return;
    out->maps_remote = true;
    out->shows |= FF_SEES_REMOTE;
    out->controls |= FF_CONTROLS_REMOTE;
    for (uint32_t tier = 1; tier < out->tier_count; tier++)
        out->link[FF_TIER_HOST][tier].access_ps = access_ps(&out->link[FF_TIER_HOST][tier]);
}

void ff__soft_describe(void *self, struct ff__description *out) {
    const struct ff__soft *soft = self;
    const struct ff__memory *memory = &soft->memory;
    *out = (struct ff__description){
        .base = (uintptr_t)memory->managed,
        .address_space = memory->size,
        .tier_count = memory->tier_count,
        .shows = FF_SEES_FAULTS | FF_SEES_LAUNCHES | FF_SEES_OPERANDS | FF_SEES_SAMPLES |
                 FF_SEES_SHARERS,
        .controls = FF_CONTROLS_FAULTS | FF_CONTROLS_VICTIMS | FF_CONTROLS_SAMPLING,
        .fault_ns = FAULT_NS,
        .whole_leaves = soft->use_move ? WHOLE_LEAVES : 0,
        .copies_on_processors = soft->links[FF_TIER_HOST][1].speed.bytes_per_second <= 0,
        .parts_cost_more = true,
        .peer_links = memory->tier_count > 2,
        .guests_apart = memory->tier_count > 2,
        .writes_back = memory->tier_count > 2,
        .reserves_host = soft->host.fd >= 0,
        .serves_here = soft->uffd.sigbus,
    };
    for (uint32_t tier = 1; tier < memory->tier_count; tier++) {
        bool is_own = tier <= memory->devices;
        out->tier[tier] = (struct ff__tier_description){memory->lent_size[tier], !is_own,
                                                        ff__memory_spare(memory), soft->granule};
    }
    for (uint32_t from = 0; from < memory->tier_count; from++)
        for (uint32_t to = 0; to < memory->tier_count; to++)
            if (from != to)
                out->link[from][to] = cost_of(&soft->links[from][to]);
    describe_remote(soft, out);
    describe_in_words(soft, out->text, sizeof out->text);
}

static void tell_of_kernel(const struct ff__soft *soft) {
    struct utsname names;
    const char *warning =
        soft->use_move && uname(&names) == 0 ? ff__kernel_move_warning(names.release) : NULL;
    if (warning)
        ff__log_line(&soft->log, FF_LOG_WARNING, "%s", warning);
}

void ff__soft_tell_limits(const struct ff__soft *soft) {
    tell_of_kernel(soft);
    if (soft->uffd.user_mode_only)
        ff__log_line(
            &soft->log, FF_LOG_WARNING,
            "only user-mode faults are permitted here: system calls that meet absent pages "
            "fail with EFAULT");
    if (!soft->use_move)
        ff__log_line(
            &soft->log, FF_LOG_INFO,
            "mechanism COPY: what direct input (O_DIRECT, io_uring) writes to a page while it "
            "is evicted is lost, and dropped content may come back");
    if (soft->uffd.sigbus)
        ff__log_line(&soft->log, FF_LOG_WARNING,
                     "handler SIGBUS: system calls that meet absent pages fail with EFAULT");
}
