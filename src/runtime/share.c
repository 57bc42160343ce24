#include "runtime/share.h"

#include "base/clock.h"
#include "base/descriptors.h"
#include "base/error.h"
#include "base/thread.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* All ours. */
#define LEAVE_NS  UINT64_C(100000) /* between looks at whether it is to leave */
#define TICK_MS   5
#define ANSWER_S  5                   /* a broker that has not answered by then is none */
#define MARGIN    (2 * FF_BLOCK_SIZE) /* what a program may have beside what it uses */
#define LOW_NS    UINT64_C(500000000) /* it lends memory that it has not needed for so long */
#define REPORT_NS UINT64_C(250000000) /* between two reports */
#define REST_NS   UINT64_C(50000000)  /* without kernels for so long its turn is over */

/* A program that has neither faulted nor launched for so long is idle. The time doubles, up to the
 * second, each time that the program was not idle after all. */
#define IDLE_NS      UINT64_C(2000000000)
#define IDLE_MOST_NS UINT64_C(64000000000)

/* A program that harvests asks for what does not fit and an eighth more; and asks anew once that
 * has changed by a sixteenth. */
#define HARVEST_MORE  8
#define HARVEST_STEPS 16

/* ---- joining ---- */

static int fail(struct ff__share *share, const struct ff_config *config, int status,
                struct ff_error *error, const char *why) {
    close(share->socket);
    share->socket = -1;
    return ff__fail(error, status, "share=%s: %s", config->share, why);
}

static void set_lent(struct ff__share *share, uint64_t bytes) {
    __atomic_store_n(&share->lent, bytes, __ATOMIC_RELAXED);
    if (bytes > share->lent_peak)
        __atomic_store_n(&share->lent_peak, bytes, __ATOMIC_RELAXED);
}

void ff__share_stats(const struct ff__share *share, struct ff_stats *stats) {
    stats->lent = __atomic_load_n(&share->lent, __ATOMIC_RELAXED);
    stats->lent_peak = __atomic_load_n(&share->lent_peak, __ATOMIC_RELAXED);
    stats->waited_ns = __atomic_load_n(&share->hold.waited_ns, __ATOMIC_RELAXED);
}

/* The answers to HELLO. */
static int hear(struct ff__share *share, const struct ff_config *config, struct ff_error *error) {
    struct ff__share_message message;
    uint32_t own = FF__SHARE_NOBODY;
    for (;;) {
        int status = ff__share_receive(share->socket, &message, NULL, NULL, true);
        if (status <= 0)
            return fail(share, config, -EPROTO, error,
                        status == -EAGAIN ? "the broker does not answer"
                                          : "that is no broker of this version");
        switch (message.kind) {
        case FF__SHARE_WELCOME:
            own = message.device;
            share->own = message.bytes;
            set_lent(share, message.lent);
            break;
        case FF__SHARE_DEVICE:
            if (message.device >= FF__SHARE_DEVICES)
                break;
            if (message.device == own)
                share->memory = message.bytes < config->memory ? message.bytes : config->memory;
            else if (share->neighbours.count + 2 < FF_TIERS_MAX) {
                share->tiers[message.device] = 2 + share->neighbours.count;
                share->neighbours.memory[share->neighbours.count++] = message.bytes;
            }
            break;
        case FF__SHARE_REFUSED:
            return fail(share, config, -EBUSY, error, message.text);
        case FF__SHARE_END:
            share->need = share->memory; /* as the broker takes it to be until it hears more */
            return own != FF__SHARE_NOBODY && share->memory > 0
                       ? 0
                       : fail(share, config, -EPROTO, error, "the broker has said too little");
        default:
            break;
        }
    }
}

int ff__share_join(struct ff__share *share, const struct ff_config *config,
                   struct ff_error *error) {
    const struct timeval patience = {.tv_sec = ANSWER_S};
    *share = (struct ff__share){.socket = -1, .idle_ns = IDLE_NS, .kept = UINT64_MAX};
    ff__hold_init(&share->hold);
    if (!config->share)
        return 0;
    if (config->devices != 1)
        return ff__fail(error, -EINVAL,
                        "devices=%u: a program that shares devices has one of its own",
                        config->devices);
    int socket = ff__share_connect(config->share);
    if (socket < 0)
        return ff__fail(error, socket, "share=%s: no broker to connect to: %s", config->share,
                        strerror(-socket));
    share->socket = socket;
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    struct ff__share_message hello = ff__share_message(FF__SHARE_HELLO);
    hello.bytes = config->memory;
    hello.number = config->share_priority;
    if (config->share_device)
        ff__share_set_text(&hello, "%s", config->share_device);
    int status = ff__share_send(socket, &hello, NULL, 0, true);
    if (status)
        return fail(share, config, status, error, strerror(-status));
    return hear(share, config, error);
}

/* ---- what the broker says ---- */

static void set_memory(struct ff__share *share, uint32_t tier, uint64_t bytes) {
    ff__pipeline_set_memory(share->pipeline, tier, bytes);
}

static void set_own(struct ff__share *share, uint64_t bytes) {
    uint64_t most = share->need < share->memory ? share->need : share->memory;
    share->own = bytes < most ? bytes : most; /* what was asked for before that does not count */
    set_memory(share, ff_tier_of_device(0),
               share->own > FF_BLOCK_SIZE ? share->own : FF_BLOCK_SIZE);
}

/* While kernels still run before the turn of others, the program keeps what it has. */
static void take_own(struct ff__share *share, const struct ff__share_message *message) {
    set_lent(share, message->lent);
    if (share->hold.state == FF__HOLD_DRAINS)
        return;
    share->told = UINT64_MAX;
    set_own(share, message->bytes);
}

/* It is the turn of others, of which the program is told once; or its own. */
static void take_turn(struct ff__share *share, const struct ff__share_message *message) {
    uint64_t now = ff__clock_ns();
    share->wants = true;
    share->event_ns = now; /* a program that has waited is not idle */
    if (message->kind == FF__SHARE_GO) {
        ff__hold_restore(&share->hold, message->own, now);
        set_own(share, message->bytes);
        return;
    }
    if (!share->has_held)
        ff__log_line(&share->pipeline->log, FF_LOG_WARNING,
                     "the programs of this device do not fit it together: they take turns, and "
                     "launches wait for the next one; nothing fails");
    share->has_held = true;
    ff__hold_close(&share->hold, message->bytes, message->ns, now);
}

/* Others could use so much of what the program does without. */
static void spare(struct ff__share *share, uint64_t bytes) {
    uint64_t kept = share->own > bytes ? share->own - bytes : 0;
    if (share->is_idle)
        share->kept = kept > MARGIN ? kept : MARGIN;
}

static void take_lease(struct ff__share *share, const struct ff__share_message *message,
                       const int *fds, unsigned count) {
    const struct ff__backend *backend = share->pipeline->backend;
    uint32_t tier = message->device < FF__SHARE_DEVICES ? share->tiers[message->device] : 0;
    if (tier > 0 && count == FF__SHARE_FDS && !share->is_leased[tier] && backend->lease)
        share->is_leased[tier] = backend->lease(share->pipeline->self, tier, fds[0], fds[1]) == 0;
    for (unsigned i = 0; i < count; i++)
        close(fds[i]);
    if (tier > 0 && share->is_leased[tier])
        set_memory(share, tier, message->bytes);
}

/* False: the broker is gone. */
static bool listen_to_broker(struct ff__share *share) {
    struct ff__share_message message;
    int fds[FF__SHARE_FDS];
    unsigned count = 0;
    int status;
    while ((status = ff__share_receive(share->socket, &message, fds, &count, false)) > 0) {
        if (message.kind == FF__SHARE_LEASE) {
            take_lease(share, &message, fds, count);
            continue;
        }
        for (unsigned i = 0; i < count; i++)
            close(fds[i]);
        if (message.kind == FF__SHARE_OWN)
            take_own(share, &message);
        else if (message.kind == FF__SHARE_LEND)
            spare(share, message.bytes);
        else if (message.kind == FF__SHARE_HOLD || message.kind == FF__SHARE_GO)
            take_turn(share, &message);
        else if (message.kind == FF__SHARE_REFUSED)
            ff__log_line(&share->pipeline->log, FF_LOG_WARNING, "the broker: %s", message.text);
    }
    return status == -EAGAIN;
}

/* ---- what it is told ---- */

static void say(struct ff__share *share, enum ff__share_kind kind, uint64_t bytes) {
    struct ff__share_message message = ff__share_message(kind);
    message.bytes = bytes < FF__SHARE_BYTES ? bytes : FF__SHARE_BYTES;
    ff__share_send(share->socket, &message, NULL, 0, true);
}

static void say_wants(struct ff__share *share) {
    struct ff__share_message message = ff__share_message(FF__SHARE_WANT);
    message.number = share->wants;
    ff__share_send(share->socket, &message, NULL, 0, true);
}

/* The program is in use, or again: then it takes back at once what it has lent. */
static void note_use(struct ff__share *share, const struct ff__usage *usage, uint64_t now) {
    share->events = usage->events;
    share->event_ns = now;
    if (share->kept < UINT64_MAX && share->idle_ns < IDLE_MOST_NS)
        share->idle_ns *= 2;
    if (share->is_idle)
        share->reported_ns = 0;
    share->is_idle = false;
    share->kept = UINT64_MAX;
}

/* A program of which nothing has been seen for a while is idle. On a software device, that is no
 * proof: one that finds all its data in place faults no more. So it counts as idle later each time
 * after it has been disturbed. */
static void watch_use(struct ff__share *share, const struct ff__usage *usage, uint64_t now) {
    if (share->event_ns == 0 || usage->runs || usage->events != share->events)
        note_use(share, usage, now);
    else
        share->is_idle = now - share->event_ns >= share->idle_ns;
}

static void report(struct ff__share *share, uint64_t now) {
    struct ff__share_message message = ff__share_message(FF__SHARE_REPORT);
    if (now - share->reported_ns < REPORT_NS)
        return;
    struct ff_stats stats = ff__pipeline_stats(share->pipeline);
    share->reported_ns = now;
    message.bytes = share->is_idle && share->own > MARGIN ? share->own - MARGIN : 0;
    share->stalled_ns +=
        (stats.fault_ns - share->fault_ns) / (share->serving_most + !share->serving_most);
    share->fault_ns = stats.fault_ns;
    share->serving_most = 0;
    message.counts = (struct ff__share_counts){
        .faults = stats.faults,
        .refaults = stats.refaults,
        .launches = stats.launches,
        .bytes_in = stats.pages_in * FF_PAGE_SIZE,
        .bytes_out = stats.pages_out * FF_PAGE_SIZE,
        .bytes_lent = stats.pages_lent * FF_PAGE_SIZE,
        .bytes_fetched = stats.pages_fetched * FF_PAGE_SIZE,
        .stalled_ns = share->stalled_ns,
        .waited_ns = __atomic_load_n(&share->hold.waited_ns, __ATOMIC_RELAXED),
    };
    ff__share_send(share->socket, &message, NULL, 0, true);
    if (share->has_held)
        say_wants(share);
}

static uint64_t whole_blocks(uint64_t bytes) {
    return (bytes + FF_BLOCK_SIZE - 1) & ~(uint64_t)(FF_BLOCK_SIZE - 1);
}

/* Lends what the program has not needed for a while: first the device's capacity sinks and the
 * memory goes back to the system, then the broker may give it to others. */
static void lend(struct ff__share *share, uint64_t need, uint64_t now) {
    uint32_t tier = ff_tier_of_device(0);
    if (share->low_ns == 0)
        share->low_ns = now;
    if (now - share->low_ns < LOW_NS)
        return;
    set_memory(share, tier, need);
    if (ff__pipeline_usage(share->pipeline, tier).excess > 0)
        return; /* it leaves in the background */
    ff__pipeline_trim(share->pipeline, tier);
    share->need = need;
    share->own = share->own < need ? share->own : need;
    say(share, FF__SHARE_NEED, need);
}

/* The program needs what was about to be lent. */
static void keep(struct ff__share *share) {
    share->low_ns = 0;
    set_own(share, share->own);
}

/* Others have their turn, and no kernel runs any more. */
static void give_up(struct ff__share *share) {
    share->told = UINT64_MAX;
    set_own(share, share->hold.kept);
}

/* Says how much of what it may no longer have the program still has. The memory goes back to the
 * system once all has left. */
static void say_have(struct ff__share *share, const struct ff__usage *usage) {
    uint64_t own = share->own > FF_BLOCK_SIZE ? share->own : FF_BLOCK_SIZE;
    uint64_t has = own + usage->excess;
    if (has >= share->told)
        return;
    if (usage->excess == 0)
        ff__pipeline_trim(share->pipeline, ff_tier_of_device(0));
    share->told = has;
    say(share, FF__SHARE_HAVE, has);
}

/* Whether there are kernels to run: some run, or wait for the turn, or did a moment ago. */
static void watch_wants(struct ff__share *share, const struct ff__usage *usage, uint64_t now) {
    bool waits = __atomic_load_n(&share->hold.waiting, __ATOMIC_RELAXED) > 0;
    bool is_busy = usage->runs || now - share->event_ns < REST_NS;
    bool wants = share->hold.state == FF__HOLD_NONE
                     ? is_busy
                     : waits || share->hold.state == FF__HOLD_RESTORES;
    if (wants == share->wants)
        return;
    share->wants = wants;
    say_wants(share);
}

static void go_on_with_turn(struct ff__share *share, const struct ff__usage *usage, uint64_t now) {
    if (ff__hold_has_drained(&share->hold, share->pipeline, usage, now))
        give_up(share);
    else if (ff__hold_has_restored(&share->hold, share->pipeline, usage, share->own, now))
        say(share, FF__SHARE_READY, 0);
    watch_wants(share, usage, now);
}

static void ask(struct ff__share *share, uint64_t now) {
    struct ff__usage usage = ff__pipeline_usage(share->pipeline, ff_tier_of_device(0));
    uint64_t most = share->memory, need = whole_blocks(usage.used) + MARGIN;
    if (usage.serving_most > share->serving_most)
        share->serving_most = usage.serving_most;
    watch_use(share, &usage, now);
    report(share, now);
    say_have(share, &usage);
    if (share->has_held)
        go_on_with_turn(share, &usage, now);
    most = share->kept < most ? share->kept : most;
    need = need < most ? need : most;
    if (need > share->need) {
        share->need = need;
        say(share, FF__SHARE_NEED, need);
    }
    if (need < share->need)
        lend(share, need, now);
    else if (share->low_ns > 0)
        keep(share);
    uint64_t beyond = usage.used > share->memory ? usage.used - share->memory : 0;
    uint64_t wanted = usage.harvests ? whole_blocks(beyond + beyond / HARVEST_MORE) : 0;
    uint64_t change = wanted > share->wanted ? wanted - share->wanted : share->wanted - wanted;
    if (change > share->wanted / HARVEST_STEPS) {
        share->wanted = wanted;
        say(share, FF__SHARE_HARVEST, wanted);
    }
}

/* ---- the thread ---- */

/* Without a broker nobody else uses the device, and guests come home. */
static void go_on_alone(struct ff__share *share) {
    for (uint32_t tier = 2; tier < FF_TIERS_MAX; tier++)
        if (share->is_leased[tier])
            set_memory(share, tier, 0);
    set_memory(share, ff_tier_of_device(0), share->memory);
    ff__hold_open(&share->hold);
    ff__log_line(&share->pipeline->log, FF_LOG_WARNING,
                 "the broker is gone: this program goes on with its own device");
}

static void *talk(void *argument) {
    struct ff__share *share = argument;
    const int kept[] = {STDERR_FILENO, share->socket};
    share->has_own_table = ff__descriptors_keep_only(kept, 2) == 0;
    __atomic_store_n(&share->is_ready, true, __ATOMIC_RELEASE);
    struct pollfd poller = {.fd = share->socket, .events = POLLIN};
    set_own(share, share->own);
    while (!__atomic_load_n(&share->stop, __ATOMIC_RELAXED)) {
        poll(&poller, 1, TICK_MS);
        if (!listen_to_broker(share)) {
            go_on_alone(share);
            break;
        }
        ask(share, ff__clock_ns());
    }
    ff__hold_open(&share->hold);
    __atomic_store_n(&share->is_silent, true, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&share->leave, __ATOMIC_RELAXED))
        ff__clock_sleep(LEAVE_NS);
    close(share->socket);
    return NULL;
}

int ff__share_start(struct ff__share *share, struct ff__pipeline *pipeline) {
    if (share->socket < 0)
        return 0;
    share->pipeline = pipeline;
    int status = ff__thread_start(&share->thread, talk, share, "ff-share");
    if (status)
        return status;
    share->has_thread = true;
    while (!__atomic_load_n(&share->is_ready, __ATOMIC_ACQUIRE))
        ff__clock_sleep(10000);
    if (share->has_own_table) /* the thread has the socket, and the program shall not */
        close_range((unsigned)share->socket, (unsigned)share->socket, 0);
    return 0;
}

void ff__share_stop(struct ff__share *share) {
    __atomic_store_n(&share->stop, true, __ATOMIC_RELAXED);
    while (share->has_thread && !__atomic_load_n(&share->is_silent, __ATOMIC_ACQUIRE))
        ff__clock_sleep(LEAVE_NS);
}

void ff__share_leave(struct ff__share *share) {
    __atomic_store_n(&share->leave, true, __ATOMIC_RELAXED);
    if (share->has_thread)
        pthread_join(share->thread, NULL);
    else if (share->socket >= 0)
        close(share->socket);
    share->has_thread = false;
    share->socket = -1;
    ff__hold_fini(&share->hold);
}
