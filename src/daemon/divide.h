/* Who gets how much of the memory that devices do not need themselves. All in slots of 2 MiB. */
#ifndef FF_DAEMON_DIVIDE_H
#define FF_DAEMON_DIVIDE_H

#include "share/protocol.h"

#define FF__PROGRAMS FF__SHARE_DEVICES /* one a device */

struct ff__division {
    uint32_t devices;
    uint32_t spare[FF__SHARE_DEVICES];
    uint32_t wanted[FF__PROGRAMS];                   /* [device of the program] */
    bool is_idle[FF__PROGRAMS];                      /* gets what the others leave */
    uint32_t held[FF__PROGRAMS][FF__SHARE_DEVICES];  /* that each has now */
    uint32_t share[FF__PROGRAMS][FF__SHARE_DEVICES]; /* the answer */
};

/* Programs that want the same get the same, those that are idle after the others, and nobody more
 * than it wants, nor any of its own device's; what is lent already stays where it is as far as it
 * can. */
void ff__divide(struct ff__division *division);

#endif
