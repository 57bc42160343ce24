/* Whether blocks whose whole content is dead are to leave before others. Ours.
 *
 * Such a block needs no copy, neither now nor when its allocator gives it out again. But that may
 * be soon: then it leaves little room to others, and faults again, while an old block may never be
 * needed. So dead blocks leave first as long as their return costs less than that of other victims,
 * each in relation to the room that it left until then. */
#ifndef FF_POLICY_ADAPTIVE_DEAD_H
#define FF_POLICY_ADAPTIVE_DEAD_H

#include <stdbool.h>
#include <stdint.h>

enum ff__life { FF__ALIVE, FF__DEAD, FF__LIVES };

/* What became of the latest victims. */
struct ff__fate {
    uint32_t absent; /* blocks that have not come back */
    double back;     /* how many came back */
    double slots;    /* room that they left to others until then: blocks times evictions */
};

/* Zero at first, but for `cost`. */
struct ff__dead {
    struct ff__fate fates[FF__LIVES];
    double cost;         /* of a dead block's coming back, as a part of a living one's */
    bool any;            /* blocks have died since none was found dead */
    uint32_t spared;     /* times that dead blocks did not leave first */
    uint32_t left, back; /* dead blocks that left first, and came back */
};

/* What happens: a victim has left, after so many evictions before it; it has come back; it was
 * freed while it was away. */
void ff__dead_left(struct ff__dead *dead, enum ff__life life, uint32_t evictions);
void ff__dead_came_back(struct ff__dead *dead, enum ff__life life);
static inline void ff__dead_freed(struct ff__dead *dead, enum ff__life life) {
    dead->fates[life].absent--;
}

bool ff__dead_first(struct ff__dead *dead);

#endif
