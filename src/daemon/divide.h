/* Who gets how much of the memory of devices. All in slots of 2 MiB. */
#ifndef FF_DAEMON_DIVIDE_H
#define FF_DAEMON_DIVIDE_H

#include "share/protocol.h"

#define FF__PROGRAMS 64u

/* What devices do not need themselves, among the programs of others. */
struct ff__division {
    uint32_t devices, programs;
    uint32_t spare[FF__SHARE_DEVICES];
    uint32_t home[FF__PROGRAMS]; /* the program's own device */
    uint32_t wanted[FF__PROGRAMS];
    bool is_idle[FF__PROGRAMS];                      /* gets what the others leave */
    uint32_t held[FF__PROGRAMS][FF__SHARE_DEVICES];  /* that each has now */
    uint32_t share[FF__PROGRAMS][FF__SHARE_DEVICES]; /* the answer */
};

/* Programs that want the same get the same, those that are idle after the others, and nobody more
 * than it wants, nor any of its own device's; what is lent already stays where it is as far as it
 * can. */
void ff__divide(struct ff__division *division);

/* The most that each of these programs may get so that `slots` are enough for all, and nobody gets
 * more than it wants; UINT32_MAX: each can have what it wants. */
uint32_t ff__divide_level(const uint32_t *wanted, uint32_t count, uint64_t slots);

#endif
