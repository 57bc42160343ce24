/* Turns: programs of one device whose data does not fit it together, and which lose more time by
 * fetching the same data again and again than by waiting. The one whose turn it is has the device's
 * memory; the launches of the others wait, and they hold next to nothing.
 *
 * A program takes part if it thrashes: at least half of its time goes into faults, and some of
 * these are on what it had before. With n such programs each has an n-th of the time, at full
 * speed. Programs that do not thrash keep what they would have without turns, and never wait.
 *
 * A quantum is so many times what the latest switch took, by the clock, which is what it moved at
 * the link's rate, that switches take a tenth of the time; times the program's priority. */
#ifndef FF_DAEMON_TURNS_H
#define FF_DAEMON_TURNS_H

#include <stdbool.h>
#include <stdint.h>

struct ff__broker;
struct ff__client;

enum ff__turn {
    FF__TURN_NONE,  /* it takes part in no turns */
    FF__TURN_WAITS, /* its launches wait */
    FF__TURN_HAS    /* it is its turn */
};

struct ff__turns {
    bool on;
    bool is_said;        /* that the programs of the device do not fit it together */
    uint32_t holder;     /* the client whose turn it is */
    bool is_restored;    /* what it used is back */
    uint64_t since_ns;   /* of the switch; once the holder's data is back, of that */
    uint64_t switch_ns;  /* what the latest switch took */
    uint32_t count;      /* turns since they began */
    uint64_t resting_ns; /* until then there are none, so that it shows who still thrashes */
};

/* What a program has reported, over the last second or more. */
struct ff__thrashing {
    uint64_t since_ns, refaults, stalled_ns; /* at the beginning */
    bool is_thrashing;
};

/* Takes in a report of the program: pages that it has fetched again, and the time that it has
 * waited for faults, both since it began. */
void ff__thrashing_note(struct ff__thrashing *thrash, uint64_t now_ns, uint64_t refaults,
                        uint64_t stalled_ns);

/* Says whose turn it is on the device: in client->turn of its programs. */
void ff__turns_step(struct ff__broker *broker, uint32_t device, uint64_t now_ns);

/* The data of the client, which has the turn, is back. */
void ff__turns_restored(struct ff__broker *broker, const struct ff__client *client,
                        uint64_t now_ns);

/* What the client may have of its device, in slots. */
uint32_t ff__turns_due(const struct ff__broker *broker, const struct ff__client *client);

#endif
