/* The broker's side of a lease (share/lease.h): memory of one device for one program. */
#ifndef FF_DAEMON_GRANT_H
#define FF_DAEMON_GRANT_H

#include "share/lease.h"

struct ff__grant {
    int memory_fd, states_fd;
    ff__slot *states; /* [slot], shared with the program, which may write anything there */
    bool *is_given;   /* [slot] what is the program's; the broker's own */
    uint32_t slots, given;
    uint32_t told;        /* slots that the program has been told of */
    uint64_t deadline_ns; /* by when slots that are being reclaimed must be returned; 0: none are */
    bool is_open;
};

/* Makes the two files, with no slot given. Negative errno. */
int ff__grant_open(struct ff__grant *grant, uint32_t slots);

/* Takes all slots and gives their memory back to the system, even if a program still maps the
 * files. */
void ff__grant_close(struct ff__grant *grant);

/* Gives so many slots more; returns how many there were. */
uint32_t ff__grant_give(struct ff__grant *grant, uint32_t count);

/* Takes up to so many slots that the program does not need: first those that are free. Returns how
 * many. */
uint32_t ff__grant_take(struct ff__grant *grant, uint32_t count);

#endif
