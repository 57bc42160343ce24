#include "daemon/broker.h"

#include "base/clock.h"
#include "base/error.h"
#include "daemon/metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define TICK_MS    5                    /* between two looks while memory is being reclaimed */
#define QUIET_MS   1000                 /* between two looks while none is */
#define METRICS_NS UINT64_C(5000000000) /* between two writes of the counters; ours */
#define HELLO_NS   UINT64_C(5000000000) /* a connection has so long to say who it is; ours */
#define LISTENER   UINT32_MAX
#define BURST      64 /* messages of one client that are read before others have their turn */

static bool is_of(const struct ff__client *client, uint32_t device) {
    return client->fd >= 0 && client->device == device;
}

/* ---- who is there ---- */

static void forget(struct ff__broker *broker, struct ff__client *client) {
    if (client->fd < 0)
        return;
    close(client->fd);
    client->fd = -1;
    for (uint32_t d = 0; d < broker->device_count; d++)
        ff__grant_close(&client->grants[d]);
    client->device = FF__SHARE_NOBODY;
    client->wanted = 0;
    client->turn = FF__TURN_NONE;
}

static void send_to(struct ff__broker *broker, struct ff__client *client,
                    const struct ff__share_message *message) {
    if (client->fd >= 0 && ff__share_send(client->fd, message, NULL, 0, false))
        forget(broker, client);
}

static void refuse(struct ff__broker *broker, struct ff__client *client, const char *why) {
    struct ff__share_message message = ff__share_message(FF__SHARE_REFUSED);
    ff__share_set_text(&message, "%s", why);
    send_to(broker, client, &message);
    forget(broker, client);
}

/* ---- who may have what ---- */

static uint32_t lent_of(const struct ff__broker *broker, uint32_t device) {
    uint32_t lent = 0;
    for (uint32_t c = 0; c < FF__CLIENTS; c++)
        lent += broker->clients[c].grants[device].given;
    return lent;
}

/* What its own programs have of a device; with `needs`, or are to have: at least what is never
 * lent. */
static uint32_t own_of(const struct ff__broker *broker, uint32_t device, bool needs) {
    uint64_t own = 0, slots = broker->devices[device].slots;
    for (uint32_t c = 0; c < FF__CLIENTS; c++) {
        const struct ff__client *client = &broker->clients[c];
        if (is_of(client, device))
            own += needs && client->need > client->own ? client->need : client->own;
    }
    own = needs && own < FF__KEEP ? FF__KEEP : own;
    return (uint32_t)(own < slots ? own : slots);
}

static uint32_t free_of(const struct ff__broker *broker, uint32_t device, bool needs) {
    uint32_t used = own_of(broker, device, needs) + lent_of(broker, device);
    return broker->devices[device].slots > used ? broker->devices[device].slots - used : 0;
}

static void divide(const struct ff__broker *broker, struct ff__division *division) {
    *division = (struct ff__division){.devices = broker->device_count, .programs = FF__CLIENTS};
    for (uint32_t d = 0; d < broker->device_count; d++)
        division->spare[d] = broker->devices[d].slots - own_of(broker, d, true);
    for (uint32_t c = 0; c < FF__CLIENTS; c++) {
        const struct ff__client *client = &broker->clients[c];
        if (client->fd < 0 || client->device == FF__SHARE_NOBODY)
            continue;
        division->home[c] = client->device;
        division->wanted[c] = client->wanted;
        division->is_idle[c] = client->spared > 0;
        for (uint32_t d = 0; d < broker->device_count; d++)
            division->held[c][d] = client->grants[d].given;
    }
    ff__divide(division);
}

/* Tells a program how much of a lease is its own now. */
static void tell_lease(struct ff__broker *broker, struct ff__client *client, uint32_t device,
                       uint32_t slots) {
    struct ff__grant *grant = &client->grants[device];
    struct ff__share_message message = ff__share_message(FF__SHARE_LEASE);
    if (client->fd < 0 || !grant->is_open || grant->told == slots)
        return;
    message.device = device;
    message.bytes = slots * FF__SLOT_SIZE;
    grant->told = slots;
    send_to(broker, client, &message);
}

/* The first of a lease: with its files. False: there is none. */
static bool open_lease(struct ff__broker *broker, struct ff__client *client, uint32_t device) {
    struct ff__grant *grant = &client->grants[device];
    struct ff__share_message message = ff__share_message(FF__SHARE_LEASE);
    if (grant->is_open)
        return true;
    if (ff__grant_open(grant, broker->devices[device].slots))
        return false; /* no memory: another time */
    const int fds[FF__SHARE_FDS] = {grant->memory_fd, grant->states_fd};
    message.device = device;
    if (ff__share_send(client->fd, &message, fds, FF__SHARE_FDS, false) == 0)
        return true;
    forget(broker, client);
    return false;
}

/* Takes what is more than the program's share, as far as that goes now. */
static void reclaim(struct ff__broker *broker, struct ff__client *client, uint32_t device,
                    uint32_t share, uint64_t now) {
    struct ff__grant *grant = &client->grants[device];
    if (grant->given <= share) {
        grant->deadline_ns = 0;
        return;
    }
    ff__grant_take(grant, grant->given - share);
    tell_lease(broker, client, device, share);
    if (grant->given <= share)
        grant->deadline_ns = 0;
    else if (grant->deadline_ns == 0)
        grant->deadline_ns = now + broker->limit_ns;
}

/* Tells a program what it may have of its device now, and others have. */
static void tell_own(struct ff__broker *broker, struct ff__client *client, uint32_t slots) {
    struct ff__share_message message = ff__share_message(FF__SHARE_OWN);
    client->told_lent = lent_of(broker, client->device);
    message.bytes = slots * FF__SLOT_SIZE;
    message.lent = client->told_lent * FF__SLOT_SIZE;
    send_to(broker, client, &message);
}

/* Tells a program whose turn it is, as far as that concerns it, and what it may have until its turn
 * comes, or ends. */
static void tell_turn(struct ff__broker *broker, struct ff__client *client) {
    bool holds = client->turn == FF__TURN_WAITS;
    struct ff__share_message message = ff__share_message(holds ? FF__SHARE_HOLD : FF__SHARE_GO);
    if (client->turn == client->told_turn)
        return;
    client->told_turn = client->turn;
    message.bytes = (holds ? client->due : client->own) * FF__SLOT_SIZE;
    message.own = client->due * FF__SLOT_SIZE;
    message.ns = broker->limit_ns / 2;
    send_to(broker, client, &message);
}

/* Has a program give up what is more than it may have. One that does not in time, because it is
 * stopped, keeps that for now, but nobody waits for it. */
static void take_own(struct ff__broker *broker, struct ff__client *client, uint64_t now) {
    struct ff__turns *turns = &broker->devices[client->device].turns;
    uint32_t before = client->due;
    client->due = ff__turns_due(broker, client);
    tell_turn(broker, client);
    if (client->fd < 0)
        return;
    if (client->own <= client->due) {
        client->deadline_ns = 0;
        return;
    }
    if (client->due < before && client->turn != FF__TURN_WAITS)
        tell_own(broker, client, client->due);
    if (client->deadline_ns == 0 || client->due < before)
        client->deadline_ns = now + broker->limit_ns;
    if (now < client->deadline_ns)
        return;
    client->own = client->due;
    client->deadline_ns = 0;
    turns->since_ns = turns->is_restored ? turns->since_ns : now;
}

static void give_own(struct ff__broker *broker, struct ff__client *client) {
    uint32_t more = client->own < client->due ? client->due - client->own : 0;
    uint32_t there = more > 0 ? free_of(broker, client->device, false) : 0;
    if (more == 0 || there == 0)
        return;
    client->own += more < there ? more : there;
    tell_own(broker, client, client->own);
}

/* Says once that the programs of a device need more of it than there is. */
static void say_full(struct ff__broker *broker, uint32_t d) {
    struct ff__broker_device *device = &broker->devices[d];
    uint64_t need = 0;
    uint32_t programs = 0;
    for (uint32_t c = 0; c < FF__CLIENTS; c++) {
        need += is_of(&broker->clients[c], d) ? broker->clients[c].need : 0;
        programs += is_of(&broker->clients[c], d);
    }
    if (device->turns.is_said || programs < 2 || (!device->turns.on && !broker->has_no_turns))
        return;
    device->turns.is_said = true;
    ff__log_line(&broker->log, FF_LOG_WARNING,
                 "%s: %u programs need %llu MiB of %llu: %s; nobody fails", device->name, programs,
                 (unsigned long long)(need * FF__SLOT_SIZE >> 20),
                 (unsigned long long)(device->slots * FF__SLOT_SIZE >> 20),
                 device->turns.on ? "those that thrash take turns, and wait for theirs"
                                  : "each gets a part, and may thrash");
}

static void give_lease(struct ff__broker *broker, struct ff__client *client, uint32_t device,
                       uint32_t share) {
    struct ff__grant *grant = &client->grants[device];
    uint32_t there = free_of(broker, device, true);
    if (client->fd < 0 || grant->given > share)
        return;
    uint32_t more = share - grant->given;
    more = more < there ? more : there;
    if (more > 0 && open_lease(broker, client, device))
        ff__grant_give(grant, more);
    tell_lease(broker, client, device, grant->given);
}

/* Slots that programs in use want of other devices, and do not get. */
static uint32_t lack_of(const struct ff__division *division) {
    uint32_t lack = 0;
    for (uint32_t p = 0; p < division->programs; p++) {
        uint32_t got = 0;
        for (uint32_t d = 0; d < division->devices; d++)
            got += division->share[p][d];
        lack += division->is_idle[p] ? 0 : division->wanted[p] - got;
    }
    return lack;
}

/* Slots of a device that its programs in use need, and do not get. */
static uint32_t own_lack_of(const struct ff__broker *broker, uint32_t device) {
    uint32_t lack = 0;
    for (uint32_t c = 0; c < FF__CLIENTS; c++) {
        const struct ff__client *client = &broker->clients[c];
        if (is_of(client, device) && client->spared == 0 && client->need > client->due)
            lack += client->need - client->due;
    }
    return lack;
}

static void ask_client(struct ff__broker *broker, struct ff__client *client, uint32_t slots) {
    struct ff__share_message message = ff__share_message(FF__SHARE_LEND);
    if (client->is_asked || slots == 0)
        return;
    client->is_asked = true;
    message.bytes = slots * FF__SLOT_SIZE;
    send_to(broker, client, &message);
}

/* Asks idle programs for memory that others lack: of the same device first. */
static void ask_idle(struct ff__broker *broker, const struct ff__division *division) {
    uint32_t lack = lack_of(division), own_lack[FF__SHARE_DEVICES];
    for (uint32_t d = 0; d < broker->device_count; d++)
        own_lack[d] = own_lack_of(broker, d);
    for (uint32_t c = 0; c < FF__CLIENTS; c++) {
        struct ff__client *client = &broker->clients[c];
        if (client->fd < 0 || client->device == FF__SHARE_NOBODY || client->spared == 0)
            continue;
        uint32_t *own = &own_lack[client->device];
        uint32_t first = client->spared < *own ? client->spared : *own;
        uint32_t rest = client->spared - first < lack ? client->spared - first : lack;
        *own -= first;
        lack -= rest;
        ask_client(broker, client, first + rest);
    }
}

static void tell_lent(struct ff__broker *broker) {
    for (uint32_t c = 0; c < FF__CLIENTS; c++) {
        struct ff__client *client = &broker->clients[c];
        if (client->fd >= 0 && client->device != FF__SHARE_NOBODY &&
            client->told_lent != lent_of(broker, client->device))
            tell_own(broker, client, client->own < client->due ? client->own : client->due);
    }
}

/* Brings what everybody has nearer to what they are to have. */
static void settle(struct ff__broker *broker) {
    struct ff__division division;
    uint64_t now = ff__clock_ns();
    for (uint32_t d = 0; d < broker->device_count; d++) {
        ff__turns_step(broker, d, now);
        say_full(broker, d);
    }
    divide(broker, &division);
    for (uint32_t step = 0; step < 3; step++) {
        for (uint32_t c = 0; c < FF__CLIENTS; c++) {
            struct ff__client *client = &broker->clients[c];
            if (client->fd < 0 || client->device == FF__SHARE_NOBODY)
                continue;
            if (step == 0)
                take_own(broker, client, now);
            else if (step == 1 && client->fd >= 0)
                give_own(broker, client);
            for (uint32_t d = 0; d < broker->device_count; d++) {
                if (step == 0)
                    reclaim(broker, client, d, division.share[c][d], now);
                else if (step == 2)
                    give_lease(broker, client, d, division.share[c][d]);
            }
        }
    }
    ask_idle(broker, &division);
    tell_lent(broker);
}

/* Disconnects programs that have kept for too long what others need. Whether there is something to
 * wait for: memory that is being reclaimed, or the end of a turn. */
static bool enforce(struct ff__broker *broker) {
    uint64_t now = ff__clock_ns();
    bool waits = false;
    for (uint32_t d = 0; d < broker->device_count; d++)
        waits = waits || broker->devices[d].turns.on;
    for (uint32_t c = 0; c < FF__CLIENTS; c++) {
        struct ff__client *client = &broker->clients[c];
        waits = waits || (client->fd >= 0 && client->deadline_ns > 0);
        for (uint32_t d = 0; d < broker->device_count && client->fd >= 0; d++) {
            uint64_t deadline = client->grants[d].deadline_ns;
            waits = waits || deadline > 0;
            if (deadline > 0 && now > deadline)
                refuse(broker, client, "memory that others need was not returned in time");
        }
        if (client->fd >= 0 && client->device == FF__SHARE_NOBODY &&
            now - client->since_ns > HELLO_NS)
            refuse(broker, client, "nothing was said for too long");
    }
    return waits;
}

/* ---- what they say ---- */

static uint32_t programs_of(const struct ff__broker *broker, uint32_t device) {
    uint32_t count = 0;
    for (uint32_t c = 0; c < FF__CLIENTS; c++)
        count += is_of(&broker->clients[c], device);
    return count;
}

/* Of the devices that are meant, the one with the fewest programs. FF__SHARE_NOBODY: there is none.
 */
static uint32_t find_device(const struct ff__broker *broker, const char *name) {
    uint32_t found = FF__SHARE_NOBODY;
    for (uint32_t d = 0; d < broker->device_count; d++) {
        bool fits = !name[0] || strcmp(name, broker->devices[d].name) == 0;
        if (fits &&
            (found == FF__SHARE_NOBODY || programs_of(broker, d) < programs_of(broker, found)))
            found = d;
    }
    return found;
}

static uint32_t slots_of(uint64_t bytes) {
    return (uint32_t)(bytes / FF__SLOT_SIZE);
}

static void tell_device(struct ff__broker *broker, struct ff__client *client, uint32_t d) {
    struct ff__share_message message = ff__share_message(FF__SHARE_DEVICE);
    message.device = d;
    message.bytes = broker->devices[d].slots * FF__SLOT_SIZE;
    message.own = own_of(broker, d, false) * FF__SLOT_SIZE;
    message.lent = lent_of(broker, d) * FF__SLOT_SIZE;
    ff__share_set_text(&message, "%s", broker->devices[d].name);
    send_to(broker, client, &message);
}

static void join(struct ff__broker *broker, struct ff__client *client,
                 const struct ff__share_message *hello) {
    struct ff__share_message welcome = ff__share_message(FF__SHARE_WELCOME);
    uint32_t d = find_device(broker, hello->text);
    uint32_t most = d == FF__SHARE_NOBODY ? 0 : broker->devices[d].slots;
    if (d == FF__SHARE_NOBODY || (programs_of(broker, d) + 1) * FF__KEEP > most) {
        refuse(broker, client,
               d == FF__SHARE_NOBODY ? "there is no such device"
                                     : "the device has no room for one program more");
        return;
    }
    uint32_t lent = lent_of(broker, d), wanted = slots_of(hello->bytes);
    uint32_t free_slots = free_of(broker, d, false);
    wanted = wanted == 0 || wanted > most ? most : wanted;
    client->device = d;
    client->own = wanted < free_slots ? wanted : free_slots;
    if (client->own < FF__KEEP) /* until the others give it up, it is there twice */
        client->own = FF__KEEP;
    /* until it says what it needs: what others have comes back while it starts */
    client->need = client->due = wanted;
    client->priority = hello->number < 1                      ? 1
                       : hello->number > FF__SHARE_PRIORITIES ? FF__SHARE_PRIORITIES
                                                              : (uint32_t)hello->number;
    client->told_lent = lent;
    welcome.device = d;
    welcome.bytes = client->own * FF__SLOT_SIZE;
    welcome.lent = lent * FF__SLOT_SIZE;
    send_to(broker, client, &welcome);
    for (uint32_t other = 0; other < broker->device_count; other++)
        tell_device(broker, client, other);
    welcome.kind = FF__SHARE_END;
    send_to(broker, client, &welcome);
}

static void need(struct ff__broker *broker, struct ff__client *client, uint64_t bytes) {
    uint32_t slots = slots_of(bytes), most = broker->devices[client->device].slots;
    client->need = slots < most ? slots : most;
    client->is_asked = false;
    if (client->need < client->own) /* the program has lowered its limit before */
        client->own = client->need;
}

/* It has given something up. */
static void have(struct ff__client *client, uint64_t bytes) {
    uint32_t slots = slots_of(bytes + FF__SLOT_SIZE - 1);
    uint32_t has = slots > client->due ? slots : client->due;
    client->own = has < client->own ? has : client->own;
}

static void harvest(struct ff__broker *broker, struct ff__client *client, uint64_t bytes) {
    uint32_t all = 0, slots = slots_of(bytes);
    for (uint32_t d = 0; d < broker->device_count; d++)
        all += broker->devices[d].slots;
    client->wanted = slots < all ? slots : all;
}

static void report(struct ff__client *client, const struct ff__share_message *message) {
    uint32_t spared = slots_of(message->bytes);
    client->spared = spared < client->own ? spared : client->own;
    client->is_asked = client->is_asked && spared > 0;
    client->counts = message->counts;
    if (client->turn == FF__TURN_NONE)
        ff__thrashing_note(&client->thrash, ff__clock_ns(), message->counts.refaults,
                           message->counts.stalled_ns);
}

static void tell_program(struct ff__broker *broker, struct ff__client *to,
                         const struct ff__client *client) {
    struct ff__share_message message = ff__share_message(FF__SHARE_PROGRAM);
    message.device = client->device;
    message.pid = client->pid;
    message.own = client->own * FF__SLOT_SIZE;
    for (uint32_t d = 0; d < broker->device_count; d++)
        message.lent += client->grants[d].given * FF__SLOT_SIZE;
    message.counts = client->counts;
    message.turns = client->turns;
    message.waits = client->turn == FF__TURN_WAITS;
    message.number = client->priority;
    ff__share_set_text(&message, "%s", client->name);
    send_to(broker, to, &message);
}

/* Answers WATCH; then the connection ends. */
static void show(struct ff__broker *broker, struct ff__client *client) {
    struct ff__share_message end = ff__share_message(FF__SHARE_END);
    for (uint32_t d = 0; d < broker->device_count; d++)
        tell_device(broker, client, d);
    for (uint32_t c = 0; c < FF__CLIENTS; c++)
        if (broker->clients[c].fd >= 0 && broker->clients[c].device != FF__SHARE_NOBODY)
            tell_program(broker, client, &broker->clients[c]);
    send_to(broker, client, &end);
    forget(broker, client);
}

/* From a program that has joined. False: it is not for one to say. */
static bool handle_program(struct ff__broker *broker, struct ff__client *client,
                           const struct ff__share_message *message) {
    switch (message->kind) {
    case FF__SHARE_NEED:
        need(broker, client, message->bytes);
        return true;
    case FF__SHARE_HARVEST:
        harvest(broker, client, message->bytes);
        return true;
    case FF__SHARE_HAVE:
        have(client, message->bytes);
        return true;
    case FF__SHARE_WANT:
        client->wants = message->number > 0;
        return true;
    case FF__SHARE_READY:
        ff__turns_restored(broker, client, ff__clock_ns());
        return true;
    case FF__SHARE_REPORT:
        report(client, message);
        return true;
    default:
        return false;
    }
}

static void handle(struct ff__broker *broker, struct ff__client *client,
                   const struct ff__share_message *message) {
    bool has_joined = client->device != FF__SHARE_NOBODY;
    client->heard_ns = ff__clock_ns();
    if (!has_joined && message->kind == FF__SHARE_HELLO)
        join(broker, client, message);
    else if (!has_joined && message->kind == FF__SHARE_WATCH)
        show(broker, client);
    else if (!has_joined || !handle_program(broker, client, message))
        refuse(broker, client, "that message does not belong here");
}

static void read_from(struct ff__broker *broker, struct ff__client *client) {
    struct ff__share_message message;
    for (int i = 0; i < BURST && client->fd >= 0; i++) {
        int status = ff__share_receive(client->fd, &message, NULL, NULL, false);
        if (status == -EAGAIN)
            return;
        if (status == -EPROTO)
            refuse(broker, client, "that is no message of this protocol");
        else if (status <= 0)
            forget(broker, client);
        else
            handle(broker, client, &message);
    }
}

/* ---- connections ---- */

static void read_name(struct ff__client *client) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%u/comm", client->pid);
    FILE *file = fopen(path, "re");
    snprintf(client->name, sizeof client->name, "?");
    if (file && fgets(client->name, sizeof client->name, file))
        client->name[strcspn(client->name, "\n")] = '\0';
    for (char *c = client->name; *c; c++)
        if ((unsigned char)*c < ' ' || (unsigned char)*c > '~')
            *c = '?';
    if (file)
        fclose(file);
}

/* A place for one more connection of the process; NULL: there is none. */
static struct ff__client *find_place(struct ff__broker *broker, uint32_t pid) {
    struct ff__client *place = NULL;
    uint32_t same = 0;
    for (uint32_t c = 0; c < FF__CLIENTS; c++) {
        struct ff__client *client = &broker->clients[c];
        same += client->fd >= 0 && client->pid == pid;
        if (client->fd < 0 && !place)
            place = client;
    }
    return same < FF__CLIENTS_OF_PID ? place : NULL;
}

static void take_in(struct ff__broker *broker, int fd) {
    struct ucred peer = {0};
    socklen_t size = sizeof peer;
    struct ff__share_message no = ff__share_message(FF__SHARE_REFUSED);
    int status = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size);
    struct ff__client *client = status ? NULL : find_place(broker, (uint32_t)peer.pid);
    if (!client) {
        ff__share_set_text(&no, "too many connections");
        ff__share_send(fd, &no, NULL, 0, false);
        close(fd);
        return;
    }
    *client = (struct ff__client){.fd = fd,
                                  .pid = (uint32_t)peer.pid,
                                  .device = FF__SHARE_NOBODY,
                                  .since_ns = ff__clock_ns()};
    read_name(client);
    struct epoll_event event = {.events = EPOLLIN,
                                .data.u32 = (uint32_t)(client - broker->clients)};
    if (epoll_ctl(broker->epoll, EPOLL_CTL_ADD, fd, &event))
        forget(broker, client);
}

static void listen_on(struct ff__broker *broker, bool on) {
    struct epoll_event event = {.events = on ? EPOLLIN : 0, .data.u32 = LISTENER};
    broker->deaf = !on;
    epoll_ctl(broker->epoll, EPOLL_CTL_MOD, broker->listener, &event);
}

/* Who cannot be taken in, because there are no descriptors or no memory, would wake each wait at
 * once. */
static void accept_all(struct ff__broker *broker) {
    int fd;
    while ((fd = accept4(broker->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0)
        take_in(broker, fd);
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
        listen_on(broker, false);
}

/* Says it once if that does not work, and goes on. */
static void write_metrics(struct ff__broker *broker) {
    uint64_t now = ff__clock_ns();
    if (!broker->metrics || (broker->metrics_ns > 0 && now - broker->metrics_ns < METRICS_NS))
        return;
    broker->metrics_ns = now;
    int status = ff__metrics_write(broker, broker->metrics);
    if (status && !broker->has_failed)
        ff__log_line(&broker->log, FF_LOG_WARNING, "--metrics %s: %s", broker->metrics,
                     strerror(-status));
    broker->has_failed = status != 0;
}

int ff__broker_step(struct ff__broker *broker, int timeout_ms) {
    struct epoll_event events[FF__CLIENTS + 1];
    int count = epoll_wait(broker->epoll, events, FF__CLIENTS + 1, timeout_ms);
    if (count < 0 && errno != EINTR)
        return -errno;
    if (broker->deaf) /* for the next step, as there may be room again */
        listen_on(broker, true);
    for (int i = 0; i < count; i++) {
        if (events[i].data.u32 != LISTENER && broker->clients[events[i].data.u32].fd >= 0)
            read_from(broker, &broker->clients[events[i].data.u32]);
    }
    for (int i = 0; i < count; i++) /* last: a place that is taken anew has no old events */
        if (events[i].data.u32 == LISTENER)
            accept_all(broker);
    settle(broker);
    write_metrics(broker);
    return enforce(broker) ? TICK_MS : QUIET_MS;
}

int ff__broker_run(struct ff__broker *broker) {
    int next_ms = 0;
    while (!__atomic_load_n(&broker->stop, __ATOMIC_RELAXED) && next_ms >= 0)
        next_ms = ff__broker_step(broker, next_ms);
    return next_ms < 0 ? next_ms : 0;
}

/* ---- opening and closing ---- */

/* A socket that a broker has left behind when it was killed is no hindrance; one that somebody
 * listens at is. */
static int clear_path(const char *path, struct ff_error *error) {
    struct stat about;
    if (lstat(path, &about))
        return 0;
    if (!S_ISSOCK(about.st_mode))
        return ff__fail(error, -EEXIST, "%s exists and is no socket", path);
    int fd = ff__share_connect(path);
    if (fd >= 0) {
        close(fd);
        return ff__fail(error, -EADDRINUSE, "%s: a broker listens there already", path);
    }
    unlink(path);
    return 0;
}

static int listen_at(struct ff__broker *broker, const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = LISTENER};
    strcpy(address.sun_path, path);
    broker->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    broker->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (broker->listener < 0 || broker->epoll < 0)
        return -errno;
    mode_t mask = umask(0177); /* for its owner alone, unless that changes it */
    int status = bind(broker->listener, (const struct sockaddr *)&address, sizeof address);
    umask(mask);
    if (status)
        return -errno;
    broker->path = path;
    if (listen(broker->listener, SOMAXCONN) ||
        epoll_ctl(broker->epoll, EPOLL_CTL_ADD, broker->listener, &event))
        return -errno;
    return 0;
}

int ff__broker_open(struct ff__broker *broker, const char *path, struct ff_error *error) {
    broker->listener = broker->epoll = -1;
    broker->path = NULL;
    for (uint32_t c = 0; c < FF__CLIENTS; c++)
        broker->clients[c] = (struct ff__client){.fd = -1, .device = FF__SHARE_NOBODY};
    if (strlen(path) >= sizeof((struct sockaddr_un){0}).sun_path)
        return ff__fail(error, -ENAMETOOLONG, "%s: the path of a socket is at most 107 bytes long",
                        path);
    int status = clear_path(path, error);
    if (status)
        return status;
    status = listen_at(broker, path);
    if (status) {
        ff__broker_close(broker);
        return ff__fail(error, status, "cannot listen at %s: %s", path, strerror(-status));
    }
    return 0;
}

void ff__broker_close(struct ff__broker *broker) {
    for (uint32_t c = 0; c < FF__CLIENTS; c++)
        forget(broker, &broker->clients[c]);
    if (broker->listener >= 0)
        close(broker->listener);
    if (broker->epoll >= 0)
        close(broker->epoll);
    if (broker->path)
        unlink(broker->path);
    if (broker->metrics && broker->metrics_ns > 0)
        unlink(broker->metrics); /* nobody is to take them for the present */
    broker->listener = broker->epoll = -1;
}
