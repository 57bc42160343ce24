#include "daemon/turns.h"

#include "daemon/broker.h"
#include "daemon/divide.h"

/* All ours. */
#define SWITCHES       9u /* a quantum is so many times a switch: that has a tenth of the time */
#define QUANTUM_MIN_NS UINT64_C(100000000)
#define QUANTUM_MAX_NS UINT64_C(10000000000)
#define WINDOW_NS      UINT64_C(1000000000) /* over which a program is seen to thrash */
#define SILENT_NS      UINT64_C(1000000000) /* who has said nothing for so long gets no turn */
#define TURNS_EACH     32u                  /* then there are none for as long as this: */
#define REST_NS        UINT64_C(1500000000) /* in which it shows who still thrashes */

void ff__thrashing_note(struct ff__thrashing *thrash, uint64_t now_ns, uint64_t refaults,
                        uint64_t stalled_ns) {
    uint64_t passed = now_ns - thrash->since_ns;
    if (thrash->since_ns > 0 && passed < WINDOW_NS)
        return;
    thrash->is_thrashing = thrash->since_ns > 0 && refaults > thrash->refaults &&
                           stalled_ns > thrash->stalled_ns &&
                           stalled_ns - thrash->stalled_ns >= passed / 2;
    thrash->since_ns = now_ns;
    thrash->refaults = refaults;
    thrash->stalled_ns = stalled_ns;
}

static bool is_of(const struct ff__client *client, uint32_t device) {
    return client->fd >= 0 && client->device == device;
}

/* ---- what does not fit ---- */

/* The most of the device that each of its programs gets where all have the same right. */
static uint32_t level_of(const struct ff__broker *broker, uint32_t device) {
    uint32_t needs[FF__CLIENTS], count = 0;
    for (uint32_t c = 0; c < FF__CLIENTS; c++)
        if (is_of(&broker->clients[c], device))
            needs[count++] = broker->clients[c].need;
    return ff__divide_level(needs, count, broker->devices[device].slots);
}

static uint32_t smaller(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

/* Of who does not have the turn. */
static uint32_t due_beside(const struct ff__client *client, uint32_t level) {
    return smaller(client->need, client->turn == FF__TURN_WAITS ? FF__KEEP : level);
}

uint32_t ff__turns_due(const struct ff__broker *broker, const struct ff__client *client) {
    uint32_t level = level_of(broker, client->device), others = 0;
    uint32_t slots = broker->devices[client->device].slots;
    if (client->turn != FF__TURN_HAS)
        return due_beside(client, level);
    for (uint32_t c = 0; c < FF__CLIENTS; c++)
        if (is_of(&broker->clients[c], client->device) && &broker->clients[c] != client)
            others += due_beside(&broker->clients[c], level);
    return smaller(client->need, slots > others ? slots - others : 0);
}

/* ---- who takes part ---- */

static void set_turn(struct ff__client *client, enum ff__turn turn) {
    client->turn = turn;
    client->wants = true; /* until it says that it does not */
}

/* How many programs take part, or would: those that have less than they need, and thrash, or took
 * part before. */
static uint32_t choose_members(struct ff__broker *broker, uint32_t device, bool begins) {
    uint32_t level = level_of(broker, device), count = 0;
    for (uint32_t c = 0; c < FF__CLIENTS; c++) {
        struct ff__client *client = &broker->clients[c];
        if (!is_of(client, device))
            continue;
        bool was = client->turn != FF__TURN_NONE;
        bool is = client->need > level && (was || client->thrash.is_thrashing);
        count += is;
        if (begins && was != is)
            set_turn(client, is ? FF__TURN_WAITS : FF__TURN_NONE);
    }
    return count;
}

static void end(struct ff__broker *broker, uint32_t device) {
    for (uint32_t c = 0; c < FF__CLIENTS; c++) {
        struct ff__client *client = &broker->clients[c];
        if (!is_of(client, device) || client->turn == FF__TURN_NONE)
            continue;
        set_turn(client, FF__TURN_NONE);
        client->thrash = (struct ff__thrashing){0};
    }
    broker->devices[device].turns.on = false;
}

/* ---- whose turn it is ---- */

/* The next one that has something to launch, after the holder; NULL: nobody else has. */
static struct ff__client *next_of(struct ff__broker *broker, uint32_t device, uint64_t now_ns) {
    uint32_t holder = broker->devices[device].turns.holder;
    uint32_t first = holder == FF__SHARE_NOBODY ? 0 : holder + 1;
    for (uint32_t i = 0; i < FF__CLIENTS; i++) {
        struct ff__client *client = &broker->clients[(first + i) % FF__CLIENTS];
        if (is_of(client, device) && client->turn == FF__TURN_WAITS && client->wants &&
            now_ns - client->heard_ns < SILENT_NS)
            return client;
    }
    return NULL;
}

static uint64_t quantum_of(const struct ff__turns *turns, const struct ff__client *holder) {
    uint64_t quantum = turns->switch_ns * SWITCHES;
    quantum = quantum < QUANTUM_MIN_NS ? QUANTUM_MIN_NS : quantum;
    return (quantum > QUANTUM_MAX_NS ? QUANTUM_MAX_NS : quantum) * holder->priority;
}

static bool is_over(const struct ff__broker *broker, const struct ff__turns *turns,
                    uint64_t now_ns) {
    const struct ff__client *holder = &broker->clients[turns->holder];
    uint64_t most = turns->is_restored ? quantum_of(turns, holder) : broker->limit_ns;
    return !holder->wants || now_ns - turns->since_ns >= most;
}

static void hand_over(struct ff__broker *broker, uint32_t device, struct ff__client *next,
                      uint64_t now_ns) {
    struct ff__turns *turns = &broker->devices[device].turns;
    if (turns->holder != FF__SHARE_NOBODY)
        set_turn(&broker->clients[turns->holder], FF__TURN_WAITS);
    set_turn(next, FF__TURN_HAS);
    next->turns++;
    turns->holder = (uint32_t)(next - broker->clients);
    turns->is_restored = false;
    turns->since_ns = now_ns;
    turns->count++;
}

void ff__turns_restored(struct ff__broker *broker, const struct ff__client *client,
                        uint64_t now_ns) {
    struct ff__turns *turns = &broker->devices[client->device].turns;
    if (client->turn != FF__TURN_HAS || turns->is_restored)
        return;
    turns->switch_ns = now_ns - turns->since_ns;
    turns->since_ns = now_ns;
    turns->is_restored = true;
}

void ff__turns_step(struct ff__broker *broker, uint32_t device, uint64_t now_ns) {
    struct ff__turns *turns = &broker->devices[device].turns;
    if (!turns->on) {
        if (broker->has_no_turns || now_ns < turns->resting_ns ||
            choose_members(broker, device, false) < 2)
            return;
        *turns = (struct ff__turns){.on = true, .is_said = turns->is_said};
        turns->holder = FF__SHARE_NOBODY;
    }
    uint32_t members = choose_members(broker, device, true);
    if (members < 2 || turns->count > TURNS_EACH * members) {
        turns->resting_ns = now_ns + REST_NS;
        end(broker, device);
        return;
    }
    if (turns->holder != FF__SHARE_NOBODY) {
        const struct ff__client *holder = &broker->clients[turns->holder];
        if (!is_of(holder, device) || holder->turn != FF__TURN_HAS)
            turns->holder = FF__SHARE_NOBODY; /* it has ended, or needs no turn any more */
    }
    struct ff__client *next = next_of(broker, device, now_ns);
    if (next && (turns->holder == FF__SHARE_NOBODY || is_over(broker, turns, now_ns)))
        hand_over(broker, device, next, now_ns);
}
