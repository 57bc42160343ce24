#include "policy/adaptive/dead.h"

#define RECENT 128u /* evictions after which what is known of fates counts half */
#define TRIALS 32u  /* while dead blocks are not to leave first, one in so many does */

void ff__dead_left(struct ff__dead *dead, enum ff__life life, uint32_t evictions) {
    double keeps = evictions % RECENT == 0 ? 0.5 : 1;
    dead->fates[life].absent++;
    dead->left += life == FF__DEAD;
    for (enum ff__life i = FF__ALIVE; i < FF__LIVES; i++) {
        struct ff__fate *fate = &dead->fates[i];
        fate->slots = (fate->slots + fate->absent) * keeps;
        fate->back *= keeps;
    }
}

void ff__dead_came_back(struct ff__dead *dead, enum ff__life life) {
    dead->fates[life].absent--;
    dead->fates[life].back++;
    dead->back += life == FF__DEAD;
}

bool ff__dead_first(struct ff__dead *dead) {
    const struct ff__fate *of_dead = &dead->fates[FF__DEAD], *alive = &dead->fates[FF__ALIVE];
    bool better = dead->cost * of_dead->back * alive->slots <= alive->back * of_dead->slots;
    return dead->any && (better || ++dead->spared % TRIALS == 0);
}
